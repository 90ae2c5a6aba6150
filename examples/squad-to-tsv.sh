#!/bin/bash
# Turns SQuAD's JSON (1.1 or 2.0, packed or not) into the TSV that qa reads: question, context, true answers.
# test needs: jq
# test arguments: squad.json
# usage: squad-to-tsv.sh dev-v2.0.json | qa --gold 3 --null-margin 0 >/dev/null
set -euo pipefail
[ $# -ge 1 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
xz -dcf "$1" | jq -r '.data[].paragraphs[] | .context as $context | .qas[]
  | [.question, $context, (.answers | map(.text) | @json)]
  | map(gsub("[\t\r\n]"; " ")) | join("\t")'
