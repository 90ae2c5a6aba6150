#!/usr/bin/env python3
"""How our cost grows: tokens a second against length, threads, batch tokens and model size, as a TSV and an SVG.

    python growth.py --build BUILD --models DIR... --threads 1 2 --out STEM

The first model is used for length, threads and batch tokens; the last plot has all of them (make_model.py makes
models of known sizes). Writes STEM.tsv and STEM.svg.
"""

import argparse
import json
import math
import random
import statistics
import subprocess
import tempfile
from pathlib import Path

LENGTHS = (8, 16, 32, 64, 128, 256, 512)
BATCH_TOKENS = (64, 256, 512, 1024, 2048, 4096, 8192)
COLOURS = ("#1b6ca8", "#c8553d", "#3a7d44", "#7d5ba6")


def ids_file(folder, length, tokens, vocab_size):
    rng = random.Random(length)
    path = Path(folder) / f"{length}.ids"
    lines = (" ".join(str(rng.randrange(1, vocab_size)) for _ in range(length)) for _ in range(max(1, tokens // length)))
    path.write_text("\n".join(lines) + "\n")
    return path


def speed(build, model, length, tokens, threads, precision, batch_tokens=512, rounds=5):
    """Tokens a second, the median of `rounds`."""
    vocab_size = json.loads((Path(model) / "config.json").read_text())["vocab_size"]
    with tempfile.TemporaryDirectory() as folder:
        path = ids_file(folder, length, tokens, vocab_size)
        command = [f"{build}/bin/bench_encode", "-b", batch_tokens, precision, model, threads, path]
        out = subprocess.run(list(map(str, command)), input="0\n" * rounds, capture_output=True, text=True, check=True)
    seconds = statistics.median(map(float, out.stdout.split()[1:]))
    return max(1, tokens // length) * length / seconds


def measure(a):
    """Rows: plot, series, x, tokens a second."""
    rows = []
    first = a.models[0]

    def add(plot, series, x, **changes):
        settings = dict(length=32, tokens=a.tokens, threads=max(a.threads), precision="f32")
        model = changes.pop("model", first)
        value = speed(a.build, model, **{**settings, **changes})
        rows.append((plot, series, x, value))
        print(plot, series, x, f"{value:.0f}", sep="\t", flush=True)

    for precision in a.precisions:
        for length in LENGTHS:
            add("length", precision, length, length=length, precision=precision)
        for threads in a.threads:
            add("threads", precision, threads, threads=threads, precision=precision)
        for batch_tokens in BATCH_TOKENS:
            add("batch tokens", precision, batch_tokens, batch_tokens=batch_tokens, precision=precision)
        for model in a.models:
            with open(Path(model) / "config.json") as file:
                config = json.load(file)
            h, i, layers = (config[k] for k in ("hidden_size", "intermediate_size", "num_hidden_layers"))
            millions = layers * (4 * h * h + 2 * h * i) / 1e6
            add("millions of weights in the layers", precision, round(millions, 3), model=model, precision=precision)
    return rows


def plot(rows, name, left):
    """One panel with logarithmic axes."""
    mine = [row for row in rows if row[0] == name]
    xs, ys = sorted({row[2] for row in mine}), [row[3] for row in mine]
    low, high = 10 ** math.floor(math.log10(min(ys))), 10 ** math.ceil(math.log10(max(ys)))
    width, height, top = 200, 180, 30

    def at(x, y):
        across = math.log(x / xs[0]) / math.log(xs[-1] / xs[0]) if len(xs) > 1 else 0.5
        up = math.log(y / low) / math.log(high / low)
        return left + across * width, top + (1 - up) * height

    parts = [f'<text x="{left}" y="18" font-weight="bold">{name}</text>']
    for power in range(round(math.log10(low)), round(math.log10(high)) + 1):
        y = at(xs[0], 10**power)[1]
        parts.append(f'<line x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{10**power:,}</text>')
    for x in xs:
        parts.append(f'<text x="{at(x, low)[0]:.1f}" y="{top + height + 16}" text-anchor="middle">{x:g}</text>')
    for k, series in enumerate(dict.fromkeys(row[1] for row in mine)):
        points = [at(row[2], row[3]) for row in mine if row[1] == series]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[k]}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLOURS[k]}"/>' for x, y in points]
        parts.append(f'<text x="{left + 8 + 50 * k}" y="{top + 12}" fill="{COLOURS[k]}">{series}</text>')
    return "\n".join(parts)


def svg_of(panels):
    """A picture of panels side by side."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{40 + 290 * len(panels)}" height="240" '
        'font-family="sans-serif" font-size="11">\n<rect width="100%" height="100%" fill="white"/>\n'
        + "\n".join(panels)
        + "\n</svg>\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--models", nargs="+", required=True)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--precisions", nargs="+", default=["f32", "bf16", "int8"])
    parser.add_argument("--tokens", type=int, default=16384)
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    rows = measure(arguments)
    names = list(dict.fromkeys(row[0] for row in rows))
    table = "plot\tseries\tx\ttokens_per_second\n" + "".join(f"{p}\t{s}\t{x:g}\t{v:.0f}\n" for p, s, x, v in rows)
    Path(arguments.out + ".tsv").write_text(table)
    svg = svg_of([plot(rows, name, 70 + 290 * i) for i, name in enumerate(names)])
    Path(arguments.out + ".svg").write_text(svg)


if __name__ == "__main__":
    main()
