#!/bin/bash
# run.sh BIN_DIR: every script of examples/ works, here with tiny models and the files of tests/man/files, which it may
# also get through pipes, under names that look like options, and with a line feed and what awk takes for an assignment;
# without arguments it prints its usage.
set -u
bin=$(cd "$1" && pwd) || exit 1
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset "${!BERT_@}" "${!HF_@}" "${!LC_@}" LANG
export PATH=$bin:$PATH HOME=$work LC_ALL=C.UTF-8
failures=0 count=0
odd=$'a=b \'"*\n' # the names of its files begin with this
fail() {
  echo "FAIL $*"
  failures=$((failures + 1))
}
for script in examples/*.sh; do
  model=$(sed -n 's/^# test model: //p' "$script")
  arguments=$(sed -n 's/^# test arguments: //p' "$script")
  needs=$(sed -n 's/^# test needs: //p' "$script")
  if [ -n "$needs" ] && ! command -v "$needs" >/dev/null; then
    echo "not run, $needs is not installed: $script"
    continue
  fi
  count=$((count + 1))
  [ -x "$script" ] || fail "$script: is not executable"
  "$script" >"$work/out" 2>&1 </dev/null
  status=$?
  [ $status -eq 64 ] && grep -q "^usage: $(basename "$script")" "$work/out" ||
    fail "$script: without arguments: status $status: $(head -c 300 "$work/out")"
  [ "$(wc -l <"$script")" -lt 40 ] || fail "$script: $(wc -l <"$script") lines"
  grep -q '^# test elsewhere: ' "$script" && continue
  for way in files pipes options odd; do
    rm -rf "$work/here" && cp -r tests/man/files "$work/here" && cd "$work/here" || exit 1
    given=()
    for argument in $arguments; do
      if [ $way = pipes ] && [ -f "$argument" ]; then
        exec {pipe}< <(cat "$argument")
        argument=/dev/fd/$pipe
      elif [ $way = options ] && [ -e "$argument" ]; then
        cp -r -- "$argument" "-$argument" && argument=-$argument
      elif [ $way = odd ] && [ -e "$argument" ]; then
        cp -r -- "$argument" "$odd$argument" && argument=$odd$argument
      fi
      given+=("$argument")
    done
    BERT_MODEL=$root/tests/golden/${model:-tiny-bert} timeout 60 "$root/$script" "${given[@]}" \
      >"$work/$way" 2>"$work/err" </dev/null
    status=$?
    cd "$root" || exit 1
    [ $status -eq 0 ] && [ -s "$work/$way" ] ||
      fail "$script: $way: status $status, $(wc -l <"$work/$way") lines: $(head -c 300 "$work/err")"
  done
  expects=$(sed -n 's/^# test expects: //p' "$script")
  grep -qP "$expects" "$work/files" || fail "$script: no row like $expects: $(head -n 3 "$work/files")"
  # But for the names of files, the same.
  for way in pipes options odd; do
    sed -E 's/a=b '"'"'"\*\\x0a//g; s/(\/dev\/fd\/[0-9]+|-?(text|reviews).txt)/FILE/g' "$work/$way" |
      diff <(sed -E 's/(text|reviews).txt/FILE/g' "$work/files") - >"$work/diff" ||
      fail "$script: other rows from $way: $(head -n 4 "$work/diff")"
  done
done
echo "$count scripts, $failures failed"
[ $failures -eq 0 ] && [ $count -ge 5 ]
