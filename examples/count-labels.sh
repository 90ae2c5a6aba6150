#!/bin/bash
# Counts the lines of each label, and shows the five lines that the model is least sure of.
# test model: tiny-classifier
# test arguments: reviews.txt
# usage: count-labels.sh FILE
set -euo pipefail
[ $# -ge 1 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
labels=$(mktemp)
trap 'rm -f "$labels"' EXIT
classify -- "$1" >"$labels"
cut -f 1 "$labels" | sort | uniq -c | sort -rn
sort -t "$(printf '\t')" -k 2,2g "$labels" | sed -n 1,5p
