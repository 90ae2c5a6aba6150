#!/bin/bash
# The lines of a file that are most similar to a sentence, best first: cosine, then the line.
# test model: st-mean
# test arguments: the_cat_sat text.txt
# usage: most-alike.sh SENTENCE FILE
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
export sentence=$1 # awk -v would read backslashes as escapes
cat -- "$2" | awk -v OFS='\t' '{ print ENVIRON["sentence"], $0 }' | embed --compare --keep | sort -k 1,1gr | cut -f 1,3 | sed -n 1,10p
