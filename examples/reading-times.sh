#!/bin/bash
# Does a model find hard the words that people read slowly? Joins the surprisal of each word of a text, in bits, to a
# file of reading times: a line "record index word ms" for each word, below a line with the names of the fields, where
# words are what stands between blanks, and both count as the text does (records from 1, words from 0).
# A row has: record, index, word, start, end, surprisal, that of the word before (for spill-over; nan at the beginning),
# reading time. Standard error has the correlation of surprisal and time. No word is lost: one without a partner ends
# the script with an error. The rows are what R's lme4 and pandas read.
# (Smith and Levy 2013, The effect of word predictability on reading time is logarithmic)
# test model: tiny-bert
# test arguments: story.txt reading-times.tsv
# test expects: ^1\t2\tman's\t8\t13\t\d+\.\d+\t\d+\.\d+\t301$
# usage: reading-times.sh TEXT TIMES [options of mlm-score]
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat -- "$2" >"$work/times"
cat -- "$1" | mlm-score --words --base 2 -q -o "${@:3}" >"$work/surprisal"
awk -F '\t' -v OFS='\t' '
  FNR == 1 { ++file }
  file == 1 { if (FNR > 1) { word[$1, $2] = $3; time[$1, $2] = $4; ++words }; next }
  !(($1, $2) in word) || word[$1, $2] != $3 {
    print "word " $2 " of record " $1 " is " $3 " in the text, not in the times" >"/dev/stderr"; exit bad = 65 }
  { bits = $6 == "nan" ? $6 : -$6; before = $2 > 0 ? last : "nan"; last = bits; ms = time[$1, $2]; --words
    print $1, $2, $3, $4, $5, bits, before, ms
    if (bits == "nan") next # a word behind the cut of a long text
    ++n; x += bits; y += ms; xx += bits * bits; yy += ms * ms; xy += bits * ms }
  END { if (bad) exit bad
    if (words) { print words " words of the times are not in the text" >"/dev/stderr"; exit 65 }
    if (n > 1) printf "%d words, correlation %.4f\n", n,
      (n * xy - x * y) / sqrt((n * xx - x * x) * (n * yy - y * y)) >"/dev/stderr" }' "$work/times" "$work/surprisal"
