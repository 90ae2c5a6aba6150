#!/bin/bash
# One vector is too small. Two recurrent nets learn to write texts of 1 to 20 letters backwards: first with the last
# state of the encoder alone, then with attention. Writes how many of 1000 new texts are right, by length; then for how
# many letters of the target the largest weight is on one diagonal, where the letter to copy stands. About twenty seconds.
# test arguments: reversed 20
# test expects: ^letters\twithout\twith attention$
# usage: reverse.sh DIR STEPS [train-seq2seq options]   (for example, reverse.sh models 1500)
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
texts() { # SEED NUMBER: texts and their reverse
  awk -v seed="$1" -v n="$2" 'BEGIN { srand(seed)
    while (n-- > 0) { s = r = ""
      for (i = int(rand() * 20); i >= 0; --i) { c = substr("abcdefghijklmnop", 1 + int(rand() * 16), 1); s = s c; r = c r }
      print s "\t" r } }'
}
texts 1 20000 >"$work/train"
texts 2 1000 >"$work/test"
for attention in none additive; do
  train-seq2seq -q --train "$work/train" --net gru --attention $attention --steps "$2" --lr 5e-3 --dropout 0 --output="$1/$attention" \
    --overwrite "${@:3}" >/dev/null
  cut -f 1 "$work/test" | translate -q --model="$1/$attention" --beam 1 >"$work/$attention"
done
paste "$work/test" "$work/none" "$work/additive" | awk -F'\t' -v OFS='\t' '
  { band = int((length($1) + 4) / 5); ++n[band]; none[band] += $2 == $3; with[band] += $2 == $4 }
  END { print "letters", "without", "with attention"
    for (b = 1; b <= 4; ++b) if (n[b]) print 5 * b - 4 "-" 5 * b, sprintf("%.3f", none[b] / n[b]), sprintf("%.3f", with[b] / n[b]) }'
head -n 100 "$work/test" | cut -f 1 | translate -q --model="$1/additive" --beam 1 --align | awk -F'\t' '
  $7 == "</s>" { next }
  { key = $1 SUBSEP $4; if (!(key in best) || $6 > best[key]) { best[key] = $6; at[key] = $4 + $5 } size[$1] = $5 > size[$1] ? $5 : size[$1] }
  END { for (key in at) { split(key, part, SUBSEP); ++diagonal[at[key] - size[part[1]]]; ++all }
    for (d in diagonal) if (diagonal[d] > most) most = diagonal[d]; printf "aligned\t%.3f\n", all ? most / all : 0 }'
