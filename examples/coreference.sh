#!/bin/bash
# To whom does a pronoun point? Writes for each line, layer and head how much the pronoun attends to each of the nouns;
# then, for each line, the number of heads in which each noun gets the most. No head has learned to resolve pronouns.
# test arguments: it cat,mat text.txt
# test expects: ^line\tlayer\thead\tcat\tmat$
# usage: coreference.sh PRONOUN NOUN,NOUN.. FILE [attend options]
set -euo pipefail
[ $# -ge 3 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
attend -q --layers 1--1 --from="$1" "${@:4}" -- "$3" | awk -F'\t' -v OFS='\t' -v nouns="$2" '
  function write(   i, best) {
    if (at == "") return
    printf "%s", at; for (i = 1; i <= n; ++i) { printf "\t%.4f", w[i]; if (!best || w[i] > w[best]) best = i }
    print ""; ++heads[line, best]
  }
  BEGIN { n = split(nouns, noun, ","); printf "line\tlayer\thead"; for (i = 1; i <= n; ++i) printf "\t%s", noun[i]; print "" }
  { now = $1 OFS $2 OFS $3 }
  now != at { write(); at = now; line = $1; lines = $1 > lines ? $1 : lines; for (i = 1; i <= n; ++i) w[i] = 0 }
  { for (i = 1; i <= n; ++i) if ($8 == noun[i]) w[i] += $6 }
  END { write()
    for (l = 1; l <= lines; ++l) { s = ""; for (i = 1; i <= n; ++i) s = s OFS heads[l, i] + 0; print l, "heads", "most" s } }'
