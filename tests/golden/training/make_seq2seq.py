#!/usr/bin/env python3
"""What autograd says of transformers' MarianMTModel, in fp64: seq2seq-NAME.safetensors.

    pip install -r ../requirements.txt && python make_seq2seq.py

Each file holds config.json, the parameters, four sources and targets, the mean loss (with label smoothing and
without) and the gradient of the smoothed one; of tensors with more than 256 numbers every third.
"""

import json

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from transformers import MarianConfig, MarianMTModel

from make_training import HERE

SMOOTHING = 0.1
SIZES = dict(
    d_model=12,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=3,
    decoder_attention_heads=2,
    encoder_ffn_dim=20,
    decoder_ffn_dim=16,
    max_position_embeddings=16,
    dropout=0.0,
    attention_dropout=0.0,
    init_std=0.3,
    eos_token_id=0,
    pad_token_id=22,
    decoder_start_token_id=22,
)
CASES = {
    "shared": dict(vocab_size=23, activation_function="swish", scale_embedding=True),
    "separate": dict(
        vocab_size=23,
        decoder_vocab_size=27,
        share_encoder_decoder_embeddings=False,
        tie_word_embeddings=False,
        activation_function="relu",
        scale_embedding=False,
    ),
}


def sequences(generator, lengths, vocab):
    made = [torch.randint(1, 22, (n - 1,), generator=generator).tolist() + [0] for n in lengths]
    assert all(i < vocab for ids in made for i in ids)
    return made


def cumulative(lists):
    sums = [0]
    for ids in lists:
        sums.append(sums[-1] + len(ids))
    return torch.tensor(sums, dtype=torch.int32)


def make(name, options):
    config = MarianConfig(**SIZES, **options)
    torch.manual_seed(len(name))
    model = MarianMTModel(config).double().eval()
    with torch.no_grad():
        for p in model.parameters():
            if p.requires_grad:  # not the sinusoids
                p.copy_((p + 0.1 * torch.randn(p.shape)).float())
        model.final_logits_bias.copy_(torch.randn(model.final_logits_bias.shape).float())
    generator = torch.Generator().manual_seed(7)
    sources = sequences(generator, [5, 1, 9, 3], config.vocab_size)
    targets = sequences(generator, [4, 6, 1, 8], config.vocab_size)
    losses, plain, count = 0, 0, sum(map(len, targets))
    for source, target in zip(sources, targets):
        inputs = torch.tensor([[config.decoder_start_token_id] + target[:-1]])
        logits = model(input_ids=torch.tensor([source]), decoder_input_ids=inputs).logits[0]
        labels = torch.tensor(target)
        losses += F.cross_entropy(logits, labels, reduction="sum", label_smoothing=SMOOTHING) / count
        plain += F.cross_entropy(logits, labels, reduction="sum") / count
    losses.backward()
    keep = json.loads(config.to_json_string())
    tensors = {
        "config": torch.tensor(list(json.dumps(keep).encode()), dtype=torch.uint8),
        "sources": torch.tensor(sum(sources, []), dtype=torch.int32),
        "targets": torch.tensor(sum(targets, []), dtype=torch.int32),
        "cu_sources": cumulative(sources),
        "cu_targets": cumulative(targets),
        "loss": losses.detach().reshape(1),
        "plain_loss": plain.detach().reshape(1),
        "value.final_logits_bias": model.final_logits_bias.float(),
    }
    for key, p in model.named_parameters():
        if p.grad is None:
            continue
        # Halves with words of their own: transformers names them as their modules.
        tensors[f"value.{key}"] = p.detach().float().clone()
        grad = p.grad.flatten()
        tensors[f"gradient.{key}"] = (grad[::3] if grad.numel() > 256 else grad).float().clone()
    path = HERE / f"seq2seq-{name}.safetensors"
    save_file(tensors, path)
    path.chmod(0o644)
    print(name, losses.item(), plain.item(), sorted(k for k in tensors if "embed" in k or "shared" in k))


if __name__ == "__main__":
    for case in CASES.items():
        make(*case)
