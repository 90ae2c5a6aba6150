#!/bin/bash
# Search files for answers to a question, as grep does for a pattern: each answer, with the whole line that holds it. A
# NULL_MARGIN below 0 is stricter: the score of an answer must exceed the score of no answer by that much.
# test model: tiny-qa
# test expects: ^text.txt:[0-9]+: .+\t.+$
# test arguments: who_sat? text.txt reviews.txt
# usage: ask-files.sh QUESTION FILE...
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
copies=$(mktemp -d) # copies of pipes, which cannot be read twice
trap 'rm -rf "$copies"' EXIT
question=$1 files=()
for file in "${@:2}"; do
  if [ ! -f "$file" ]; then cat "$file" >"$copies/${file//\//_}" && file=$copies/${file//\//_}; fi
  files+=("$file")
done
qa -q "$question" --null-margin="${NULL_MARGIN:-0}" -k 5 "${files[@]}" |
  while IFS=$'\t' read -r file record score start end answer; do
    printf '%s:%s: %s\t%s\n' "${file#"$copies/"}" "$record" "$answer" "$(sed -n "${record}p" "$file")"
  done
