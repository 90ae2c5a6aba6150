#!/bin/bash
# The words of a text that the vocabulary does not know, most frequent first.
# test arguments: text.txt
# usage: unknown-words.sh FILE
set -euo pipefail
export LC_ALL=C # awk counts bytes
tokenize --offsets "$1" | awk -F '\t' '
  NR == FNR { if ($6 == "[UNK]") { n[$1] = n[$1] " " $3 ":" $4 } next }
  FNR in n { k = split(n[FNR], span, " "); for (i = 1; i <= k; ++i) { split(span[i], at, ":")
    print substr($0, at[1] + 1, at[2] - at[1]) } }' - "$1" | sort | uniq -c | sort -rn | sed 20q
