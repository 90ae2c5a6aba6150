#!/bin/bash
# What the default model (or $BERT_MODEL) can do, by the toolkit's own evaluations: the table of README.md.
# usage: evaluate.sh DATA WORK, DATA as for make.sh, WORK where make.sh has run (for its held-out text); tools on PATH
set -euo pipefail
data=$(cd "$1" && pwd) work=$(cd "$2" && pwd)
scripts=$(cd "$(dirname "$0")/../../examples" && pwd)
export LC_ALL=C
unpack() { xz -dc "$data/$1"; }
row() { printf '%s\t%s\n' "$1" "$2"; }

row 'SST-2 dev, accuracy' "$(classify -f 1 --gold 2 "$work/sst2-dev.tsv" 2>&1 >/dev/null | awk '$1 == "accuracy" { print $2 }')"
row 'CoNLL-2003 dev, F1 of entities' "$(ner --gold --columns "$work/conll-dev.txt" 2>&1 >/dev/null | awk '$1 == "micro" { print $4 }')"
row 'SQuAD 1.1 dev, F1' "$(bash "$scripts/squad-to-tsv.sh" "$data/squad/dev-v1.1.json.xz" | qa --gold 3 2>&1 >/dev/null | awk '$1 == "f1" { print $2 }')"

# Spearman's correlation of the cosines, ties sharing their mean rank.
spearman() {
  sort -g -k "$1,$1" - | awk -v c="$1" '{ line[NR] = $0; v[NR] = $c }
    END { for (i = 1; i <= NR; i = j) { for (j = i; j <= NR && v[j] == v[i]; ++j); for (k = i; k < j; ++k) print line[k], (i + j - 1) / 2 } }'
}
row 'STS-B dev, Spearman' "$(unpack sts-b/dev.tsv.xz | embed --header --compare -f 1,2 --keep | tail -n +2 |
  awk -F '\t' '{ print $1, $NF }' | spearman 1 | spearman 2 |
  awk '{ n++; a += $3; b += $4; ab += $3 * $4; aa += $3 * $3; bb += $4 * $4 }
    END { print (n * ab - a * b) / sqrt((n * aa - a * a) * (n * bb - b * b)) }')"

# In pieces of a paragraph's length, as a word has its context in a text.
row 'held-out articles, masked tokens (15%, 80/10/10), top-1' "$(awk '
    length(t) + length($0) > 500 || !NF { if (length(t) > 200) print t; t = "" } { t = t (t == "" ? "" : " ") $0 }' "$work/held.txt" |
  head -2000 | tokenize | mlm-mask --seed 1 --tokens --labels | mlm-fill --tokens --labels 2 2>&1 >/dev/null |
  sed -n 's/.*top-1 \([0-9.]*\).*/\1/p')"
row 'held-out articles, next sentence, accuracy' "$(nsp-pairs "$work/held.txt" | nsp-score |
  awk -F '\t' '$1 == $1 + 0 { n++; right += ($1 > .5) == ($NF == "IsNext") } END { print right / n }')"
row 'BLiMP, mean accuracy' "$(bash "$scripts/blimp.sh" "$data/blimp/blimp.jsonl.xz" | awk '$1 == "total" { print $3 }')"
