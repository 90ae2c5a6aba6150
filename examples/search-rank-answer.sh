#!/bin/bash
# Answers the questions of SQuAD (JSON, packed or not) from all paragraphs of the file, in three steps: nearest finds ten
# paragraphs for each question, rank sorts them again, qa reads the best one. Writes how often the paragraph with the
# answer is the first or among the ten, and how good the answers are. Questions without an answer are left out.
# test model: ../../models/default
# test needs: jq
# test arguments: squad.json
# test expects: ^f1\t
# usage: search-rank-answer.sh dev-v1.1.json [rank options]   (default: --maxsim; a cross-encoder: -m DIR)
set -euo pipefail
[ $# -ge 1 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
xz -dcf -- "$1" >"$work/squad"
text='def text: gsub("[\t\r\n]"; " ");'
jq -r "$text"' [.data[].paragraphs[].context | text] | unique | .[]' "$work/squad" >"$work/paragraphs"
jq -r "$text"' .data[].paragraphs[] | (.context | text) as $context | .qas[] | select(.answers | length > 0)
  | [.question, $context, (.answers | map(.text) | @json)] | map(text) | join("\t")' "$work/squad" >"$work/questions"
shift
[ $# -gt 0 ] || set -- --maxsim
cut -f 1 "$work/questions" >"$work/queries"
nearest --query "$work/queries" -k 10 "$work/paragraphs" >"$work/found" # record rank score neighbour text
awk -F '\t' -v OFS='\t' 'NR == FNR { query[NR] = $0; next } { print $1, $4, query[$1], $5 }' "$work/queries" "$work/found" |
  rank -f 3,4 "$@" | sort -t "$(printf '\t')" -k 2,2n -k 1,1gr | awk -F '\t' '!seen[$2]++' >"$work/best"
awk -F '\t' -v OFS='\t' '
  FILENAME ~ /paragraphs$/ { number[$0] = FNR; next }
  FILENAME ~ /questions$/ { gold[n = FNR] = number[$2]; next }
  FILENAME ~ /found$/ { first += $2 == 1 && $4 == gold[$1]; ten += $4 == gold[$1]; next }
  { best += $3 == gold[$2] }
  END { print "questions", n; print "recall of nearest, first", first / n; print "recall of nearest, ten", ten / n
    print "recall of rank, first", best / n }' "$work/paragraphs" "$work/questions" "$work/found" "$work/best"
cut -f 4,5 "$work/best" | paste - <(cut -f 3 "$work/questions") | qa --gold 3 2>&1 >/dev/null
