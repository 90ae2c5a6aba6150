#!/bin/bash
# The sentences of a text that follow least from the one before: line number, P(next), sentence.
# test arguments: text.txt
# usage: odd-sentence.sh FILE
set -euo pipefail
nsp-score --adjacent -n "$1" | awk -F '\t' '$2 != "nan"' | sort -t "$(printf '\t')" -k 2,2g | sed 3q
