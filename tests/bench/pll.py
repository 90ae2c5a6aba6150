"""Sentences per second of pseudo-log-likelihood: mlm-score against minicons, on the same weights, lines and cores.

    pip install -r requirements.txt minicons==0.3.39
    env -u OPENBLAS_CORETYPE python pll.py BIN_DIR MODEL_DIR TEXT [--lines 40] [--threads 2] [--rounds 3]

minicons is loaded beforehand, gets the lines sorted by length, and its best batch size; mlm-score is a process of
its own, start and loading included. Rounds alternate; the fastest of each counts. The scores are compared too.
"""

import argparse
import os
import resource
import subprocess
import time
import warnings

arguments = argparse.ArgumentParser()
arguments.add_argument("bin")
arguments.add_argument("model")
arguments.add_argument("text")
arguments.add_argument("--lines", type=int, default=40)
arguments.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
arguments.add_argument("--rounds", type=int, default=3)
arguments.add_argument("--dtype", default="f32")
args = arguments.parse_args()

os.environ["HF_HUB_OFFLINE"] = "1"
warnings.filterwarnings("ignore")
import torch  # noqa: E402
from minicons import scorer  # noqa: E402

torch.set_num_threads(args.threads)
peer = scorer.MaskedLMScorer(args.model, "cpu")
if not hasattr(peer.tokenizer, "batch_encode_plus"):  # gone in transformers 5
    peer.tokenizer.batch_encode_plus = peer.tokenizer.__call__

with open(args.text, encoding="utf-8") as file:
    lines = [line.strip() for line in file if 40 < len(line) < 250][: args.lines]
by_length = sorted(lines, key=len)


def minicons(texts, batch):
    scores = []
    for i in range(0, len(texts), batch):
        scores += peer.sequence_score(texts[i : i + batch], reduction=lambda x: x.sum(0).item())
    return scores


def ours():
    command = [f"{args.bin}/mlm-score", "-m", args.model, "-o", "-j", str(args.threads), "--dtype", args.dtype]
    out = subprocess.run(command, input="\n".join(by_length), capture_output=True, text=True, check=True).stdout
    return [float(row.split("\t")[0]) for row in out.splitlines()]


def seconds(run):
    begin = time.perf_counter()
    result = run()
    return time.perf_counter() - begin, result


sample = by_length[:: max(1, len(by_length) // 12)]
best_batch = min((1, 2, 4, 8), key=lambda batch: seconds(lambda: minicons(sample, batch))[0])
fastest = {"minicons": float("inf"), "mlm-score": float("inf")}
for _ in range(args.rounds):
    for name, run in (("mlm-score", ours), ("minicons", lambda: minicons(by_length, best_batch))):
        taken, scores = seconds(run)
        fastest[name] = min(fastest[name], taken)
        if name == "mlm-score":
            own = scores
        else:
            theirs = scores
    print(f"# round: {fastest}", flush=True)

tokens = sum(len(peer.tokenizer(line)["input_ids"]) - 2 for line in lines)
print(f"lines\t{len(lines)}\ttokens\t{tokens}\tthreads\t{args.threads}\tdtype\t{args.dtype}")
for name, taken in fastest.items():
    print(f"{name}\t{len(lines) / taken:.3f} sentences/s")
print(f"ratio\t{fastest['minicons'] / fastest['mlm-score']:.2f}\tminicons batch\t{best_batch}")
print(f"largest difference of a score\t{max(abs(a - b) for a, b in zip(own, theirs)):.2g}")
peak = {"minicons": resource.RUSAGE_SELF, "mlm-score": resource.RUSAGE_CHILDREN}
for name, who in peak.items():
    print(f"peak memory\t{name}\t{resource.getrusage(who).ru_maxrss // 1024} MiB")
