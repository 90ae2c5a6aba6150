#!/bin/bash
# Replaces each name in a text by its type, as in "[PER] lives in [LOC]." A model misses some names: read the result
# before you publish it. --threshold 0 of ner also takes the names that the model is not sure of.
# test model: ../../models/default
# test arguments: text.txt
# test expects: ^\[LOC\] is the capital of \[LOC\]\.$
# usage: redact.sh FILE [ner options]
set -euo pipefail
[ $# -ge 1 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
# The end of a name becomes one byte, so that a name may contain "<". This byte is removed from the text before.
cat -- "$1" | tr -d '\001' | ner --inline -o "${@:2}" | sed -E 's|</[A-Z]+>|\x01|g; s|<([A-Z]+)>[^\x01]*\x01|[\1]|g'
