#!/bin/bash
# How far do the layers move a token? Writes for each layer the mean cosine between the vectors of a token there and in
# the embeddings (layer 0), over all tokens of the text.
# test arguments: text.txt
# test expects: ^0\t1\.0000$
# usage: layer-cosine.sh FILE [embed options]
set -euo pipefail
[ $# -ge 1 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
embed -q --pool none --layers concat:0--1 "${@:2}" -- "$1" | awk -F'\t' -v OFS='\t' -v layers="$(
    embed -q --layers 0 "${@:2}" <<<a | awk '{ print NF }')" '
  { H = layers; L = (NF - 3) / H
    for (l = 0; l < L; ++l) {
      p = q = r = 0
      for (i = 4; i < 4 + H; ++i) { y = $(i + l * H); p += $i * y; q += $i * $i; r += y * y }
      sum[l] += p / sqrt(q * r)
    } }
  END { for (l = 0; l < L; ++l) print l, sprintf("%.4f", sum[l] / NR) }'
