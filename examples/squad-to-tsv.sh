#!/bin/bash
# Turns SQuAD's JSON (1.1 or 2.0, or flat questions as Hugging Face's datasets have them; packed or not) into the TSV that
# qa reads: question, context, true answers.
# test needs: jq
# test arguments: squad.json
# usage: squad-to-tsv.sh dev-v2.0.json | qa --gold 3 --null-margin 0 >/dev/null
set -euo pipefail
[ $# -ge 1 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
xz -dcf -- "$1" | jq -r 'if has("question") then [.question, .context, (.answers.text | @json)] else
    .data[].paragraphs[] | .context as $context | .qas[] | [.question, $context, (.answers | map(.text) | @json)] end
  | map(gsub("[\t\r\n]"; " ")) | join("\t")'
