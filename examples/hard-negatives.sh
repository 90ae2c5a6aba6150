#!/bin/bash
# Pairs of a query and its text, with hard negatives for finetune --task embed: the N texts of other pairs that are
# nearest to the query, but at most MARGIN times as near as its own text, for those that are nearer may be right, too.
# A query that has fewer is left out.
# test model: st-mean
# test arguments: pairs.tsv 1 2
# test expects: ^[^\t]+\t[^\t]+\t[^\t]+$
# usage: hard-negatives.sh PAIRS [N [MARGIN [nearest options]]]
set -euo pipefail
[ $# -ge 1 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
n=${2:-1} margin=${3:-0.95}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat -- "$1" >"$work/pairs"
cut -f 2 "$work/pairs" | awk '!seen[$0]++' >"$work/texts"
nearest --query "$work/pairs" --query-fields 1 -k $((n + 50)) "${@:4}" "$work/texts" >"$work/found"
awk -F '\t' -v OFS='\t' -v n="$n" -v margin="$margin" '
  function finish(   i, row, count, most) {
    if (at == "") return
    most = own[at] in score ? margin * score[own[at]] : 1
    row = query[at] OFS own[at]
    for (i = 1; i <= found && count < n; i++)
      if (!((query[at], text[i]) in right) && score[text[i]] <= most) {
        row = row OFS text[i]
        count++
      }
    if (count == n) print row
  }
  NR == FNR { query[FNR] = $1; own[FNR] = $2; right[$1, $2]; next }
  $1 != at { finish(); at = $1; found = 0; split("", score) }
  { text[++found] = $5; score[$5] = $3 }
  END { finish() }' "$work/pairs" "$work/found"
