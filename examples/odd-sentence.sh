#!/bin/bash
# The three sentences that follow least from the sentence before them: line number, P(next), sentence.
# test arguments: text.txt
# usage: odd-sentence.sh FILE
set -euo pipefail
[ $# -ge 1 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
nsp-score --adjacent -n "$1" | awk -F '\t' '$2 != "nan"' | sort -t "$(printf '\t')" -k 2,2g | sed 3q
