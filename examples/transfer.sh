#!/bin/bash
# Transfer by features: the model's vectors stay as they are, and a linear classifier (softmax regression) learns labels
# from them. Each line is a text, a tab and a label; every fifth line is held out. Writes the accuracy on these lines,
# beside that of the label that is most frequent.
# test model: st-mean
# test expects: ^accuracy\t[01](\.\d+)?$
# test arguments: labelled.tsv
# usage: transfer.sh FILE [embed options]
set -euo pipefail
[ $# -ge 1 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
embed -q -f 1 --normalize --keep "${@:2}" -- "$1" | awk -F'\t' -v OFS='\t' '
  { y[NR] = $NF; D = NF - 2; for (i = 1; i <= D; ++i) x[NR, i] = $i; held[NR] = NR % 5 == 0
    if (!held[NR]) ++count[$NF] }
  function scores(n,   c, i, s, sum) { # p[c]: the probability of each label
    for (c in count) { s = b[c]; for (i = 1; i <= D; ++i) s += w[c, i] * x[n, i]; sum += p[c] = exp(s) }
    best = ""; for (c in count) { p[c] /= sum; if (best == "" || p[c] > p[best]) best = c }
  }
  END {
    for (epoch = 1; epoch <= 30; ++epoch) for (n = 1; n <= NR; ++n) if (!held[n]) {
      scores(n)
      for (c in count) { g = (c == y[n]) - p[c]; b[c] += g; for (i = 1; i <= D; ++i) w[c, i] += g * x[n, i] }
    }
    for (c in count) if (top == "" || count[c] > count[top]) top = c
    for (n = 1; n <= NR; ++n) if (held[n]) { ++all; scores(n); right += best == y[n]; most += top == y[n] }
    print "accuracy", all ? right / all : 0; print "majority", all ? most / all : 0
  }'
