#!/usr/bin/env python3
"""What PyTorch's autograd says of attentive pooling (Lin et al. 2017), in fp64: attentive-pooling.safetensors.

    pip install -r ../requirements.txt && python make_pooling.py
"""

import torch

from make_training import leaf, write

BEGINS = [0, 1, 6, 29]
PENALTY = 0.75


def main():
    g = torch.Generator().manual_seed(11)
    hops, size, width, tensors = 3, 5, 7, {}
    inputs = {"hidden": leaf(g, BEGINS[-1], width), "w": leaf(g, size, width), "v": leaf(g, hops, size)}
    pooled, overlap = [], 0
    for begin, end in zip(BEGINS, BEGINS[1:]):
        h = inputs["hidden"][begin:end]
        a = torch.softmax(inputs["v"] @ torch.tanh(inputs["w"] @ h.T), -1)
        pooled.append((a @ h).flatten())
        overlap = overlap + ((a @ a.T - torch.eye(hops).double()) ** 2).sum()
    output = torch.stack(pooled)
    d_output = torch.randn(output.shape, generator=g).double()
    tensors |= {"y": output.detach(), "dy": d_output, "overlap": overlap.detach().reshape(1)}
    tensors |= {key: value.detach() for key, value in inputs.items()}
    for name, penalty in (("plain", 0), ("penalty", PENALTY)):
        loss = (output * d_output).sum() + penalty * overlap
        gradients = torch.autograd.grad(loss, list(inputs.values()), retain_graph=True)
        tensors |= {f"{name}.d{key}": gradient for key, gradient in zip(inputs, gradients)}
    write({k: v.float().contiguous().clone() for k, v in tensors.items()}, "attentive-pooling")


if __name__ == "__main__":
    main()
