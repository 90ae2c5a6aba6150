#!/bin/bash
# Removes the pages of a crawl that say nearly the same as a page before them. Each line of CRAWL is an address, a tab
# and the text. Standard error says which pages are left out, and which page each is like. Pages are alike if a chain of
# pairs with a cosine of THRESHOLD connects them.
# test model: st-mean
# test arguments: 1 named.tsv
# test expects: ^1\tthe cat sat$
# usage: dedup-crawl.sh THRESHOLD CRAWL [nearest options]   (0.95 for copies, 0.9 for new versions of a page)
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
nearest -n --groups "$1" -f 2 "${@:3}" -- "$2" | awk -F '\t' '
  $1 == $2 { kept[$1] = $4; ++n; sub(/^[^\t]*\t[^\t]*\t[^\t]*\t/, ""); print; next }
  { printf "%s is like %s (%s)\n", $4, kept[$2], $3 >"/dev/stderr" }
  END { printf "%d of %d pages are left\n", n, NR >"/dev/stderr" }'
