#!/bin/bash
# kill_points.sh BIN_DIR [EVERY]: ends a training run by SIGKILL at every EVERY-th (1) of its system calls that write, one kind
# of call after the other, and checks that what is left is whole and that the run goes on to the same bytes. Calls that give
# and take names are all tried, whatever EVERY is. Needs strace (else 77).
set -u
bin=$(cd "${1:?usage: kill_points.sh BIN_DIR [EVERY]}" && pwd) || exit 64
every=${2:-1}
cd "$(dirname "$0")/.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" # which traces itself
names=rename,renameat2,unlinkat,mkdir,rmdir
calls=$names,openat,write,fsync,close,ftruncate,pwrite64,unlink
strace -qq -o /dev/null true 2>/dev/null || { echo "no strace that can trace"; exit 77; }
printf 'the movie was good\tpos\nthe book was bad\tneg\na great play\tpos\nthe worst music\tneg\n' >"$work/train"
train() { # DIRECTORY, then what to run it under
  "${@:2}" "$bin/finetune" -q -m tests/golden/tiny-classifier --train "$work/train" --dev "$work/train" \
    --output "$1" --epochs 3 --batch-size 2 -j 1 --resume >/dev/null
}
train "$work/whole" strace -qq -f -e trace=$calls -o "$work/calls" || exit 1

# What goes by the name of a file was brought to the disk before, and its directory after.
awk '/ fsync\(/ { synced = 1 } / rename(at2)?\(.*= 0/ { if (!synced) bad = 1; waiting = 1; synced = 0; next }
  waiting && / fsync\(/ { waiting = 0 } END { exit bad || waiting }' "$work/calls" ||
  { echo "FAIL: a rename without fsync before or after"; exit 1; }

points=0 killed=0 failures=0
complain() { echo "FAIL: at $call $n: $*"; failures=$((failures + 1)); }
for call in ${calls//,/ }; do
  total=$(grep -c " $call(" "$work/calls")
  step=$every
  [[ ,$names, == *,$call,* ]] && step=1
  for ((n = 1; n <= total; n += step)); do
    points=$((points + 1))
    rm -rf "$work/cut"
    train "$work/cut" strace -qq -f -e trace=$call -e inject=$call:signal=KILL:when=$n -o /dev/null 2>/dev/null
    [ $? -eq 137 ] && killed=$((killed + 1))
    for model in "$work/cut" "$work/cut"/checkpoints/step-*[0-9]; do
      case $model in *.tmp.*) continue ;; esac # no name of a checkpoint
      if [[ $model == */step-* && -d $model ]]; then # whole or not there
        for file in state.json model.safetensors optimizer.safetensors config.json vocab.txt; do
          [ -f "$model/$file" ] || complain "$model lacks $file"
        done
      fi
      [ -f "$model/model.safetensors" ] || continue
      "$bin/bert-info" --check "$model" >/dev/null 2>&1 || complain "$model is no whole model"
    done
    train "$work/cut" env
    for file in model.safetensors loss.tsv config.json training.json; do
      cmp "$work/whole/$file" "$work/cut/$file" || complain "$file differs"
    done
    [ ! -e "$work/cut/checkpoints" ] || complain "checkpoints stay"
    [ -z "$(find "$work/cut" -name '*tmp*' -o -name .lock)" ] || complain "unfinished files stay"
  done
done
echo "$points points, $killed runs killed, $failures failures"
[ $failures -eq 0 ]
