#!/bin/bash
# How often does the model guess a hidden token of a text: with its first guess, and with its first five?
# test arguments: corpus.txt
# usage: guess-the-hidden.sh FILE
set -euo pipefail
[ $# -ge 1 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
mlm-mask --seed 1 --labels -- "$1" | mlm-fill -f 1 --labels 2
