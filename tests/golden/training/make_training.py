#!/usr/bin/env python3
"""What PyTorch's autograd and AdamW say of small layers and of the models in the folder above.

    pip install -r ../requirements.txt && python make_training.py

Writes layers.safetensors (each layer alone, fp64), gradients-MODEL.safetensors (whole models, fp64) and
steps-MODEL.safetensors (losses of 100 steps, fp32). Needed only to make new fixtures; README.md lists them.
"""

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
import transformers
from safetensors.torch import save_file

HERE = Path(__file__).resolve().parent
MODELS = HERE.parent
IGNORED = -100
COUNT_FROM_PADDING = ("roberta", "camembert", "xlm-roberta", "mpnet")


def write(tensors, name):
    path = HERE / f"{name}.safetensors"
    save_file(tensors, path)
    path.chmod(0o644)


# ---- layers, one by one


def leaf(generator, *shape):
    """Random numbers that fp32 can hold, computed with in fp64."""
    return torch.randn(*shape, generator=generator).double().requires_grad_()


def record(tensors, name, output, inputs, generator):
    """Backward from a random d_output; keeps inputs, output and all gradients under `name`."""
    d_output = torch.randn(output.shape, generator=generator).double()
    gradients = torch.autograd.grad(output, list(inputs.values()), d_output)
    tensors[f"{name}.y"] = output.detach()
    tensors[f"{name}.dy"] = d_output
    for (key, value), gradient in zip(inputs.items(), gradients):
        tensors[f"{name}.{key}"] = value.detach()
        tensors[f"{name}.d{key}"] = gradient


def attention(q, k, v, cu_q, cu_k, heads, causal):
    outputs = []
    for s in range(len(cu_q) - 1):
        split = [
            x[cu[s] : cu[s + 1]].unflatten(1, (heads, -1)).transpose(0, 1) for x, cu in ((q, cu_q), (k, cu_k), (v, cu_k))
        ]
        out = F.scaled_dot_product_attention(*split, is_causal=causal)
        outputs.append(out.transpose(0, 1).flatten(1))
    return torch.cat(outputs)


def make_layers():
    g = torch.Generator().manual_seed(1)
    tensors = {}
    x, w, b = leaf(g, 9, 21), leaf(g, 19, 21), leaf(g, 19)
    record(tensors, "linear", F.linear(x, w, b), {"x": x, "w": w, "b": b}, g)
    x, w, b = leaf(g, 6, 37), leaf(g, 37), leaf(g, 37)
    record(tensors, "norm", F.layer_norm(x, (37,), w, b, 1e-5), {"x": x, "w": w, "b": b}, g)
    ids = torch.tensor([3, 0, 5, 3, 3, 7, 0])
    w = leaf(g, 8, 11)
    record(tensors, "embedding", F.embedding(ids, w, padding_idx=0), {"w": w}, g)
    tensors["embedding.ids"] = ids.to(torch.int32)
    cu = [0, 1, 8, 8 + 17, 60]
    cross = [0, 4, 5, 5 + 33, 70]
    for name, cu_k, causal in (("self", cu, False), ("causal", cu, True), ("cross", cross, False)):
        q, k, v = leaf(g, cu[-1], 24), leaf(g, cu_k[-1], 24), leaf(g, cu_k[-1], 24)
        record(tensors, name, attention(q, k, v, cu, cu_k, 3, causal), {"q": q, "k": k, "v": v}, g)
        tensors[f"{name}.cu_q"] = torch.tensor(cu, dtype=torch.int32)
        tensors[f"{name}.cu_k"] = torch.tensor(cu_k, dtype=torch.int32)
    functions = {
        "gelu": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "gelu_quick": lambda x: x * torch.sigmoid(1.702 * x),
        "relu": F.relu,
        "silu": F.silu,
        "tanh": torch.tanh,
        "sigmoid": torch.sigmoid,
    }
    for name, function in functions.items():
        x = torch.cat([torch.linspace(-12, 12, 241, dtype=torch.float64), torch.tensor([0.0, 1e-6, -1e-6])])
        x = x[None].float().double().requires_grad_()
        record(tensors, f"act.{name}", function(x), {"x": x}, g)
    x = leaf(g, 7, 13)
    labels = torch.tensor([0, 12, IGNORED, 5, 5, IGNORED, 3])
    weights = torch.rand(13, generator=g).double() + 0.5
    for name, weight in (("entropy", None), ("weighted", weights)):
        wide = (8 * x).detach().requires_grad_()
        loss = F.cross_entropy(wide, labels, weight=weight, reduction="sum", ignore_index=IGNORED)
        tensors[f"{name}.dx"] = torch.autograd.grad(loss, wide)[0]
        tensors[f"{name}.x"] = wide.detach()
        tensors[f"{name}.loss"] = loss.detach()[None]
    tensors["entropy.labels"] = labels.to(torch.int32)
    tensors["weighted.weights"] = weights
    targets = torch.randint(0, 2, (7, 13), generator=g).double()
    loss = F.binary_cross_entropy_with_logits(x, targets, reduction="sum")
    tensors["binary.targets"], tensors["binary.x"], tensors["binary.loss"] = targets, x.detach(), loss.detach()[None]
    tensors["binary.dx"] = torch.autograd.grad(loss, x)[0]
    targets = torch.randn(7, 13, generator=g).double()
    loss = F.mse_loss(x, targets, reduction="sum")
    tensors["squared.targets"], tensors["squared.x"], tensors["squared.loss"] = targets, x.detach(), loss.detach()[None]
    tensors["squared.dx"] = torch.autograd.grad(loss, x)[0]
    keep = {k: v if v.dtype == torch.int32 or k.endswith(".loss") else v.float() for k, v in tensors.items()}
    write({k: v.contiguous().clone() for k, v in keep.items()}, "layers")


def make_position_bias():
    """Attention with a number added to q k^T for each head and distance, before the scale."""
    g = torch.Generator().manual_seed(2)
    cu, heads, longest = [0, 1, 8, 8 + 17], 3, 19
    q, k, v = (leaf(g, cu[-1], 12) for _ in range(3))
    bias = leaf(g, heads, 2 * longest - 1)
    outputs = []
    for begin, end in zip(cu, cu[1:]):
        a, b, c = (x[begin:end].unflatten(1, (heads, -1)).transpose(0, 1) for x in (q, k, v))
        place = torch.arange(end - begin)
        scores = a @ b.transpose(1, 2) + bias[:, longest - 1 + place[None] - place[:, None]]
        outputs.append(((scores / 2).softmax(-1) @ c).transpose(0, 1).flatten(1))
    tensors = {}
    record(tensors, "bias", torch.cat(outputs), {"q": q, "k": k, "v": v, "bias": bias}, g)
    tensors = {k: v.float().contiguous().clone() for k, v in tensors.items()}
    tensors["bias.cu"] = torch.tensor(cu, dtype=torch.int32)
    write(tensors, "position-bias")


# ---- whole models


def load(name, dtype):
    config = transformers.AutoConfig.from_pretrained(MODELS / name)
    kind = getattr(transformers, config.architectures[0])
    return kind.from_pretrained(MODELS / name, dtype=dtype).eval()


def make_batch(config, objective, lengths, rng):
    """Sequences [CLS] .. [SEP] with labels: a packed batch as numpy arrays."""
    ids, types, token_labels, sequence_labels, values, starts, ends = [], [], [], [], [], [], []
    for n in lengths:
        row = rng.integers(5, config.vocab_size, n)
        row[0], row[-1] = 2, 3
        ids.append(row)
        kind = np.zeros(n, np.int64)
        if getattr(config, "type_vocab_size", 0) > 1:
            kind[n // 2 :] = 1
        types.append(kind)
        labels = np.full(n, IGNORED)
        if objective in ("pretrain", "masked_lm"):
            chosen = rng.choice(np.arange(1, n), max(1, n // 6), replace=False)
            labels[chosen] = row[chosen]
            row[chosen] = 4
        if objective == "tokens":
            labels = rng.integers(0, config.num_labels, n)
            labels[0] = labels[-1] = IGNORED
        if config.model_type in COUNT_FROM_PADDING and n > 16 and labels[7] == IGNORED:
            row[7] = 1  # which has no place of its own and is not learned
        token_labels.append(labels)
        sequence_labels.append(rng.integers(0, 2 if objective == "pretrain" else config.num_labels))
        values.append(
            rng.integers(0, 2, config.num_labels)
            if config.problem_type == "multi_label_classification"
            else rng.standard_normal(config.num_labels)
        )
        start = rng.integers(0, n)
        starts.append(start)
        ends.append(rng.integers(start, n))
    return ids, types, token_labels, sequence_labels, values, starts, ends


def loss_of(model, objective, batch):
    """The loss transformers would compute of the padded batch, from each sequence alone."""
    ids, types, token_labels, sequence_labels, values, starts, ends = batch
    outputs = []
    for row, kind in zip(ids, types):
        inputs = {"input_ids": torch.tensor(row)[None]}
        if getattr(model.config, "type_vocab_size", 0) > 1:
            inputs["token_type_ids"] = torch.tensor(kind)[None]
        outputs.append(model(**inputs))
    if objective == "spans":
        losses = [
            F.cross_entropy(out.start_logits, torch.tensor([s])) + F.cross_entropy(out.end_logits, torch.tensor([e]))
            for out, s, e in zip(outputs, starts, ends)
        ]
        return sum(losses) / 2 / len(losses)
    if objective == "classify":
        logits = torch.cat([out.logits for out in outputs])
        if model.config.problem_type == "regression":
            return F.mse_loss(logits, torch.tensor(np.array(values), dtype=logits.dtype))
        if model.config.problem_type == "multi_label_classification":
            return F.binary_cross_entropy_with_logits(logits, torch.tensor(np.array(values), dtype=logits.dtype))
        return F.cross_entropy(logits, torch.tensor(sequence_labels))
    logits = torch.cat([(out.prediction_logits if objective == "pretrain" else out.logits)[0] for out in outputs])
    loss = F.cross_entropy(logits, torch.tensor(np.concatenate(token_labels)), ignore_index=IGNORED)
    if objective == "pretrain":
        nsp = torch.cat([out.seq_relationship_logits for out in outputs])
        loss = loss + F.cross_entropy(nsp, torch.tensor(sequence_labels))
    return loss


def pack(batches):
    """Batches end to end; cu_batches counts sequences."""
    flat = [[x for batch in batches for x in batch[i]] for i in range(7)]
    lengths = [len(row) for row in flat[0]]
    tensors = {
        "input_ids": np.concatenate(flat[0]),
        "token_type_ids": np.concatenate(flat[1]),
        "token_labels": np.concatenate(flat[2]),
        "sequence_labels": np.array(flat[3]),
        "starts": np.array(flat[5]),
        "ends": np.array(flat[6]),
        "cu_seq_lens": np.cumsum([0] + lengths),
        "cu_batches": np.cumsum([0] + [len(batch[0]) for batch in batches]),
    }
    tensors = {k: torch.tensor(v, dtype=torch.int32) for k, v in tensors.items()}
    tensors["values"] = torch.tensor(np.array(flat[4]), dtype=torch.float32)
    return tensors


def make_gradients(name, objective, seed):
    model = load(name, torch.float64)
    batch = make_batch(model.config, objective, (2, 5, 17, 30), np.random.default_rng(seed))
    loss = loss_of(model, objective, batch)
    loss.backward()
    tensors = pack([batch])
    tensors["loss"] = loss.detach()[None]
    for key, parameter in model.named_parameters():
        if parameter.grad is not None:
            # Every third number is enough of the large ones; 3 divides no row.
            flat = parameter.grad.flatten()
            tensors["grad." + key] = (flat[::3] if flat.numel() > 256 else flat).float().clone()
    write(tensors, f"gradients-{name}")


def make_steps(name, objective, seed, count=100, warmup=10, lr=1e-3):
    torch.set_num_threads(1)
    model = load(name, torch.float32)
    rng = np.random.default_rng(seed)
    # Few different batches, so that the loss falls.
    batches = [make_batch(model.config, objective, rng.integers(4, 24, 4), rng) for _ in range(10)]
    decayed, plain = [], []
    for key, parameter in model.named_parameters():
        # As transformers' Trainer; "bias" is in MPNet's relative_attention_bias, too.
        no_decay = "bias" in key or "norm" in key.lower()
        (plain if no_decay else decayed).append(parameter)
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}], lr=lr
    )
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, warmup, count)
    losses, norms = [], []
    for step in range(count):
        loss = loss_of(model, objective, batches[step % len(batches)])
        optimizer.zero_grad()
        loss.backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)))
        optimizer.step()
        schedule.step()
        losses.append(float(loss.detach()))
    tensors = pack(batches)
    tensors["losses"] = torch.tensor(losses, dtype=torch.float64)
    tensors["norms"] = torch.tensor(norms, dtype=torch.float64)
    write(tensors, f"steps-{name}")
    print(name, losses[0], losses[-1])


if __name__ == "__main__":
    make_layers()
    make_position_bias()
    for seed, (name, objective) in enumerate(
        {
            "tiny-bert": "pretrain",
            "tiny-classifier": "classify",
            "tiny-multilabel": "classify",
            "tiny-regression": "classify",
            "tiny-ner": "tokens",
            "tiny-qa": "spans",
            "electra-mlm": "masked_lm",
            "distilbert-mlm": "masked_lm",
            "untied": "masked_lm",
            "electra-classifier": "classify",
            "odd": "masked_lm",
            "act-gelu_new": "masked_lm",
            "roberta-mlm": "masked_lm",
            "mpnet-mlm": "masked_lm",
        }.items()
    ):
        make_gradients(name, objective, seed)
    make_steps("tiny-bert", "pretrain", 50)
    make_steps("tiny-classifier", "classify", 51)
    make_steps("roberta-classifier", "classify", 52)
    make_steps("camembert-ner", "tokens", 53)
    make_steps("xlm-roberta-qa", "spans", 54)
    make_steps("mpnet-classifier", "classify", 55)
