#!/bin/bash
# The three uses of an encoder and a decoder in the notes: a translation, a summary, an answer. A small Transformer
# learns some pairs of each by heart, in a few seconds, and writes what it learned: the source, what the model writes, and
# whether this is the target. It decides by itself where a target ends.
# test arguments: toys 5
# test expects: ^right\t\d+ of 12$
# usage: translate-toy.sh DIR STEPS [train-seq2seq options]   (for example, translate-toy.sh models 300)
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/translation" <<'PAIRS'
我爱中国	I love China
我爱你	I love you
你爱我	You love me
他在北京	He is in Beijing
PAIRS
cat >"$work/summary" <<'PAIRS'
after work we go to eat, I heard of a good noodle shop, it is my treat	my treat
the shop is far, the rain is heavy, we stay at home	we stay
the train was late, the road was closed, but I am here now	I am here
the book is long, the print is small, I like it all the same	I like it
PAIRS
cat >"$work/answer" <<'PAIRS'
who has a bond with the grassland?	the writer
where did he come after school?	Baotou
when was he young?	twenty years ago
what does he do there?	he lets his heart fly
PAIRS
for task in translation summary answer; do
  train-seq2seq -q --train "$work/$task" --steps "$2" --dropout 0 --output="$1/$task" --overwrite "${@:3}" >/dev/null
  cut -f 1 "$work/$task" | translate -q --model="$1/$task" | paste "$work/$task" - | awk -F'\t' -v OFS='\t' '{ print $1, $3, $2 == $3 }'
done | awk -F'\t' '{ print; right += $3 } END { print "right\t" right " of " NR }'
