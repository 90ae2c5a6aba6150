#!/usr/bin/env python3
"""What the losses of sentence-transformers' CrossEncoders say of random scores.

    pip install -r ../requirements.txt && python make_ranking.py

Writes ranking.safetensors: for each case the scores and labels, where each query's texts end, the loss and its
gradient. Needed only to make new fixtures.
"""

import torch
from make_training import write
from sentence_transformers import CrossEncoder
from sentence_transformers.cross_encoder import losses


class Scores(CrossEncoder):
    """A model whose scores are there already: the text of each pair is its number."""

    def __init__(self):
        torch.nn.Module.__init__(self)

    num_labels = 1
    device = torch.device("cpu")

    def preprocess(self, pairs, **kwargs):
        return {"numbers": torch.tensor([int(text) for _, text in pairs])}

    def forward(self, inputs):
        return {"scores": self.scores[inputs["numbers"]][:, None]}


def cases(model):
    mnrl = losses.MultipleNegativesRankingLoss(model, num_negatives=None)
    return {
        "binary": (losses.BinaryCrossEntropyLoss(model), [12], "pairs"),
        "squared": (losses.MSELoss(model), [12], "pairs"),
        "listnet": (losses.ListNetLoss(model), [3, 1, 6, 2], "lists"),
        "lambda": (losses.LambdaLoss(model), [3, 1, 6, 2], "lists"),
        "margin": (losses.MarginMSELoss(model), [4, 4, 4], "columns"),
        "ranking": (mnrl, [5], "columns"),  # of one query: no text of another is a negative
    }


def loss_of(loss, kind, lists, labels):
    queries = [f"q{i}" for i in range(len(lists))]
    texts = [[str(n) for n in numbers] for numbers in lists]
    if kind == "pairs":
        return loss([[queries[0]] * len(texts[0]), texts[0]], labels)
    own = [labels[numbers] for numbers in lists]
    if kind == "lists":
        return loss([queries, texts], own)
    return loss([queries, *map(list, zip(*texts))], own)


def main():
    generator = torch.Generator().manual_seed(1)
    model = Scores()
    tensors = {}
    for name, (loss, sizes, kind) in cases(model).items():
        count = sum(sizes)
        scores = 2 * torch.randn(count, generator=generator)
        labels = torch.randint(0, 2 if name == "binary" else 4, (count,), generator=generator).float()
        if name in ("squared", "margin"):
            labels += torch.rand(count, generator=generator)
        ends = torch.tensor(sizes).cumsum(0)
        lists = [list(range(end - size, end)) for size, end in zip(sizes, ends.tolist())]
        model.scores = scores.clone().requires_grad_()
        value = loss_of(loss, kind, lists, labels)
        value.backward()
        tensors[name + ".scores"] = scores
        tensors[name + ".labels"] = labels
        tensors[name + ".ends"] = ends.int()
        tensors[name + ".loss"] = value.detach().double()[None]
        tensors[name + ".dx"] = model.scores.grad.clone()
        print(name, float(value.detach()))
    write(tensors, "ranking")


if __name__ == "__main__":
    main()
