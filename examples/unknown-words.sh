#!/bin/bash
# The words of a text that the vocabulary does not know, most frequent first.
# test expects: ^ +[0-9]+ [^ \t]+$
# test arguments: text.txt
# usage: unknown-words.sh FILE
set -euo pipefail
[ $# -ge 1 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
export LC_ALL=C # awk counts bytes
tokenize --offsets --keep -- "$1" | awk -F '\t' '$6 == "[UNK]" {
  start = $3; end = $4; for (i = 0; i < 6; ++i) sub(/^[^\t]*\t/, ""); print substr($0, start + 1, end - start) }' |
  sort | uniq -c | sort -rn | sed -n 1,20p
