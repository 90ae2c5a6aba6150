#!/bin/bash
# Which topics does a file have? Lines with a cosine of THRESHOLD or more are in one group; the name of a group are the
# words of the file that are nearest to its lines. Writes for the ten largest groups the number of lines, the name, and
# one line.
# test model: st-mean
# test arguments: 0.2 topics.tsv
# test expects: ^\d+\t\w+ \w+ \w+\t
# usage: name-topics.sh THRESHOLD FILE [nearest options]   (a high THRESHOLD makes many small groups)
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat -- "$2" >"$work/text"
nearest --groups "$1" "${@:3}" "$work/text" | cut -f 1,3- | awk -F '\t' -v OFS='\t' '
  { group = $1; sub(/^[^\t]*\t/, ""); gsub(/\t/, " ")
    if (!n[group]++) first[group] = $0
    if (n[group] <= 20) lines[group] = lines[group] " " $0 } # what a model can read
  END { for (group in n) print n[group], first[group], lines[group] }' |
  sort -t "$(printf '\t')" -k 1,1nr -k 2 | sed -n 1,10p >"$work/groups"
grep -oE '[[:alpha:]]{4,}' "$work/text" | tr '[:upper:]' '[:lower:]' | sort -u >"$work/words"
cut -f 3 "$work/groups" >"$work/lines"
nearest -k 3 --query "$work/lines" "${@:3}" "$work/words" |
  awk -F '\t' '{ name[$1] = name[$1] (name[$1] == "" ? "" : " ") $5; n = $1 } END { for (i = 1; i <= n; ++i) print name[i] }' |
  paste <(cut -f 1 "$work/groups") - <(cut -f 2 "$work/groups")
