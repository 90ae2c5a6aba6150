#!/bin/bash
# Searches man pages by meaning: writes the five paragraphs that are nearest to a question. A PAGE is a file or a name,
# such as "ls". Vectors are kept in a cache, so the next question over the same pages is answered in a moment.
# test model: st-mean
# test arguments: how_long_does_it_wait? nap.1
# test expects: ^NAP\(1\)\t[-\d.]+\t.*(seconds|nap)
# test needs: man
# usage: grep-man.sh QUESTION PAGE...   (for example, grep-man.sh 'sort by size' /usr/share/man/man1/*.gz)
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
work=$(mktemp -d) cache=${XDG_CACHE_HOME:-$HOME/.cache}
trap 'rm -rf "$work"' EXIT
mkdir -p "$cache"
for page in "${@:2}"; do # a paragraph in one line: the heading of its page, a tab, and the text
  if [ ! -e "$page" ]; then
    set -- "$1" -- "$page"
  elif [ -f "$page" ]; then
    set -- "$1" -l -- "$page"
  else
    cat -- "$page" >"$work/page"
    set -- "$1" -l "$work/page"
  fi
  MANWIDTH=1000 man "${@:2}" | awk -v RS= 'NR == 1 { page = $1 } { gsub(/[ \t\n]+/, " "); sub(/^ /, "") } length > 40 { print page "\t" $0 }'
done >"$work/paragraphs"
memo "$cache/grep-man.memo" "$work/paragraphs" -- embed -q -f 2 --format npy >"$work/vectors.npy"
nearest --query-text="$1" --vectors "$work/vectors.npy" -f 2 -k 5 "$work/paragraphs" |
  awk -F '\t' -v OFS='\t' 'NR == FNR { page[NR] = $1; next } { print page[$2], $3, $4 }' "$work/paragraphs" -
