#!/bin/bash
# cost.sh BIN_DIR FILE [TOOL [TOOL OPTIONS]]: what a million lines like those of FILE cost, in each precision, with one
# thread and with all. Default: classify with the default model.
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^# \(cost.sh .*\)/usage: \1/p' "$0" >&2; exit 64; }
export PATH=$1:$PATH
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
file=$2
shift 2
[ $# -gt 0 ] || set -- classify
lines=$(wc -l <"$file")
tokens=$(tokenize --count "$file" | awk '{ n += $1 } END { print n }')
awk -v lines="$lines" -v tokens="$tokens" 'BEGIN { printf "%d lines of %.1f tokens\n", lines, tokens / lines }'
printf '%s\t%s\t%s\t%s\t%s\n' dtype threads 'tokens/s' 'tokens/CPU s' 'CPU hours/million lines'
TIMEFORMAT='%R %U %S'
for dtype in f32 bf16 int8; do
  for threads in 1 $(nproc); do
    { time "$@" -q --dtype $dtype -j "$threads" "$file" >/dev/null; } 2>&1 |
      awk -v tokens="$tokens" -v lines="$lines" -v name="$dtype	$threads" '{ cpu = $2 + $3
        printf "%s\t%.0f\t%.0f\t%.2f\n", name, tokens / $1, tokens / cpu, cpu / lines * 1e6 / 3600 }'
  done
done
