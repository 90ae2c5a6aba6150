#!/bin/bash
# Search files for answers to a question, as grep does for a pattern: each answer, with the whole line that holds it. A
# NULL_MARGIN below 0 is stricter: the score of an answer must exceed the score of no answer by that much.
# test model: tiny-qa
# test expects: ^text.txt:[0-9]+: .+\t.+$
# test arguments: who_sat? text.txt reviews.txt
# usage: ask-files.sh QUESTION FILE...
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
work=$(mktemp -d) # links to the files by number, whatever their names; copies of pipes, which cannot be read twice
trap 'rm -rf "$work"' EXIT
question=$1 names=("${@:2}") links=()
for file in "${names[@]}"; do
  links+=("$work/${#links[@]}")
  if [ ! -f "$file" ]; then
    cat -- "$file" >"${links[-1]}"
  elif [[ $file == /* ]]; then
    ln -s "$file" "${links[-1]}"
  else
    ln -s "$PWD/$file" "${links[-1]}"
  fi
done
qa --question="$question" --null-margin="${NULL_MARGIN:-0}" -k 5 "${links[@]}" |
  while IFS=$'\t' read -r link record score start end answer; do
    name=${names[${link##*/}]//$'\n'/'\x0a'}
    printf '%s:%s: %s\t%s\n' "$name" "$record" "$answer" "$(sed -n "${record}p" "$link")"
  done
