#!/bin/bash
# Fills the holes of a text, all at once. HOLES is the text with an M in the place of each token that is missing. Writes
# for each hole the true token, its place among the first five guesses ("-" if it is not there) and the guesses; then
# how many are right.
# test arguments: whole.txt holes.txt
# test expects: ^top 5\t[0-2] of 2$
# usage: congcong.sh TEXT HOLES [mlm-fill options]
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
masked=$(sed 's/M/[MASK]/g' -- "$2")
truth=$(paste <(tokenize -q "${@:3}" <<<"$masked" | tr ' ' '\n') <(tokenize -q "${@:3}" -- "$1" | tr ' ' '\n') |
  awk '$1 == "[MASK]" { print $2 }')
mlm-fill -k 5 "${@:3}" <<<"$masked" | cut -f 2-5 | awk -v OFS='\t' '
  function write() { if (n) print n, truth[n], place ? place : "-", guesses }
  NR == FNR { truth[NR] = $1; next }
  $1 != n { write(); n = $1; place = 0; guesses = "" }
  { guesses = guesses (guesses == "" ? "" : " ") $4 }
  $4 == truth[n] { place = $2; first += place == 1; ++five }
  END { write(); print "top 1", first + 0 " of " n; print "top 5", five + 0 " of " n }' <(echo "$truth") -
