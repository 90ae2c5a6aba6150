#!/bin/bash
# The five lines of a text that follow least from the line before them: where the subject may change.
# test expects: \tA dog ran\.$
# test arguments: text.txt
# usage: topic-breaks.sh FILE
set -euo pipefail
[ $# -ge 1 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
nsp-score --adjacent -n "$1" | grep -av $'\tnan\t' | sort -k 2,2g | sed 5q
