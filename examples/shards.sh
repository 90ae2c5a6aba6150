#!/bin/bash
# Vectors of a large file from pieces that may run on as many machines: the same bytes as one run.
# test model: st-mean
# test arguments: text.txt
# usage: shards.sh FILE
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
split -n l/4 "$1" "$folder/part."
printf '%s\0' "$folder"/part.* | xargs -0 -P 4 -I % sh -c 'embed -j 1 "$1" >"$1.tsv"' sh %
cat "$folder"/part.*.tsv | cmp - <(embed "$1")
cat "$folder"/part.*.tsv | sha256sum
