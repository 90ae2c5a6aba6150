#!/usr/bin/env bash
# A day's load in small: LINES lines through four tools in a pipeline, with one thread each and then with two.
#
#     tests/torture/day.sh BIN [LINES]
#
# The rows must be the same bytes both times, one for each line, and no tool may have more memory at the end than after
# the first tenth of the time, at least ten seconds, but for 2 MB. The models are small: they are not what is tried.
# Prints what it saw.
set -euo pipefail
bin=$(realpath "$1") lines=${2:-5000000}
here=$(dirname "$(realpath "$0")")
golden=$here/../golden texts=$here/../../examples/texts
export PATH=$bin:$PATH LC_ALL=C.UTF-8
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Lines of real texts, each different.
text() {
  cat "$texts"/{corpus,story,reviews}.txt | awk -v n="$lines" '
    NF > 3 {gsub(/\t/, " "); line[k++] = $0}
    END {for (i = 0; i < n; ++i) print line[i % k], int(i / k)}'
}

run() {
  text | mlm-mask -q -m "$golden/tiny-bert" -j "$1" | mlm-fill -q -m "$golden/tiny-bert" -j "$1" |
    classify -q -m "$golden/tiny-classifier" -j "$1" | tokenize -q -f 3 -m "$golden/tiny-bert" -j "$1" |
    tee >(wc -l >"$work/count.$1") | sha256sum >"$work/sum.$1"
}

# A line for each second: the tools' memory in kB, by their names.
watch() {
  while kill -0 "$1" 2>/dev/null; do
    ps -o comm=,rss= --ppid "$1" | awk '$1 ~ /^(mlm-|classify|tokenize)/ {printf "%s %s ", $1, $2} END {print ""}'
    sleep 1
  done
}

for jobs in 1 2; do
  begin=$SECONDS
  run "$jobs" &
  watch $! >"$work/memory"
  wait $!
  awk -v jobs="$jobs" -v seconds=$((SECONDS - begin)) '
    NF == 8 {for (i = 1; i < NF; i += 2) seen[++n[$i], $i] = $(i + 1)}
    END {
      for (tool in n) {
        tenth = n[tool] > 100 ? int(n[tool] / 10) : 10  # a tool has begun after ten seconds
        early = late = 0
        for (i = 1; i <= n[tool]; ++i) {
          if (i <= tenth) early = seen[i, tool] > early ? seen[i, tool] : early
          late = seen[i, tool] > late ? seen[i, tool] : late
        }
        printf "%s -j %d: %d MB after a tenth, %d MB at most in %d s\n", tool, jobs, early / 1024, late / 1024, seconds
        if (late > early + 2048) {print tool " grows"; bad = 1}
      }
      exit bad
    }' "$work/memory"
done
[[ $(<"$work/count.1") == "$lines" ]] || { echo "found $(<"$work/count.1") rows, wants $lines"; exit 1; }
cmp "$work/sum.1" "$work/sum.2"
echo "$lines lines, the same bytes with one thread and with two"
