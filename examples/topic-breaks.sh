#!/bin/bash
# The lines of a text that follow least from the line before them, five or N: where the subject may change, or a sentence
# that does not belong there. Writes the line's number, P(next) and the line.
# test expects: \tA dog ran\.$
# test arguments: text.txt
# usage: topic-breaks.sh FILE [N]
set -euo pipefail
[ $# -ge 1 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
nsp-score --adjacent -n -- "$1" | awk -F '\t' '$2 != "nan"' | sort -t "$(printf '\t')" -k 2,2g | sed -n "1,${2:-5}p"
