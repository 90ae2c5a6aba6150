#!/bin/bash
# run.sh BIN_DIR: every script of examples/ works, here with tiny models and the files of tests/man/files.
set -u
bin=$(cd "$1" && pwd) || exit 1
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset "${!BERT_@}" "${!HF_@}" "${!LC_@}" LANG
export PATH=$bin:$PATH HOME=$work LC_ALL=C.UTF-8
cp -r tests/man/files/. "$work"
failures=0 count=0
for script in examples/*.sh; do
  model=$(sed -n 's/^# test model: //p' "$script")
  arguments=$(sed -n 's/^# test arguments: //p' "$script")
  needs=$(sed -n 's/^# test needs: //p' "$script")
  if [ -n "$needs" ] && ! command -v "$needs" >/dev/null; then
    echo "not run, $needs is not installed: $script"
    continue
  fi
  count=$((count + 1))
  # shellcheck disable=SC2086
  (cd "$work" && BERT_MODEL=$root/tests/golden/${model:-tiny-bert} timeout 60 bash "$root/$script" $arguments) \
    >"$work/out" 2>"$work/err" </dev/null
  status=$?
  if [ $status -ne 0 ] || ! [ -s "$work/out" ] || [ "$(wc -l <"$script")" -ge 36 ]; then
    echo "FAIL $script: status $status, $(wc -l <"$work/out") lines: $(head -c 300 "$work/err")"
    failures=$((failures + 1))
  fi
done
echo "$count scripts, $failures failed"
[ $failures -eq 0 ] && [ $count -ge 5 ]
