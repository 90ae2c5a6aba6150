#!/bin/bash
# Computes the vectors of a large file in pieces, each of which can run on another machine: the same bytes as one run.
# test model: st-mean
# test arguments: text.txt
# usage: shards.sh FILE
set -euo pipefail
[ $# -ge 1 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
file=$1
if [ ! -f "$file" ]; then cat -- "$1" >"$folder/all" && file=$folder/all; fi
split -n l/4 -- "$file" "$folder/part."
printf '%s\0' "$folder"/part.* | xargs -0 -P 4 -I % sh -c 'embed -j 1 "$1" >"$1.tsv"' sh %
cat "$folder"/part.*.tsv | cmp - <(embed -- "$file")
cat "$folder"/part.*.tsv | sha256sum
