#!/bin/bash
# memo: killed at any moment, twice at once, behind a slow or broken input or output, with a tool that dies, with a cache that
# cannot grow. The rows are always those of the tool without memo.
. "$(dirname "$0")/common.sh"
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
model=$models/tiny-bert
cd "$work" || exit 1
input 3000 | nl -ba >in
tokenize -m "$model" in >want
prefix() { # WHAT FILE: whole rows, as many as it has, are those of `want`
  equal "$1" <(head -n "$(wc -l <"$2")" "$2") <(head -n "$(wc -l <"$2")" want)
}
computed() { sed -n 's/^memo: \([0-9]*\) of .*/\1/p' "$1"; }
slowly() { # N: that many lines, a few at a time
  for ((i = 0; i < $1; i += 50)); do sed -n "$((i + 1)),$((i + 50))p" in; sleep 0.05; done
}

# Killed at a random moment, 12 times. What was computed a second before is there the next time.
rm -f c*
for i in {1..12}; do
  (exec memo c <(slowly 3000) -- tokenize -m "$model" -j 2 >out 2>err) &
  sleep "1.$((RANDOM % 10))"
  kill -9 $!
  wait $! 2>/dev/null
  prefix "killed $i: rows" out
  expect "killed $i: stderr" "$(cat err)" ""
done
memo -v c in -- tokenize -m "$model" >out 2>err
expect "killed, then resumed: status" $? 0
equal "killed, then resumed" out want
expect "killed, then resumed: less than all is computed ($(computed err))" "$(($(computed err) < 2700))" 1
memo -v c in -- tokenize -m "$model" >out 2>err
expect "resumed again: nothing is computed" "$(computed err)" 0

# Four at once, on a cache that does not exist.
rm -f c*
for i in 1 2 3 4; do memo c in -- tokenize -m "$model" >out.$i 2>err.$i & done
wait
for i in 1 2 3 4; do
  equal "four at once: $i" out.$i want
  expect "four at once: $i: stderr" "$(cat err.$i)" ""
done
expect "four at once: each record is there once" "$(memo --stats c | cut -f 1)" 3000

# A program that waits for the row of each line; an idle tool that is killed.
rm -f c*
mkfifo to from
memo c -- tokenize -m "$model" <to >from 2>err &
pid=$!
exec 8>to 9<from
for i in 1 2 1; do
  sed -n "${i}p" in >&8
  read -r -t 20 row <&9
  expect "line by line: $i" "$row" "$(sed -n "${i}p" want)"
done
kill -9 "$(grep -l "^PPid:.$pid$" /proc/[0-9]*/status 2>/dev/null | cut -d / -f 3)"
wait $pid
expect "the idle tool is killed: status" $? 137
expect "the idle tool is killed: message" "$(cat err)" "memo: tokenize was ended by signal 9 (Killed)"
exec 8>&- 9<&-
expect "its rows are kept" "$(memo --stats c | cut -f 1)" 2

# Reads and writes that are short, interrupted, blocked or fail.
for fault in short eintr eagain; do
  rm -f c*
  cat in | SHIM=$fault LD_PRELOAD=$shim memo c -- tokenize -m "$model" >out 2>err
  expect "$fault: status" "$? $(cat err)" "0 "
  equal "$fault" out want
done
rm -f c*
memo c -- tokenize -m "$model" </dev/null >&- 2>err
expect "no input, >&-" "$? $(cat err)" "0 "
for state in cold warm; do
  timeout 60 memo c in -- tokenize -m "$model" >/dev/full 2>err
  expect "$state: /dev/full" "$? $(cat err)" "74 memo: stdout: write error: No space left on device"
  memo c in -- tokenize -m "$model" 2>err | head -n 1 >out
  expect "$state: | head: status" "${PIPESTATUS[0]}" 141
  expect "$state: | head: stderr" "$(cat err)" ""
  memo c in none in -- tokenize -m "$model" >out 2>err
  expect "$state: missing file" "$? $(cat err)" "66 memo: none: cannot open: No such file or directory"
  equal "$state: missing file" out <(cat want want)
done
memo c -- tokenize -m "$model" <&- >out 2>err
expect "<&-" "$? $(cat err)" "74 memo: -: record 1: read error: Bad file descriptor"

# A cache that cannot grow: all rows, and the status of its error.
rm -f c*
{
  (ulimit -f 100 && exec memo c in -- tokenize -m "$model") 2>err
  echo $? >status
} | cat >out
expect "a cache that cannot grow: status" "$(cat status)" 74
equal "a cache that cannot grow" out want
grep -q '; the run went on without it$' err
expect "a cache that cannot grow: message $(cat err)" $? 0
memo -v c in -- tokenize -m "$model" >out 2>err
expect "then it can" $? 0
equal "then it can" out want

# Damaged: an error, or the right rows.
for at in 100 5000 20000 100000; do
  cp c d
  head -c 3000 /dev/urandom | dd of=d bs=1 seek=$at conv=notrunc status=none
  memo d in -- tokenize -m "$model" >out 2>err
  status=$?
  case $status in 0 | 65) ;; *) expect "damaged at $at: $(cat err)" $status 65 ;; esac
  prefix "damaged at $at" out
  rm -f d*
done
finish
