#!/usr/bin/env python3
"""Compares `embed` with sentence-transformers on a real model and real lines.

    python compare_real.py [--lines N] EMBED MODEL_DIR TEXT_FILE...

Prints the largest and the root mean square error of the sentence vectors and of the last hidden states against an fp64 run
of the reference, ours and PyTorch's fp32 (each line alone, and in sorted, padded batches). Exit status 1 if
ours is above 1e-5, or above 1.5 times PyTorch's when that runs each line alone.
"""

import argparse
import os
import subprocess
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
from sentence_transformers import SentenceTransformer


def read_lines(paths, count):
    lines = []
    for path in paths:
        with open(path, encoding="utf-8", newline="\n") as file:
            lines += [line.rstrip("\n") for line in file]
    return lines[:count]


def run_embed(embed, model_dir, lines, width, options=()):
    text = "".join(line + "\n" for line in lines).encode()
    command = [embed, "-m", model_dir, "--format", "f32", *options]
    out = subprocess.run(command, input=text, stdout=subprocess.PIPE, check=True).stdout
    return np.frombuffer(out, np.float32).reshape(-1, width)


def run_reference(model, lines, batch_size):
    """Sentence vectors [N, D] and the last hidden states of all tokens [T, H], in the order of the lines."""
    order = sorted(range(len(lines)), key=lambda i: len(lines[i])) if batch_size > 1 else range(len(lines))
    order = list(order)
    vectors, hidden = [None] * len(lines), [None] * len(lines)
    with torch.inference_mode():
        for begin in range(0, len(order), batch_size):
            batch = order[begin : begin + batch_size]
            out = model.forward(model.preprocess([lines[i] for i in batch]))
            for k, i in enumerate(batch):
                vectors[i] = out["sentence_embedding"][k].numpy()
                hidden[i] = out["token_embeddings"][k][out["attention_mask"][k].bool()].numpy()
    return np.stack(vectors), np.concatenate(hidden)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("embed")
    parser.add_argument("model_dir")
    parser.add_argument("text", nargs="+")
    arguments = parser.parse_args()

    lines = read_lines(arguments.text, arguments.lines)
    model = SentenceTransformer(arguments.model_dir, device="cpu", model_kwargs={"dtype": torch.float32})
    alone = run_reference(model, lines, 1)
    padded = run_reference(model, lines, 32)
    exact = run_reference(model.double(), lines, 1)
    print(f"{len(lines)} lines, {len(exact[1])} tokens, {arguments.model_dir}")

    ours = (
        run_embed(arguments.embed, arguments.model_dir, lines, exact[0].shape[1]),
        run_embed(arguments.embed, arguments.model_dir, lines, exact[1].shape[1], ["--pool", "none"]),
    )
    failed = False
    for i, what in enumerate(["sentence vectors", "hidden states"]):
        if ours[i].shape != exact[i].shape:
            sys.exit(f"{what}: {ours[i].shape} rows and columns, the reference has {exact[i].shape}")
        largest, mean = {}, {}
        for name, result in (("ours", ours), ("PyTorch fp32", alone), ("PyTorch fp32, padded", padded)):
            difference = np.abs(result[i] - exact[i])
            largest[name], mean[name] = difference.max(), np.sqrt(np.square(difference).mean())
            print(f"{what}\t{name}\tlargest error {largest[name]:.2e}\troot mean square {mean[name]:.2e}")
        ratio = largest["ours"] / largest["PyTorch fp32"]
        print(f"{what}\tours / PyTorch\t{ratio:.2f}\t{mean['ours'] / mean['PyTorch fp32']:.2f}")
        failed |= largest["ours"] > 1e-5 or ratio > 1.5
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
