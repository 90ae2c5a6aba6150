#!/bin/bash
# Accuracy on minimal pairs, paradigm by paradigm and over all (BLiMP, Warstadt et al. 2020).
# test arguments: blimp.jsonl
# usage: blimp.sh blimp.jsonl[.xz] [mlm-score options]
set -euo pipefail
[ $# -ge 1 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
xz -dcf -- "$1" |
  sed -E 's/.*"sentence_good": "([^"]*)", "sentence_bad": "([^"]*)".*"UID": "([^"]*)".*/\1\t\2\t\3/' |
  mlm-score --pair --group 3 --summary "${@:2}"
