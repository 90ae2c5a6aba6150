#!/bin/bash
# One word in several texts: how alike are its vectors? Writes for each two lines that have the word their numbers, the
# cosine of the static vectors (word2vec has no others; always 1), and the cosine of the vectors of the last layer.
# test arguments: cat text.txt
# test expects: ^\d+\t\d+\t1\.0000\t[-.\d]+$
# usage: polysemy.sh WORD FILE [embed options]
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat -- "$2" >"$work/text"
pieces=$(tokenize -q "${@:3}" <<<"$1")
# The first place in each line where the pieces of the word follow each other; its vector is the mean of theirs.
for layers in word -1; do
  embed -q --pool none --layers $layers "${@:3}" "$work/text" | awk -F'\t' -v pieces="$pieces" -v OFS='\t' '
    function vectors(   i, k, s) {
      for (k = 4; k <= NF; ++k) { s = 0; for (i = 1; i <= n; ++i) s += v[(at + i) % n, k]; printf "%s%.9g", OFS, s / n }
      print ""
    }
    BEGIN { n = split(pieces, piece, " ") }
    $1 != record { record = $1; done = 0 }
    { at = NR % n; token[at] = $3; for (k = 4; k <= NF; ++k) v[at, k] = $k
      ok = !done && NR >= n; for (i = 1; i <= n; ++i) ok = ok && token[(at + i) % n] == piece[i]
      if (ok) { printf "%s", record; vectors(); done = 1 } }' >"$work/$layers"
done
paste "$work/word" "$work/-1" | awk -F'\t' -v OFS='\t' '
  function cosine(a, b, from, to,   k, p, q, r) {
    for (k = from; k <= to; ++k) { p += x[a, k] * x[b, k]; q += x[a, k] ^ 2; r += x[b, k] ^ 2 }
    return sprintf("%.4f", p / sqrt(q * r)) }
  { for (k = 1; k <= NF; ++k) x[NR, k] = $k; half = NF / 2
    for (a = 1; a < NR; ++a) print x[a, 1], $1, cosine(a, NR, 2, half), cosine(a, NR, half + 2, NF) }'
