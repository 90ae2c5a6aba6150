#!/bin/bash
# Which heads of attention does a task need? Each is turned off alone; a row has layer, head, what is lost without it, and
# what is left. Lines of a label, a tab and a text: classify's mean log-probability of the label, and its accuracy as
# the last column. Lines of text alone: mlm-score's log-probability of a token. The first row is with all heads.
# (Michel et al. 2019, Are Sixteen Heads Really Better than One?)
# test model: tiny-classifier
# test arguments: labelled-first.tsv --rename bad,neither,good
# test expects: ^all\t-\t0\t-\d\.\d+\t[01]
# usage: head-ranking.sh FILE [options of classify or mlm-score]
set -euo pipefail
[ $# -ge 1 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat -- "$1" >"$work/file"
shift
for ((i = 1; i < $#; ++i)); do # attend below counts the heads of the same model
  case ${!i} in -m | --model) next=$((i + 1)) && export BERT_MODEL=${!next} ;; esac
done
if head -n 1 "$work/file" | grep -q "$(printf '\t')"; then
  sed -i "1i gold$(printf '\t')text" "$work/file"
  score() { # mean log-probability of the label, accuracy
    classify -q --header -f text --all "$@" "$work/file" | awk -F '\t' '
      NR == 1 { labels = NF - 2; for (i = 1; i <= labels; ++i) at[$i] = i; next }
      !($(NF - 1) in at) { print "no such label: " $(NF - 1) >"/dev/stderr"; exit 65 }
      { gold = at[$(NF - 1)]; best = 1; for (i = 2; i <= labels; ++i) if ($i > $best) best = i
        sum += log($gold > 1e-30 ? $gold : 1e-30); right += best == gold }
      END { if (NR > 1) printf "%.5f\t%.4f\n", sum / (NR - 1), right / (NR - 1) }'
  }
else
  score() { mlm-score -q -o "$@" "$work/file" | awk '{ sum += $1; n += $2 } END { printf "%.5f\n", sum / n }'; }
fi
whole=$(score "$@")
printf 'all\t-\t0\t%s\n' "$whole"
echo x | attend --layers 1--1 --stats | cut -f 2,3 | while read -r layer head; do
  without=$(score "$@" --ablate "$layer.$head")
  printf '%s\t%s\t%.5f\t%s\n' "$layer" "$head" "$(echo "$whole $without" | awk '{ print $1 - $(NF > 2 ? 3 : 2) }')" "$without"
done | sort -t "$(printf '\t')" -k 3,3gr -k 1,2n
