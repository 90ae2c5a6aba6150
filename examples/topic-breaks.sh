#!/bin/bash
# The five lines of a text that follow least from the line before them: where the subject may change.
# test arguments: text.txt
# usage: topic-breaks.sh FILE
set -euo pipefail
nsp-score --adjacent -n "$1" | grep -av $'\tnan\t' | sort -k 2,2g | sed 5q
