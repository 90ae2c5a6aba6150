#!/bin/bash
# Labels the lines of a file by attention over examples, without training a model: the vectors of the examples are the
# keys, their labels the values. Each line of EXAMPLES is a text, a tab and a label; TEXTS has a text on each line, or
# a text, a tab and the true label. Writes label, weight and text; with true labels, the accuracy on standard error.
# How far an example counts, the width, is learned from the examples, each of which is left out in turn.
# test model: st-mean
# test arguments: labelled.tsv labelled.tsv
# test expects: ^[a-z]+\t[01](\.\d+)?\t
# usage: label-by-example.sh EXAMPLES TEXTS [embed options]
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat -- "$1" >"$work/examples"
cat -- "$2" >"$work/texts"
vectors() { cut -f 1 "$work/$1" | embed -q --normalize "${@:2}"; }
vectors examples "${@:3}" >"$work/keys"
cut -f 2 "$work/examples" | sort -u >"$work/labels"
cut -f 2 "$work/examples" | awk -F '\t' 'NR == FNR { label[++n] = $0; next } # one column for each label: 1 or 0
  { for (i = 1; i <= n; ++i) printf "%d%s", label[i] == $0, i < n ? "\t" : "\n" }' "$work/labels" - >"$work/values"
attention-pool --score gauss -K "$work/keys" -V "$work/values" --leave-one-out --learn "$work/values" \
  --params "$work/width" "$work/keys" >/dev/null
vectors texts "${@:3}" | attention-pool -K "$work/keys" -V "$work/values" --params "$work/width" |
  awk -F '\t' 'NR == FNR { label[++n] = $0; next }
    { best = 1; for (i = 2; i <= n; ++i) if ($i > $best) best = i; print label[best] "\t" $best }' "$work/labels" - |
  paste - <(cut -f 1 "$work/texts") | tee "$work/rows"
cut -f 1 "$work/rows" | paste - <(cut -f 2 -s "$work/texts") |
  awk -F '\t' '$2 != "" { ++all; right += $1 == $2 } END { if (all) print "accuracy " right / all }' >&2
