#!/bin/bash
# Which single mutations does a protein bear? Reads FASTA; each amino acid in turn is masked, and a row has the sequence,
# the mutation (A4V: the fourth, A, becomes V), and log P(V) - log P(A) at the mask. Above 0 the model, ESM-2, finds the
# new one more probable. (Meier et al. 2021, Language models enable zero-shot prediction of the effects of mutations:
# masked marginals.)
# test model: esm-letters
# test arguments: protein.fasta
# test expects: ^toy\tM1A\t-?\d+\.\d{4}$
# usage: esm-mutations.sh FASTA [mlm-fill options]
set -euo pipefail
[ $# -ge 1 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
acids=A,C,D,E,F,G,H,I,K,L,M,N,P,Q,R,S,T,V,W,Y
cat -- "$1" |
  awk -v OFS='\t' 'function write(  i) { for (i = 1; i <= length(acids); ++i)
      print substr(acids, 1, i - 1) "<mask>" substr(acids, i + 1), name, substr(acids, i, 1), i; acids = "" }
    /^>/ { write(); name = substr($1, 2); next }
    { gsub(/[^A-Za-z]/, ""); acids = acids toupper($0) } END { write() }' |
  mlm-fill -f 1 --targets="$acids" -k 20 --keep "${@:2}" |
  awk -F '\t' -v OFS='\t' 'function write(  i) { if (from in p) for (i = 1; i <= n; ++i)
      if (all[i] != from) printf "%s\t%s%s%s\t%.4f\n", name, from, place, all[i], log(p[all[i]]) - log(p[from]) }
    BEGIN { n = split("'"$acids"'", all, ",") }
    $1 != record { write(); delete p; record = $1; name = $8; from = $9; place = $10 }
    { p[$5] = $4 } END { write() }'
