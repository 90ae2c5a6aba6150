#!/usr/bin/env python3
"""What PyTorch's autograd and AdamW say of the models of all families in the folder above.

    pip install -r ../requirements.txt && python make_families.py [MODEL...]

Writes family-MODEL.safetensors: four sequences with labels, the loss, and gradients in fp64, under the names that
save_pretrained gives their parameters; of each at most 32 numbers, every `stride`-th. Some have the losses of steps,
too, as steps-MODEL. Needed only to make new fixtures.
"""

import sys
import tempfile

import numpy as np
import torch
from make_training import load, loss_of, make_batch, make_steps, pack, write
from safetensors.torch import load_file

MODELS = {
    "albert-classifier": "classify",
    "albert-ner": "tokens",
    "albert-qa": "spans",
    "deberta-classifier": "classify",
    "deberta-ner": "tokens",
    "deberta-qa": "spans",
    "deberta-v2-mlm": "masked_lm",
    "deberta-v3-classifier": "classify",
    "deberta-v3-ner": "tokens",
    "deberta-v3-qa": "spans",
    "ernie-classifier": "classify",
    "esm-classifier": "classify",
    "esm-ner": "tokens",
    "eurobert-bos": "classify",
    "eurobert-late": "classify",
    "eurobert-mean": "classify",
    "eurobert-ner": "tokens",
    "gemma3-classifier": "classify",
    "gte-classifier": "classify",
    "gte-mlm": "masked_lm",
    "gte-ner": "tokens",
    "ibert-classifier": "classify",
    "jina-v3-classifier": "classify",
    "jina-v3-qa": "spans",
    "megatron-bert-classifier": "classify",
    "megatron-bert-qa": "spans",
    "modernbert-biases": "masked_lm",
    "modernbert-classifier": "classify",
    "modernbert-mean": "classify",
    "modernbert-mlm": "masked_lm",
    "modernbert-ner": "tokens",
    "modernbert-qa": "spans",
    "nomic-classifier": "classify",
    "nomic-mlm": "masked_lm",
    "nomic-ner": "tokens",
    "qwen3-classifier": "classify",
    "rembert-classifier": "classify",
    "rembert-qa": "spans",
    "roberta-prelayernorm-classifier": "classify",
    "roformer-classifier": "classify",
    "roformer-ner": "tokens",
    "xlm-roberta-xl-classifier": "classify",
    "mobilebert": "pretrain",
    "mobilebert-classifier": "classify",
    "mobilebert-first": "classify",
    "mobilebert-ner": "tokens",
    "mobilebert-qa": "spans",
}
STEPS = {"albert-classifier", "deberta-v3-classifier", "modernbert-mlm", "nomic-classifier", "gte-ner"}


def as_saved(model, directory):
    """The gradients under the names, and in the shapes, of the model's file."""
    for parameter in model.parameters():
        grad = parameter.grad
        parameter.data = torch.zeros_like(parameter) if grad is None else grad.clone()
    model.save_pretrained(directory)
    # ESM's small files have the names of TensorFlow for norms; transformers reads both.
    rename = {"gamma": "weight", "beta": "bias"}
    tensors = load_file(f"{directory}/model.safetensors")
    return {".".join(rename.get(part, part) for part in key.split(".")): value for key, value in tensors.items()}


def make_gradients(name, objective, seed):
    model = load(name, torch.float64)
    batch = make_batch(model.config, objective, (2, 5, 17, 30), np.random.default_rng(seed))
    loss = loss_of(model, objective, batch)
    loss.backward()
    tensors = pack([batch])
    tensors["loss"] = loss.detach()[None]
    with tempfile.TemporaryDirectory() as directory:
        for key, grad in as_saved(model, directory).items():
            flat = grad.flatten()
            tensors["grad." + key] = flat[:: max(1, -(-flat.numel() // 32)) | 1].float().clone()
            tensors["largest." + key] = flat.abs().max()[None].float()
    write(tensors, f"family-{name}")
    print(name, float(loss), flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for seed, (name, objective) in enumerate(MODELS.items()):
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            make_gradients(name, objective, 100 + seed)
            if name in STEPS:
                make_steps(name, objective, 200 + seed)
