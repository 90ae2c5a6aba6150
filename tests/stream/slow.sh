#!/bin/bash
# A co-process answers each line before it gets the next, also while its threads run (S11).
. "$(dirname "$0")/common.sh"
input 600 >"$work/in"
for t in "${tools[@]}"; do
  tool "$t" <"$work/in" >"$work/want" 2>/dev/null
  for j in 1 4; do
    coproc line_tool { tool "$t" -j $j 2>/dev/null; }
    exec 8<&"${line_tool[0]}" 9>&"${line_tool[1]}"
    talk() { # FROM TO
      local i line row
      for ((i = $1; i <= $2; ++i)); do
        line=$(sed -n "${i}p" "$work/in")
        printf '%s\n' "$line" >&9
        IFS= read -r -t 20 row <&8 || { echo "no answer to line $i"; return; }
        printf '%s\n' "$row"
      done
    }
    talk 1 5 >"$work/out"
    sed -n 6,595p "$work/in" >&9 # a burst: the threads start
    for ((i = 6; i <= 595; ++i)); do
      IFS= read -r -t 20 row <&8 || { echo "no answer to line $i"; break; }
      printf '%s\n' "$row"
    done >>"$work/out"
    talk 596 600 >>"$work/out"
    exec 9>&- 8<&-
    eval "exec ${line_tool[1]}>&-"
    wait $line_tool_PID
    expect "$t -j $j co-process: status" $? 0
    equal "$t -j $j co-process" "$work/out" "$work/want"
  done
done
finish
