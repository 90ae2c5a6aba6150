#!/bin/bash
# grep for an answer: each answer found, with the whole line that holds it.
# test model: tiny-qa
# test arguments: who_sat? text.txt reviews.txt
# usage: ask-files.sh QUESTION FILE...
set -euo pipefail
qa -q "$1" --null-margin "${NULL_MARGIN:-10}" -k 5 "${@:2}" |
  while IFS=$'\t' read -r file record score start end answer; do
    printf '%s:%s: %s\t%s\n' "$file" "$record" "$answer" "$(sed -n "${record}p" "$file")"
  done
