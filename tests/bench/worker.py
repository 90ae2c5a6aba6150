#!/usr/bin/env python3
"""One peer in a process of its own, driven over pipes by compare.py.

    worker.py PEER PRECISION MODEL_DIR CACHE THREADS IDS_FILE...

Each IDS_FILE is a set: one sequence of token ids a line. Tries the batch sizes on a part of each set, keeps the
best, then answers each set number on stdin with `seconds` on stdout. `check` prints mean vectors of a few lines.
"""

import os
import sys
import time
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")

import numpy as np

import peers

TRIAL_TOKENS = 3000


def batches_of(sequences, size):
    """Sorted by length, so that padding costs as little as it can."""
    ordered = sorted(sequences, key=len)
    return [ordered[i : i + size] for i in range(0, len(ordered), size)]


def seconds(peer, batches):
    begin = time.perf_counter()
    for batch in batches:
        peer.run(batch)
    return time.perf_counter() - begin


def best_size(peer, sequences):
    """The batch size that is fastest on about TRIAL_TOKENS of the set."""
    step = max(1, sum(map(len, sequences)) // TRIAL_TOKENS)
    sample = sequences[::step]
    peer.run(sample[:1])
    sizes = [size for size in peers.BATCH_SIZES if size <= len(sample)]
    if len(sizes) == 1:
        return 1
    return min(sizes, key=lambda size: seconds(peer, batches_of(sample, size)))


def main():
    name, precision, model_dir, cache, threads = sys.argv[1:6]
    sets = [[list(map(int, line.split())) for line in open(path)] for path in sys.argv[6:]]
    peer = peers.PEERS[name](model_dir, peers.cache_for(model_dir, cache), precision, int(threads))
    sizes = [best_size(peer, sequences) for sequences in sets]
    print("ready", *sizes, flush=True)
    for line in sys.stdin:
        if line.strip() == "check":
            rows = [peer.numpy(peer.run([s]))[0].mean(0) for s in sets[0][:8]]
            print(" ".join(f"{x:.8g}" for x in np.concatenate(rows)), flush=True)
            continue
        number = int(line)
        print(seconds(peer, batches_of(sets[number], sizes[number])), flush=True)


if __name__ == "__main__":
    main()
