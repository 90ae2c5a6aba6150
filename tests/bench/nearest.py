#!/usr/bin/env python3
"""The nearest vectors and the self-join of lib/search, compared with NumPy and with faiss' IndexFlatIP.

    nearest.py --build BUILD_DIR [--rows 100000] [--width 384] [--join-rows 20000] [--threads 2] [--rounds 7]

Ours also searches with an exact index (`nearest --index FILE --exact`), which was built before. Prints TSV: task, program, seconds, CPU seconds, and how many times longer than ours it takes, with the spread of that
ratio. The programs are separate processes that take turns in each round. All must find the same vectors.

The vectors are those of clusters, as texts have them, and of length 1, so that NumPy and faiss need no division; ours
reads lengths and computes in doubles what it prints. NumPy and faiss have read or added the vectors before; ours maps
its file.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time


def make(folder, rows, width):
    import numpy as np

    random = np.random.default_rng(1)
    centres = random.standard_normal((max(1, rows // 100), width), np.float32)
    x = centres[random.integers(0, len(centres), rows + 100)]
    x += random.uniform(0.2, 1.2, (len(x), 1)).astype(np.float32) * random.standard_normal(x.shape, np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    paths = [os.path.join(folder, name) for name in ("vectors.npy", "queries.npy")]
    np.save(paths[0], x[:rows])
    np.save(paths[1], x[rows:])
    return paths


class NumPy:
    def __init__(self, vectors):
        self.x = vectors

    def top(self, queries, k):
        import numpy as np

        scores = queries @ self.x.T
        found = np.argpartition(scores, -k, axis=1)[:, -k:]
        order = np.argsort(-np.take_along_axis(scores, found, 1), axis=1)
        found = np.take_along_axis(found, order, 1)
        return found.size, int(found.sum())

    def join(self, rows, threshold):
        import numpy as np

        count = total = 0
        for begin in range(0, rows, 1024):
            first, second = np.nonzero(self.x[begin : begin + 1024] @ self.x[begin:rows].T >= threshold)
            keep = first < second
            count += int(keep.sum())
            total += int(first[keep].sum() + second[keep].sum()) + 2 * begin * int(keep.sum())
        return count, total


class Faiss:
    def __init__(self, vectors):
        import faiss

        faiss.omp_set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        self.x = vectors
        self.index = faiss.IndexFlatIP(vectors.shape[1])
        self.index.add(vectors)

    def top(self, queries, k):
        found = self.index.search(queries, k)[1]
        return found.size, int(found.sum())

    def join(self, rows, threshold):
        import faiss
        import numpy as np

        index = faiss.IndexFlatIP(self.x.shape[1])
        index.add(self.x[:rows])
        # range_search finds what is above its radius.
        limits, _, second = index.range_search(self.x[:rows], float(np.nextafter(np.float32(threshold), np.float32(0))))
        first = np.repeat(np.arange(rows), np.diff(limits.astype(np.int64)))
        keep = first < second
        return int(keep.sum()), int(first[keep].sum() + second[keep].sum())


def worker(name, vectors, queries):
    import numpy as np

    peer = {"numpy": NumPy, "faiss": Faiss}[name](np.load(vectors))
    queries = np.load(queries)
    for line in sys.stdin:
        task, count, value = line.split()
        begin, cpu = time.perf_counter(), time.process_time()
        if task == "top":
            found = peer.top(queries[: int(count)], int(value))
        else:
            found = peer.join(int(count), float(value))
        print(time.perf_counter() - begin, time.process_time() - cpu, *found, flush=True)


class Program:
    def __init__(self, command, threads):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        env = dict(os.environ, **{name: str(threads) for name in names})
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def run(self, task):
        print(task, file=self.process.stdin, flush=True)
        seconds, cpu, count, total = self.process.stdout.readline().split()
        return float(seconds), float(cpu), (int(count), int(total))


def compare(task, programs, rounds):
    results = {name: [] for name in programs}
    for number in range(rounds + 1):
        for name, program in programs.items():
            result = program.run(task)
            if number > 0:  # the first round warms up
                results[name].append(result)
    ours = results["bertutils"]
    for name, times in results.items():
        if times[0][2] != ours[0][2]:
            print(f"{name} found {times[0][2]}, we {ours[0][2]} in {task}", file=sys.stderr)
        seconds, cpu = (statistics.median(t[i] for t in times) for i in (0, 1))
        ratios = sorted(t[0] / o[0] for t, o in zip(times, ours))
        print(
            *(task, name, f"{seconds:.4f}", f"{cpu:.4f}", f"{statistics.median(ratios):.2f}"),
            f"{ratios[0]:.2f}-{ratios[-1]:.2f}",
            sep="\t",
            flush=True,
        )


def main():
    if sys.argv[1:2] == ["--worker"]:
        return worker(*sys.argv[2:])
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    for name, value in {"rows": 100000, "width": 384, "join-rows": 20000, "threads": 2, "rounds": 7}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--threshold", type=float, default=0.8)
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = make(folder, a.rows, a.width)
        commands = {"bertutils": [os.path.join(a.build, "bin/bench_nearest"), *paths, str(a.threads)]}
        index = os.path.join(folder, "index")
        subprocess.run(
            [os.path.join(a.build, "bin/nearest"), "--vectors", paths[0], "--query-vectors", paths[1], "--quiet"]
            + ["--index", index, "--exact"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        commands["bertutils, exact index"] = [*commands["bertutils"], index]
        for peer in ("numpy", "faiss"):
            commands[peer] = [sys.executable, __file__, "--worker", peer, *paths]
        programs = {name: Program(command, a.threads) for name, command in commands.items()}
        print("task", "program", "seconds", "cpu", "ratio", "spread", sep="\t")
        for task in ("top 1 10", "top 100 10", f"join {a.join_rows} {a.threshold}"):
            join = task.startswith("join")
            compare(task, {n: p for n, p in programs.items() if not (join and "index" in n)}, a.rounds)
        for program in programs.values():
            program.process.stdin.close()
            program.process.wait()


if __name__ == "__main__":
    main()
