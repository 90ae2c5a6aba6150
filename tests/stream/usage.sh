#!/bin/bash
# The command line that all tools share: what is wrong is named (S24), fields, headers, NUL, numbers, JSON, truncated models (L20).
. "$(dirname "$0")/common.sh"
input 30 >"$work/in"

# refused TOOL STATUS MESSAGE ARGUMENT...: one line on stderr, nothing on stdout
refused() {
  local name=$1 status=$2 message=$3
  shift 3
  "$name" "$@" <"$work/in" >"$work/out" 2>"$work/err"
  expect "$name $*: status" $? "$status"
  expect "$name $*: message" "$(cat "$work/err")" "$name: $message"
  expect "$name $*: stdout" "$(wc -c <"$work/out")" 0
}

# loud TOOL ARGUMENT...: with its notices
loud() {
  local name=$1
  shift
  # shellcheck disable=SC2086
  "$name" ${arguments[$name]#-q } "$@"
}

for t in "${tools[@]}"; do
  see="(see $t --help)"
  refused "$t" 64 "unknown option '--jbos'; did you mean '--jobs'? $see" --jbos 3
  refused "$t" 64 "unknown option '--quetzalcoatl' $see" --quetzalcoatl
  refused "$t" 64 "unknown option '--jbos'; did you mean '--jobs'? $see" --jbos=$'\e[31m'
  refused "$t" 64 "unknown option '-\\x1b[31m' $see" -$'\e[31m'
  for bad in 0 -1 1025 99999999999999999999 1.5 many ''; do
    refused "$t" 64 "--jobs: found '$bad', wants 1 to 1024 $see" --jobs "$bad"
  done
  refused "$t" 64 "--jobs: given 2 times, wants one $see" -j 1 -j 2
  refused "$t" 64 "--jobs: wants a value $see" -j
  "$t" -m "$work/none" <"$work/in" >"$work/out" 2>"$work/err"
  expect "$t -m none" "$? $(wc -c <"$work/out") $(cut -d : -f 1-3 "$work/err")" \
    "66 0 $t: $work/none: no such model"
  for bad in 0 -1 x '' 1x 99999999999999999999; do
    # shellcheck disable=SC2086
    tool "$t" -f "$bad,$bad" <"$work/in" >"$work/out" 2>"$work/err"
    expect "$t -f $bad: status" $? 64
    tool "$t" -f "$bad" <"$work/in" >"$work/out" 2>"$work/err"
    expect "$t -f $bad: status" $? 64
    expect "$t -f $bad: lines" "$(wc -l <"$work/err") $(wc -c <"$work/out")" "1 0"
    expect "$t -f $bad: option" "$(cut -d : -f 1-2 "$work/err")" "$t: -f"
  done
  tool "$t" -f "1,2,3" <"$work/in" >"$work/out" 2>"$work/err"
  expect "$t -f 1,2,3" $? 64

  # Record 3 has too few fields: the rows before it are out, the message has its number.
  fields=2
  case $t in nsp-score | qa | rank) fields=1,2 ;; esac
  printf 'a\tb\nc\td\ne\nf\tg\n' | tool "$t" -f $fields >"$work/out" 2>"$work/err"
  expect "$t short record: status" $? 65
  expect "$t short record: message" "$(cat "$work/err")" "$t: -: record 3: found 1 field, wants at least 2, separated by tabs"
  expect "$t short record: rows" "$(wc -l <"$work/out")" 2

  # -n counts records, over all files, without headers; names choose fields; one header goes out. Files may differ in
  # columns where no line is written.
  printf 'x\ttext\tb\n1\tthe [MASK]\tran\n' >"$work/a"
  printf 'b\ttext\ndogs\tthe cat\n' >"$work/b"
  fields=text
  case $t in nsp-score | qa | rank) fields=text,b ;; esac
  tool "$t" --header -n -o -f $fields "$work/a" "$work/b" >"$work/out" 2>"$work/err"
  expect "$t --header -n: status" "$? $(cat "$work/err")" "0 "
  expect "$t --header -n: numbers" "$(cut -f 1 "$work/out" | tr '\n' ' ')" "record 1 2 "
  columns=$(awk -F '\t' 'NR <= 2 { print NF }' "$work/out" | uniq | wc -l)
  expect "$t --header: as many names as columns" "$columns" 1
  tool "$t" --header -f nothing,text "$work/a" >"$work/out" 2>"$work/err"
  expect "$t --header -f nothing" "$(($? == 64 || $? == 65)) $(wc -l <"$work/err")" "1 1"

  # NUL and LF give the same rows; a CR before LF belongs to no text.
  tool "$t" <"$work/in" >"$work/want" 2>/dev/null
  tr '\n' '\0' <"$work/in" | tool "$t" -0 2>/dev/null | tr '\0' '\n' >"$work/out"
  equal "$t -0" "$work/out" "$work/want"
  sed 's/$/\r/' "$work/in" | tool "$t" 2>/dev/null | tr -d '\r' >"$work/out"
  equal "$t CRLF" "$work/out" "$work/want"
  printf 'a\nb\tc\0d\te\0' | tool "$t" -0 2>/dev/null | tr -dc '\0' | wc -c >"$work/out"
  expect "$t -0 with LF in a record" "$(cat "$work/out")" 2

  # The line last, byte for byte, whatever is in it.
  keep=--keep
  case $t in mlm-score | nsp-score | classify | qa | rank | ner) keep=-n ;; esac
  printf '\xff\xff bad\tx\xc3\n\e[31m\x01 red\t\\ "q" \xe2\x80\xa8 z\r\n' >"$work/odd"
  loud "$t" $keep "$work/odd" 2>"$work/err" >"$work/rows"
  expect "$t odd bytes: status" $? 0
  expect "$t odd bytes: told" "$(head -1 "$work/err" | cut -d ' ' -f 1-6)" "$t: 1 of 2 records had"
  awk -F '\t' -v OFS='\t' '{ print $(NF - 1), $NF }' "$work/rows" >"$work/out"
  equal "$t $keep odd bytes" "$work/out" "$work/odd"
  tool "$t" -q "$work/odd" 2>"$work/err" >/dev/null || [[ $t = qa || $t = rank ]] # whose -q is the question
  [[ $t = qa || $t = rank ]] || expect "$t -q" "$(cat "$work/err")" ""
  tool "$t" --strict "$work/odd" 2>"$work/err" >"$work/out"
  expect "$t --strict: status" $? 65
  expect "$t --strict: message" "$(cat "$work/err")" "$t: $work/odd: record 1: is not UTF-8"

  # JSON: one object per record, readable, with its number.
  if command -v python3 >/dev/null; then
    cat "$work/in" "$work/odd" | tool "$t" --json 2>/dev/null >"$work/out"
    python3 -c '
import json, sys
rows = [json.loads(line, parse_constant=lambda c: sys.exit(c)) for line in open(sys.argv[1], "rb")]
print(len(rows), [r["record"] for r in rows] == list(range(1, len(rows) + 1)))' "$work/out" >"$work/json" 2>&1
    expect "$t --json" "$(tail -1 "$work/json")" "32 True"
  fi

  tool "$t" --meta <"$work/in" 2>/dev/null >"$work/out"
  expect "$t --meta: first line" "$(head -1 "$work/out" | cut -c 1-2)" "# "
  equal "$t --meta: the rest" <(tail -n +2 "$work/out") "$work/want"
  loud "$t" -v <"$work/in" 2>"$work/err" >"$work/out"
  expect "$t -v" "$(grep -c "$t: 30 records in .* s, .* records/s" "$work/err")" 1
done

# L20: the weights are cut while they are in use, mapped or (--no-mmap) copied.
# cut_while_used [OPTION]: embed gets three lines, then the lines of `then` with its weights gone; leaves $status
then=("$work/in" "$work/in")
cut_while_used() {
  rm -rf "$work/model" "$work/fifo"
  cp -r "$models/st-dense" "$work/model"
  mkfifo "$work/fifo"
  embed -m "$work/model" "$@" <"$work/fifo" >"$work/out" 2>"$work/err" &
  exec 9>"$work/fifo"
  head -3 "$work/in" >&9
  for _ in {1..200}; do [ "$(wc -l <"$work/out")" -eq 3 ] && break; sleep 0.05; done
  find "$work/model" -name '*.safetensors' -exec truncate -s 100 {} +
  cat "${then[@]}" >&9
  exec 9>&-
  wait $!
  status=$?
}
cut_while_used
expect "weights cut while mapped: status" $status 74
expect "weights cut while mapped: message" "$(cat "$work/err")" "embed: a mapped model file was changed while in use"
expect "weights cut while mapped: rows before are out" "$(wc -l <"$work/out")" 3
# Several threads meet the missing weights; the shim makes them all write, if they can.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
input 3000 >"$work/many"
then=("$work/many") SHIM=slow-errors LD_PRELOAD=$shim
export SHIM LD_PRELOAD
cut_while_used -j 4
unset SHIM LD_PRELOAD
then=("$work/in" "$work/in")
expect "weights cut while mapped, four threads" "$status $(cat "$work/err")" \
  "74 embed: a mapped model file was changed while in use"
cut_while_used --no-mmap
expect "weights cut, --no-mmap: status" "$status $(cat "$work/err")" "0 "
equal "weights cut, --no-mmap" "$work/out" <(head -3 "$work/in" | cat - "$work/in" "$work/in" | embed -m "$models/st-dense")
finish
