#!/bin/bash
# Memory does not grow with the input, only with the longest record (S12, T12), and no row waits for the end.
. "$(dirname "$0")/common.sh"
input 2000 >"$work/in"

# start TOOL OPTION...: reads descriptor 9, writes $work/out
start() {
  rm -f "$work/fifo"
  mkfifo "$work/fifo"
  # shellcheck disable=SC2086
  "$1" ${arguments[$1]} "${@:2}" <"$work/fifo" >"$work/out" 2>"$work/err" &
  pid=$!
  exec 9>"$work/fifo"
}
# peak ROWS: kilobytes at most, once that many rows are out
peak() {
  local i
  for ((i = 0; i < 1200; ++i)); do
    [ "$(wc -l <"$work/out")" -ge "$1" ] && break
    kill -0 $pid || break
    sleep 0.05
  done
  awk '/^VmHWM/ { print $2 }' "/proc/$pid/status"
}

for t in "${tools[@]}"; do
  for j in 1 4; do
    start "$t" -j $j
    for _ in {1..3}; do cat "$work/in"; done >&9
    first=$(peak 6000)
    for _ in {1..15}; do cat "$work/in"; done >&9
    second=$(peak 36000)
    exec 9>&-
    wait
    expect "$t -j $j: rows" "$(wc -l <"$work/out")" 36000
    expect "$t -j $j: grew by less than 8 MB from $first to $second kB" "$((second - first < 8192))" 1
  done

  # A record of 64 MB, and one word of 16 MB.
  start "$t" -j 4
  cat "$work/in" >&9
  first=$(peak 2000)
  (head -c $((64 << 20)) /dev/zero | tr '\0' ' '; printf '\tx\n') >&9
  second=$(peak 2001)
  # 1 MB more for what threads and allocator take besides.
  expect "$t: 64 MB record from $first to $second kB: at most 4 x" "$((second - first < 4 * 65536 + 1024))" 1
  (head -c $((16 << 20)) /dev/zero | tr '\0' 'a'; printf '\tx\n') >&9
  third=$(peak 2002)
  expect "$t: 16 MB word from $second to $third kB" "$((third - second < 65536))" 1
  cat "$work/in" >&9
  exec 9>&-
  wait
  expect "$t: rows around the 64 MB record" "$(wc -l <"$work/out")" 4002
done

# A line of 16 MB, four bytes a token, with the truth about each mask.
start mlm-mask -j 1 --labels
cat "$work/in" >&9
first=$(peak 2000)
(yes 'cat' | tr '\n' ' ' | head -c $((16 << 20)); echo) >&9
second=$(peak 2001)
exec 9>&-
wait
expect "mlm-mask --labels: 16 MB of words from $first to $second kB: at most 20 x" "$((second - first < 20 * 16384))" 1
finish
