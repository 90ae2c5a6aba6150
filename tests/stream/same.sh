#!/bin/bash
# A record's row does not depend on its neighbours, its place, the threads, the batch, the shard or the locale
# (N01, N02, S12, S21, C08).
. "$(dirname "$0")/common.sh"
input 1500 | awk '{ print } NR % 50 == 0 { for (i = 0; i < 60; ++i) printf "the cat "; print "\tdogs" }' >"$work/in"
awk 'BEGIN { srand(7) } { printf "%.9f %d\n", rand(), NR }' "$work/in" | sort -n | awk '{ print $2 }' >"$work/order"
pick() { awk 'NR == FNR { line[NR] = $0; next } { print line[$1] }' "$1" "$work/order"; }
pick "$work/in" >"$work/shuffled"

for t in "${tools[@]}"; do
  tool "$t" -j 1 <"$work/in" >"$work/want" 2>/dev/null
  expect "$t: status" $? 0
  expect "$t: rows" "$(wc -l <"$work/want")" "$(wc -l <"$work/in")"
  for j in 2 3 4 8; do
    tool "$t" -j $j "$work/in" >"$work/out" 2>/dev/null
    equal "$t -j $j" "$work/out" "$work/want"
  done
  tool "$t" -j 4 <"$work/shuffled" 2>/dev/null >"$work/out"
  equal "$t shuffled" "$work/out" <(pick "$work/want")
  for n in 1 50 700 1530; do
    sed -n "${n}p" "$work/in" | tool "$t" -j 4 2>/dev/null >"$work/out"
    equal "$t record $n alone" "$work/out" <(sed -n "${n}p" "$work/want")
  done
  split -n l/5 "$work/in" "$work/part."
  for part in "$work"/part.*; do tool "$t" "$part" 2>/dev/null; done >"$work/out"
  equal "$t in five shards" "$work/out" "$work/want"
  tool "$t" "$work"/part.* 2>/dev/null >"$work/out"
  equal "$t of five files" "$work/out" "$work/want"
  rm "$work"/part.*
  if grep -q max-batch-tokens <("$t" --help); then
    for n in 1 100 100000; do
      tool "$t" --max-batch-tokens $n <"$work/in" 2>/dev/null >"$work/out"
      equal "$t --max-batch-tokens $n" "$work/out" "$work/want"
    done
  fi
  for locale in tr_TR.UTF-8 de_DE.UTF-8 POSIX nonsense; do
    env LC_ALL=$locale LANG=$locale "$t" ${arguments[$t]} <"$work/in" 2>/dev/null >"$work/out"
    equal "$t in locale $locale" "$work/out" "$work/want"
  done
  (cat "$work/in"; printf '\t\r\n\t') | tool "$t" 2>/dev/null | wc -l >"$work/out"
  expect "$t: last record without LF" "$(cat "$work/out")" $(($(wc -l <"$work/in") + 2))
  expect "$t: no input" "$(tool "$t" </dev/null 2>&1 | wc -c)" 0
done
finish
