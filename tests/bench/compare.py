#!/usr/bin/env python3
"""Measures our engine beside PyTorch, ONNX Runtime and others of peers.py: same weights, ids and cores, one run.

    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE python compare.py --build BUILD --model DIR --text FILE

Every contender is a process of its own (worker.py, bench_encode) that has loaded the model, chosen its best batch
size and sorted its input before the first clock starts. Then they take turns, one after the other in each round,
so that a slow minute of the machine is shared by all. Printed per set and precision: real tokens a second (the
median of the rounds), the ratio of ours to each (median, lowest and highest of the rounds' own ratios), and ours
as a share of the peak that bench_ops measures on this machine in the same run.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")

import numpy as np

import peers

HERE = Path(__file__).resolve().parent


def make_sets(model_dir, text, folder, tokens, lengths=()):
    """Sets of ids: sentences (mean about 25 tokens), paragraphs (about 150), 3 and 500 in turn, one of 12.

    With `lengths`, instead of these a set of each length."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(Path(model_dir) / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    first, last = tokenizer.encode("").ids  # [CLS] and [SEP], or <s> and </s>
    lines = [line for line in open(text, encoding="utf-8") if line.strip()]
    stream = [i for e in tokenizer.encode_batch(lines, add_special_tokens=False) for i in e.ids]
    rng = random.Random(1)

    def cut(lengths):
        sequences, at = [], 0
        for n in lengths:
            if at + n > len(stream):
                at = 0  # a small text is read again
            sequences.append([first, *stream[at : at + n - 2], last])
            at += n - 2
        return sequences

    def drawn(mean, sigma):
        lengths = []
        while sum(lengths) < tokens:
            lengths.append(max(4, min(512, round(rng.lognormvariate(np.log(mean) - sigma * sigma / 2, sigma)))))
        return lengths

    sets = {
        "sentences": cut(drawn(25, 0.5)),
        "paragraphs": cut(drawn(150, 0.5)),
        "3 and 500": cut([3, 500] * max(1, tokens // 503)),
        "one of 12": cut([12]),
    }
    if lengths:
        sets = {f"{n} tokens": cut([n] * max(1, tokens // n)) for n in lengths}
    paths = []
    for name, sequences in sets.items():
        paths.append(folder / (name.replace(" ", "-") + ".ids"))
        paths[-1].write_text("\n".join(" ".join(map(str, s)) for s in sequences) + "\n")
    return sets, paths


class Contender:
    def __init__(self, name, command):
        self.name = name
        self.log = open(os.environ.get("BENCH_LOG", os.devnull), "a")
        self.process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, cwd=HERE
        )
        ready = self.process.stdout.readline().split()
        self.alive = ready[:1] == ["ready"]
        self.batch_sizes = ready[1:]

    def ask(self, question):
        self.process.stdin.write(f"{question}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def peak_megabytes(self):
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def flops(model_dir, sequences):
    """Multiply-adds of BERT's products, two operations each, as an exact runtime must do them; None of other layers."""
    config = json.loads((Path(model_dir) / "config.json").read_text())
    if config["model_type"] in ("albert", "deberta-v2", "modernbert", "nomic_bert", "gte", "eurobert", "qwen3"):
        return None
    h, i, layers = (config[k] for k in ("hidden_size", "intermediate_size", "num_hidden_layers"))
    return sum(layers * (2 * n * (4 * h * h + 2 * h * i) + 4 * n * n * h) for n in map(len, sequences))


def peak_of(build, precision, threads):
    """Operations a second of `threads` cores at once, by bench_ops' register loop; None without it."""
    command = [f"{build}/bin/bench_ops", precision]
    try:
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(threads)]
    except FileNotFoundError:
        return None
    total = 0.0
    for process in running:
        peak = next(line.split("\t") for line in process.stdout if "\tpeak\t" in line)
        total += float(peak[3]) * 1e9
    for process in running:
        process.kill()
        process.wait()
    return total


def start(arguments, precision, paths):
    ours = ["taskset", "-c", arguments.cpus] if arguments.cpus else []
    contenders = [
        Contender("ours", [*ours, f"{arguments.build}/bin/bench_encode", precision, arguments.model,
                           arguments.threads, *paths])
    ]
    for name in arguments.peers.split(","):
        if precision in peers.PEERS[name].precisions:
            contenders.append(
                Contender(name, [*ours, sys.executable, HERE / "worker.py", name, precision, arguments.model,
                                 arguments.cache, arguments.threads, *paths])
            )
    for contender in contenders:
        if not contender.alive:
            print(f"# {contender.name} {precision}: did not start (set BENCH_LOG to see why)")
    return [c for c in contenders if c.alive]


def check(contenders):
    """Those that compute the same model: cosine of the mean vectors of 8 lines with ours."""
    same = []
    vectors = {c.name: np.array(c.ask("check").split(), np.float64) for c in contenders}
    ours = vectors["ours"]
    for name, other in vectors.items():
        cosine = float(ours @ other / np.linalg.norm(ours) / np.linalg.norm(other))
        if name != "ours":
            print(f"# {name}: cosine with ours {cosine:.6f}" + (", too far to be compared" if cosine < 0.98 else ""))
        if cosine >= 0.98:
            same.append(name)
    return [c for c in contenders if c.name in same]


def measure(contenders, sets, rounds):
    """{set: {contender: [seconds of each round]}}, the contenders taking turns."""
    times = {name: {c.name: [] for c in contenders} for name in sets}
    for _ in range(rounds):
        for number, name in enumerate(sets):
            repeat = 50 if len(sets[name]) == 1 else 1
            for contender in contenders:
                runs = [float(contender.ask(number)) for _ in range(repeat)]
                times[name][contender.name].append(statistics.median(runs))
    return times


def report(arguments, precision, sets, times, contenders, peak):
    for name, by_contender in times.items():
        tokens = sum(map(len, sets[name]))
        ours = by_contender["ours"]
        best = min((statistics.median(t), c) for c, t in by_contender.items() if c != "ours")[1] if len(by_contender) > 1 else ""
        for contender in contenders:
            seconds = by_contender[contender.name]
            ratios = sorted(theirs / mine for theirs, mine in zip(seconds, ours))
            median = statistics.median(seconds)
            speed = f"{median * 1e3:.2f} ms" if len(sets[name]) == 1 else f"{tokens / median:.0f} tokens/s"
            notes = f"{contender.peak_megabytes():.0f} MB"
            if contender.name == "ours":
                if peak and flops(arguments.model, sets[name]):
                    notes += f", {flops(arguments.model, sets[name]) / median / peak:.1%} of the peak"
                ratio = ""
            else:
                ratio = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} .. {ratios[-1]:.2f})"
                notes += ", best peer" if contender.name == best else ""
            print(f"{precision}\t{name}\t{contender.name}\t{speed}\t{ratio}\t{notes}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder with bin/bench_encode (ninja benches)")
    parser.add_argument("--model", required=True, help="model directory with tokenizer.json")
    parser.add_argument("--text", required=True, help="UTF-8 text, any lines")
    parser.add_argument("--cache", default=os.path.expanduser("~/.cache/bert-bench"), help="for converted models")
    parser.add_argument("--precisions", default="f32,bf16,int8")
    parser.add_argument("--peers", default=",".join(peers.PEERS))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cpus", default="", help="cores to run on, as taskset -c has it")
    parser.add_argument("--tokens", type=int, default=20000, help="size of each set")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--lengths", default="", help="sets of texts of these many tokens: 1000,4096")
    arguments = parser.parse_args()
    for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        if variable in os.environ:
            sys.exit(f"start with env -u {variable}: it slows peers that read it")

    arguments.build, arguments.model = (os.path.abspath(p) for p in (arguments.build, arguments.model))
    folder = peers.cache_for(arguments.model, arguments.cache)
    sets, paths = make_sets(arguments.model, arguments.text, folder, arguments.tokens,
                            [int(n) for n in arguments.lengths.split(",") if n])
    print(f"# {arguments.model}, {arguments.threads} threads, {arguments.rounds} rounds")
    for name, sequences in sets.items():
        print(f"# {name}: {len(sequences)} sequences, {np.mean([len(s) for s in sequences]):.1f} tokens on average")
    print("precision\tset\tcontender\tspeed\tours is faster by\tnotes")
    for precision in arguments.precisions.split(","):
        peak = peak_of(arguments.build, precision, arguments.threads)
        if peak:
            print(f"# {precision}: measured peak {peak / 1e9:.0f} GOP/s")
        contenders = start(arguments, precision, paths)
        same = check(contenders)
        report(arguments, precision, sets, measure(same, sets, arguments.rounds), same, peak)
        for contender in contenders:
            contender.close()


if __name__ == "__main__":
    main()
