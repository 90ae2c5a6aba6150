#!/bin/bash
# An output that is full, closed, limited or no longer read (S04-S07, S23), inputs that are missing or odd (S01, S19, S22).
. "$(dirname "$0")/common.sh"
input 400 >"$work/in"
endless() { while cat "$work/in"; do :; done 2>/dev/null; }

for t in "${tools[@]}"; do
  for j in 1 4; do
    # Endless input: the fault must end the run within a buffer, not at the end of the input.
    timeout 60 bash -c 'exec "$0" "$@" >/dev/full' "$t" ${arguments[$t]} -j $j < <(endless) 2>"$work/err"
    expect "$t -j $j /dev/full: status" $? 74
    expect "$t -j $j /dev/full: message" "$(cat "$work/err")" "$t: stdout: write error: No space left on device"

    timeout 60 "$t" ${arguments[$t]} -j $j < <(endless) 2>"$work/err" >&-
    expect "$t -j $j >&-: status" $? 74
    expect "$t -j $j >&-: message" "$(cat "$work/err")" "$t: stdout: write error: Bad file descriptor"

    endless | timeout 60 "$t" ${arguments[$t]} -j $j 2>"$work/err" | head -1 >"$work/out"
    expect "$t -j $j | head: status" "${PIPESTATUS[1]}" 141
    expect "$t -j $j | head: stderr" "$(cat "$work/err")" ""
    expect "$t -j $j | head: rows" "$(wc -l <"$work/out")" 1

    # The parent ignores SIGPIPE, as Python does.
    (
      trap '' PIPE
      timeout 60 "$t" ${arguments[$t]} -j $j < <(endless) 2>"$work/err"
      echo $? >"$work/status"
    ) | head -1 >/dev/null
    expect "$t -j $j SIGPIPE ignored: status" "$(cat "$work/status")" 74
    expect "$t -j $j SIGPIPE ignored: message" "$(cat "$work/err")" "$t: stdout: write error: Broken pipe"

    (ulimit -f 1 && tool "$t" -j $j <"$work/in" >"$work/out") 2>"$work/err"
    expect "$t -j $j file limit: status" $? 74
    expect "$t -j $j file limit: message" "$(cat "$work/err")" "$t: stdout: write error: File too large"

    # Nothing to write: a closed output is fine; a closed stdin is not.
    tool "$t" -j $j </dev/null >&- 2>"$work/err"
    expect "$t -j $j no input, >&-" "$? $(cat "$work/err")" "0 "
    tool "$t" -j $j <&- >"$work/out" 2>"$work/err"
    expect "$t -j $j <&-" "$? $(cat "$work/err")" "74 $t: -: record 1: read error: Bad file descriptor"
    tool "$t" -j $j <"$work/in" >"$work/want" 2>/dev/null
    tool "$t" -j $j <"$work/in" >"$work/out" 2>&-
    expect "$t -j $j 2>&-" $? 0
    equal "$t -j $j 2>&-" "$work/out" "$work/want"

    # One file of three is missing, one is a directory.
    tool "$t" -j $j "$work/in" "$work/none" - . "$work/in" <"$work/in" >"$work/out" 2>"$work/err"
    expect "$t -j $j missing file: status" $? 66
    missing="$t: $work/none: cannot open: No such file or directory" folder="is a directory, wants a file of records"
    if "$t" --help | grep -q -- --recursive; then
      expect "$t -j $j missing file: message" "$(cat "$work/err")" "$t: .: is a folder; -r reads it"$'\n'"$missing"
    else
      expect "$t -j $j missing file: message" "$(cat "$work/err")" "$missing"$'\n'"$t: .: $folder"
    fi
    equal "$t -j $j missing file" "$work/out" <(cat "$work/want" "$work/want" "$work/want")
    cp "$work/in" "$work/[a,b]" && cp "$work/in" "$work/-x"
    (cd "$work" && tool "$t" -j $j -- -x "[a,b]") >"$work/out" 2>"$work/err"
    expect "$t -j $j -- -x [a,b]: status" "$? $(cat "$work/err")" "0 "
    equal "$t -j $j -- -x [a,b]" "$work/out" <(cat "$work/want" "$work/want")
  done
  "$t" --help >&- 2>"$work/err"
  expect "$t --help >&-" "$? $(cat "$work/err")" "74 $t: stdout: write error: Bad file descriptor"
  "$t" --version >/dev/full 2>"$work/err"
  expect "$t --version >/dev/full" "$? $(cat "$work/err")" "74 $t: stdout: write error: No space left on device"
done
finish
