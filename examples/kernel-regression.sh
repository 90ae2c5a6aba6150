#!/bin/bash
# Kernel regression (Nadaraya and Watson 1964) is attention: points are keys, their heights values. Each line of FILE is
# x, a tab and y. Each point is predicted from the others: first with no parameter, then with the width of the kernel
# learned. Writes for both the number of parameters and the mean squared error; then x, y and the two predictions.
# test arguments: points.tsv
# test expects: ^parameters\t1\t0\.\d+$
# usage: kernel-regression.sh FILE
set -euo pipefail
[ $# -ge 1 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat -- "$1" >"$work/points"
cut -f 1 "$work/points" >"$work/x"
cut -f 2 "$work/points" >"$work/y"
pool() { attention-pool -q --score gauss --leave-one-out -K "$work/x" -V "$work/y" "$@" "$work/x"; }
pool >"$work/fixed"
pool --learn "$work/y" --params "$work/width" >"$work/learned"
paste "$work/points" "$work/fixed" "$work/learned" | awk -F'\t' -v OFS='\t' '
  { line[NR] = $1 OFS $2 OFS $3 OFS $4; fixed += ($2 - $3) ^ 2; learned += ($2 - $4) ^ 2 }
  END { print "parameters", 0, fixed / NR; print "parameters", 1, learned / NR
    for (i = 1; i <= NR; ++i) print line[i] }'
