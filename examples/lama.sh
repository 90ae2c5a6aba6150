#!/bin/bash
# Does the model know facts? Measures how well it guesses the true object at the mask of "[X] was born in [Y].", for
# each relation (LAMA, Petroni et al. 2019; files as in S-TEST: relations.jsonl and P19.jsonl .., also packed with xz).
# test arguments: lama
# usage: lama.sh DIR
set -euo pipefail
[ $# -ge 1 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
string='"(([^"\\]|\\.)*)"'
for file in "$1"/P*.jsonl*; do
  relation=$(basename -- "${file%.jsonl*}")
  template=$(xz -dcf -- "$1"/relations.jsonl* | sed -nE "s/.*\"$relation\", \"template\": $string.*/\1/p")
  prompt=${template/\[X\]/'{}'}
  facts=$(xz -dcf -- "$file" | sed -E "s/.*\"sub_label\": $string.*\"obj_label\": $string.*/\1\t\3/")
  printf '%b\n' "$facts" | mlm-fill --prompt "${prompt/\[Y\]/[MASK]}" --gold 2 2>&1 >/dev/null |
    sed "s/^mlm-fill:/$relation, $template/"
done
