#!/bin/bash
# run.sh [--redo] BIN_DIR [TOOL | TOOL/CASE]... - runs the cases of this folder; README.md says what a case is.
set -u
redo=no
if [ "${1-}" = --redo ]; then redo=yes; shift; fi
bin=$(cd "${1:?usage: run.sh [--redo] BIN_DIR [TOOL | TOOL/CASE]...}" && pwd) || exit 64
shift
cd "$(dirname "$0")/../.." || exit 1 # the root: messages name the same relative paths everywhere
[ $# -gt 0 ] || set -- $(cd tests/cli && ls -d -- */ | tr -d /)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
seconds=${BERT_TEST_TIMEOUT:-120} # of a case
unset "${!BERT_@}" "${!HF_@}" "${!LC_@}" LANG
export PATH=$bin:$PATH HOME=$work LC_ALL=C MODELS=tests/golden CASE TMP J
cases=0 failures=0

# run_case THREADS: leaves $work/out.N, err.N, status.N
run_case() {
  J="-j $1" TMP=$work/tmp
  rm -rf "$TMP" && mkdir "$TMP"
  timeout -k 5 "$seconds" bash "$CASE/cmd" </dev/null >"$work/out.$1" 2>"$work/err.$1"
  echo $? >"$work/status.$1"
}

# same FILE_A FILE_B TOLERANCE: equal bytes, or with a tolerance equal words and numbers that close.
same() {
  cmp -s "$1" "$2" && return
  [ -n "$3" ] || return 1
  awk -v tolerance="$3" '
    function number(s) { return s ~ /^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?$/ }
    { if ((getline other < expected) <= 0) exit bad = 1
      n = split($0, a, /[ \t,:\[\]{}]/); m = split(other, b, /[ \t,:\[\]{}]/)
      if (n != m) exit bad = 1
      for (i = 1; i <= n; ++i) {
        if (a[i] == b[i]) continue
        if (!number(a[i]) || !number(b[i])) exit bad = 1
        d = a[i] - b[i]; if (d < 0) d = -d
        if (d > tolerance) exit bad = 1
      } }
    END { if (!bad && (getline other < expected) > 0) bad = 1; exit bad }' expected="$2" "$1"
}

# complain WHAT EXPECTED FOUND
complain() {
  echo "FAIL ${CASE#tests/cli/}: $1"
  diff -a -u --label expected "$2" --label found "$3" | head -40 | cut -c 1-400
  failed=yes
}

# keep FILE FOUND DEFAULT: writes an expected file, or removes it where the default says the same
keep() {
  if cmp -s "$2" "$3"; then rm -f "$CASE/$1"; else cp "$2" "$CASE/$1"; fi
}

echo 0 >"$work/zero"
: >"$work/empty"
for wanted; do
  found=no
  for CASE in tests/cli/"$wanted" tests/cli/"$wanted"/*; do
    [ -f "$CASE/cmd" ] || continue
    found=yes failed=no
    if [ -f "$CASE/needs" ] && ! bash "$CASE/needs" >"$work/needs" 2>&1; then
      echo "not run: ${CASE#tests/cli/}: $(tail -n 1 "$work/needs")"
      continue
    fi
    cases=$((cases + 1))
    run_case 1
    if grep -q '\$J' "$CASE/cmd"; then # the same bytes from four threads
      run_case 4
      for what in out err status; do
        cmp -s "$work/$what.1" "$work/$what.4" || complain "$what of -j 4 is not that of -j 1" "$work/$what.1" "$work/$what.4"
      done
    fi
    if [ $redo = yes ]; then
      keep expout "$work/out.1" "$work/empty"
      keep experr "$work/err.1" "$work/empty"
      keep status "$work/status.1" "$work/zero"
    else
      tolerance=
      [ -f "$CASE/tolerance" ] && tolerance=$(cat "$CASE/tolerance")
      expected() { if [ -f "$CASE/$1" ]; then echo "$CASE/$1"; else echo "$work/$2"; fi; }
      for pair in expout:out.1:empty experr:err.1:empty status:status.1:zero; do
        IFS=: read -r file got default <<<"$pair"
        want=$(expected "$file" "$default")
        same "$work/$got" "$want" "$tolerance" || complain "$file" "$want" "$work/$got"
      done
    fi
    [ $failed = no ] || failures=$((failures + 1))
  done
  if [ $found = no ]; then
    echo "FAIL $wanted: no cases in tests/cli/$wanted"
    failures=$((failures + 1))
  fi
done
echo "$cases cases, $failures failed"
[ "$failures" -eq 0 ]
