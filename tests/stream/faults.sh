#!/bin/bash
# Short, interrupted, blocking and failing reads and writes: the same bytes, or status 74 and the reason (S08-S10).
. "$(dirname "$0")/common.sh"
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
shimmed() { SHIM=$1 LD_PRELOAD=$shim "${@:2}"; }

input 40 >"$work/in"
input 3000 >"$work/many"
for t in "${tools[@]}"; do
  for j in 1 4; do
    tool "$t" -j $j <"$work/in" >"$work/want" 2>"$work/err"
    expect "$t -j $j: status" $? 0
    for fault in short eintr eagain; do
      cat "$work/in" | shimmed $fault "$t" ${arguments[$t]} -j $j >"$work/out" 2>"$work/err"
      expect "$t -j $j $fault: status" $? 0
      equal "$t -j $j $fault" "$work/out" "$work/want"
    done

    # A read that fails: the whole records before it are out, the message names file and record.
    tool "$t" -j $j <"$work/many" >"$work/want" 2>"$work/err"
    shimmed eio-read:2 "$t" ${arguments[$t]} -j $j <"$work/many" >"$work/out" 2>"$work/err"
    expect "$t -j $j eio-read: status" $? 74
    lines=$(head -c 65536 "$work/many" | wc -l)
    expect "$t -j $j eio-read: rows" "$(wc -l <"$work/out")" "$lines"
    equal "$t -j $j eio-read" "$work/out" <(head -n "$lines" "$work/want")
    expect "$t -j $j eio-read: message" "$(cat "$work/err")" \
      "$t: -: record $((lines + 1)): read error: Input/output error"

    shimmed eio-write:2 "$t" ${arguments[$t]} -j $j <"$work/many" >"$work/out" 2>"$work/err"
    expect "$t -j $j eio-write: status" $? 74
    expect "$t -j $j eio-write: message" "$(cat "$work/err")" "$t: stdout: write error: Input/output error"
    equal "$t -j $j eio-write: whole rows" "$work/out" <(head -n "$(wc -l <"$work/out")" "$work/want")

    shimmed close "$t" ${arguments[$t]} -j $j <"$work/in" >"$work/out" 2>"$work/err"
    expect "$t -j $j close: status" $? 74
    expect "$t -j $j close: message" "$(cat "$work/err")" "$t: stdout: write error: No space left on device"
  done
done
finish
