#!/usr/bin/env python3
"""How the cost of recurrent nets and self-attention grows with the length of a sequence, as a TSV and an SVG.

    python recurrence.py --build BUILD --out STEM

Runs bench_recurrence (ninja benches) and writes STEM.tsv and STEM.svg: tokens a second of one layer, for each number
of threads.
"""

import argparse
import subprocess
from pathlib import Path

from growth import plot, svg_of


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--width", default="256")
    parser.add_argument("--out", required=True)
    a = parser.parse_args()
    out = subprocess.run([f"{a.build}/bin/bench_recurrence", a.width], capture_output=True, text=True, check=True).stdout
    Path(a.out + ".tsv").write_text(out)
    rows = []
    for line in out.splitlines()[1:]:
        net, threads, tokens, _, speed = line.split("\t")
        rows.append((f"tokens, {threads} thread{'s' * (threads != '1')}", net, int(tokens), float(speed)))
    names = list(dict.fromkeys(row[0] for row in rows))
    Path(a.out + ".svg").write_text(svg_of([plot(rows, name, 70 + 290 * i) for i, name in enumerate(names)]))


if __name__ == "__main__":
    main()
