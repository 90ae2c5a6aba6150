#!/bin/bash
# Memory does not grow with the input, only with the longest record (S12, T12), and no row waits for the end.
. "$(dirname "$0")/common.sh"
input 2000 >"$work/in"

# start TOOL OPTION...: reads descriptor 9, writes $work/out
start() {
  rm -f "$work/fifo"
  mkfifo "$work/fifo"
  tool "$@" <"$work/fifo" 2>"$work/err" | wc -l >"$work/out" &
  exec 9>"$work/fifo"
  pid=
  for _ in {1..200}; do
    pid=$(pgrep -P $$ -x "${1:0:15}") && break
    sleep 0.05
  done
}
# peak: kilobytes at most until now, once the tool has read what it was sent
peak() {
  local before now=
  for _ in {1..600}; do
    before=$now now=$(awk '/^rchar/ { print $2 }' "/proc/$pid/io")$(awk '{ print $14 + $15 }' "/proc/$pid/stat")
    [ "$before" = "$now" ] && break
    sleep 0.1
  done
  awk '/^VmHWM/ { print $2 }' "/proc/$pid/status"
}

for t in "${tools[@]}"; do
  for j in 1 4; do
    start "$t" -j $j
    for _ in {1..3}; do cat "$work/in"; done >&9
    first=$(peak)
    for _ in {1..15}; do cat "$work/in"; done >&9
    second=$(peak)
    exec 9>&-
    wait
    expect "$t -j $j: rows" "$(cat "$work/out")" 36000
    expect "$t -j $j: grew by less than 4 MB from $first to $second kB" "$((second - first < 4096))" 1
  done

  # A record of 64 MB, and one word of 16 MB.
  start "$t" -j 4
  cat "$work/in" >&9
  first=$(peak)
  (head -c $((64 << 20)) /dev/zero | tr '\0' ' '; printf '\tx\n') >&9
  second=$(peak)
  expect "$t: 64 MB record from $first to $second kB: at most 4 x" "$((second - first < 4 * 65536))" 1
  (head -c $((16 << 20)) /dev/zero | tr '\0' 'a'; printf '\tx\n') >&9
  third=$(peak)
  expect "$t: 16 MB word from $second to $third kB" "$((third - second < 65536))" 1
  cat "$work/in" >&9
  exec 9>&-
  wait
  expect "$t: rows around the 64 MB record" "$(cat "$work/out")" 4002
done
finish
