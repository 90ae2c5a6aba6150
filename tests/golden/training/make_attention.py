#!/usr/bin/env python3
"""What PyTorch's autograd says of the scores of attention, in fp64: attention-scores.safetensors;
and the sinusoids of transformers: positions.safetensors.

    pip install -r ../requirements.txt && python make_attention.py
"""

import torch
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

from make_training import leaf, record, write


def make_scores():
    """More keys than are multiplied at once, sizes that are no multiple of a vector."""
    g = torch.Generator().manual_seed(3)
    n, m, hidden, tensors = 5, 101, 11, {}
    for name, scale in (("dot", 1.0), ("scaled_dot", 13**-0.5)):
        q, k = leaf(g, n, 13), leaf(g, m, 13)
        record(tensors, name, q @ k.T * scale, {"q": q, "k": k}, g)
    q, k, width = leaf(g, n, 13), leaf(g, m, 13), leaf(g, 1)
    record(tensors, "gauss", -((width * torch.cdist(q, k)) ** 2) / 2, {"q": q, "k": k, "width": width}, g)
    q, k, v = leaf(g, n, 13), leaf(g, m, 9), leaf(g, hidden)
    wq, wk = leaf(g, hidden, 13), leaf(g, hidden, 9)
    y = torch.tanh((q @ wq.T)[:, None] + (k @ wk.T)[None]) @ v
    record(tensors, "additive", y, {"q": q, "k": k, "wq": wq, "wk": wk, "v": v}, g)
    for name in ("concat", "perceptron"):
        q, k, v, w, b = leaf(g, n, 13), leaf(g, m, 9), leaf(g, hidden), leaf(g, hidden, 22), leaf(g, hidden)
        pairs = torch.cat([q[:, None].expand(n, m, 13), k[None].expand(n, m, 9)], -1)
        inputs = {"q": q, "k": k, "w": w, "v": v}
        if name == "perceptron":
            inputs["b"] = b
        y = torch.tanh(pairs @ w.T + (b if name == "perceptron" else 0)) @ v
        record(tensors, name, y, inputs, g)
    x = leaf(g, n, 37)
    record(tensors, "softmax", (4 * x).softmax(-1), {"x": x}, g)
    write({k: v.float().contiguous().clone() for k, v in tensors.items()}, "attention-scores")


def make_positions():
    """Marian's table of transformers, and the paper's with the same numbers in pairs; an even and an odd size."""
    tensors = {}
    for size in (4, 24, 7):
        halves = MarianSinusoidalPositionalEmbedding(70, size)
        with torch.no_grad():
            halves.weight.copy_(halves.create_weight())
        sines = (size + 1) // 2
        pairs = torch.empty(70, size)
        pairs[:, 0::2], pairs[:, 1::2] = halves.weight[:, :sines], halves.weight[:, sines:]
        tensors[f"halves.{size}"], tensors[f"interleaved.{size}"] = halves.weight.detach()[::23], pairs.detach()[::23]
    write({k: v.contiguous().clone() for k, v in tensors.items()}, "positions")


if __name__ == "__main__":
    make_positions()
    make_scores()
