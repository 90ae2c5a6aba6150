#!/usr/bin/env python3
"""What the losses of sentence-transformers say of random vectors.

    pip install -r ../requirements.txt && python make_vectors.py

Writes vectors.safetensors: for each case the vectors [records, texts, width], the targets, the loss and its gradient
in fp64. Needed only to make new fixtures.
"""

import torch
import torch.nn.functional as F
from make_training import write
from sentence_transformers import losses


class Columns(torch.nn.Module):
    """A model whose vectors are there already."""

    def get_embedding_dimension(self):
        return None


def cases(model):
    ranking = losses.MultipleNegativesRankingLoss
    both = {"directions": ("query_to_doc", "doc_to_query"), "partition_mode": "per_direction"}
    return {
        "ranking": (2, ranking(model), None),
        "ranking-negatives": (4, ranking(model, scale=10.0), None),
        "ranking-symmetric": (2, ranking(model, **both), None),
        "ranking-symmetric-negatives": (3, ranking(model, **both), None),
        "ranking-dims": (3, ranking(model), (24, 7)),
        "cosent": (2, losses.CoSENTLoss(model), None),
        "cosent-dims": (2, losses.CoSENTLoss(model), (24, 16, 5)),
        "cosine": (2, losses.CosineSimilarityLoss(model), None),
        "triplet": (3, losses.TripletLoss(model), None),
        "teacher": (1, losses.MSELoss(model), None),
        "teacher-dims": (1, losses.MSELoss(model), (24, 9)),
    }


def main():
    generator = torch.Generator().manual_seed(1)
    tensors = {}
    for name, (columns, loss_of, dims) in cases(Columns()).items():
        x = torch.randn(13, columns, 24, generator=generator)
        if name.startswith("triplet"):
            x *= 0.7  # some are behind the margin
        grades = (torch.rand(13, generator=generator) * 5).round() / 5
        teacher = torch.randn(13, 24, generator=generator)
        targets = teacher if name.startswith("teacher") else grades
        tensors[name + ".x"] = x.reshape(-1, 24).clone()
        tensors[name + ".targets"] = targets.clone()
        x, targets = x.double().requires_grad_(), targets.double()
        loss = 0
        for d in dims or (None,):
            cut = x if d is None else F.normalize(x[..., :d], dim=-1)
            labels = targets[:, :d] if d and targets.ndim == 2 else targets
            if targets.ndim == 2:
                labels = labels[None]  # of each column
            loss = loss + loss_of.compute_loss_from_embeddings([cut[:, c] for c in range(columns)], labels)
        loss.backward()
        tensors[name + ".loss"] = loss.detach()[None]
        tensors[name + ".dx"] = x.grad.reshape(-1, 24).float().clone()
        print(name, float(loss.detach()))
    write(tensors, "vectors")


if __name__ == "__main__":
    main()
