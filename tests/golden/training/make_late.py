#!/usr/bin/env python3
"""What the contrastive loss of PyLate says of random vectors of tokens.

    pip install -r ../requirements.txt pylate==1.6.0 && python make_late.py

Writes late.safetensors: for each case the vectors of all tokens [K, D], where each text ends, which tokens have a part in
a score, the loss and its gradient in fp64. Needed only to make new fixtures. The vectors are near each other: PyLate's
mask gives a token without a part the product 0, where a rank without padding leaves it out.
"""

import torch
from make_training import write
from pylate.losses import Contrastive

RECORDS, WIDTH, SKIPPED = 5, 12, 1


class Tokens:
    """A model whose vectors are there already."""

    skiplist = [SKIPPED]
    do_query_expansion = True

    def __call__(self, features):
        return {"token_embeddings": features["vectors"]}


def case(columns, temperature, generator):
    lengths = torch.randint(2, 9, (RECORDS, columns), generator=generator)
    lengths[:, 0] = 6  # queries are filled up
    shift = torch.rand(WIDTH, generator=generator) + 0.3
    texts = [[torch.randn(n, WIDTH, generator=generator) * 0.6 + shift for n in row] for row in lengths.tolist()]
    ids = [[torch.where(torch.rand(n, generator=generator) < 0.2, SKIPPED, 7) for n in row] for row in lengths.tolist()]
    for row in ids:
        row[0][:] = 7
        for text in row:
            text[0] = 7
    flat = torch.cat([t for row in texts for t in row])
    x = flat.double().requires_grad_()
    pieces = iter(x.split([len(t) for row in texts for t in row]))
    rows = [[next(pieces) for _ in row] for row in texts]
    features = []
    most = int(lengths[:, 1:].max())  # PyLate stacks columns of one length
    for c in range(columns):
        n = 6 if c == 0 else most
        vectors = [torch.cat([r[c], r[c].new_zeros(n - len(r[c]), WIDTH)]) for r in rows]
        pad = [torch.cat([i[c], torch.zeros(n - len(i[c]), dtype=torch.long)]) for i in ids]
        mask = [torch.arange(n) < len(i[c]) for i in ids]
        features.append({"vectors": torch.stack(vectors), "input_ids": torch.stack(pad), "attention_mask": torch.stack(mask)})
    loss = Contrastive(Tokens(), temperature=temperature)(features)
    loss.backward()
    ends = torch.cat([torch.zeros(1, dtype=torch.long), lengths.flatten().cumsum(0)])
    part = torch.cat([i != SKIPPED for row in ids for i in row])
    return {"x": flat, "ends": ends.int(), "part": part.int(), "loss": loss.detach()[None], "dx": x.grad.float()}


def main():
    generator = torch.Generator().manual_seed(3)
    tensors = {}
    for name, columns, temperature in (("pairs", 2, 1.0), ("negatives", 3, 0.5)):
        for key, value in case(columns, temperature, generator).items():
            tensors[f"{name}.{key}"] = value.clone().contiguous()
        print(name, float(tensors[f"{name}.loss"][0]))
    write(tensors, "late")


if __name__ == "__main__":
    main()
