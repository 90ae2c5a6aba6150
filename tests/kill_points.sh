#!/bin/bash
# kill_points.sh BIN_DIR [EVERY [ROW]]: ends training runs by SIGKILL at every EVERY-th (1) of their system calls that write,
# one kind of call after the other, and checks that what is left is whole and that the run goes on to the same bytes. Calls
# that give and take names are all tried in the first run, whatever EVERY is; in the others, which are one for each knob that
# a checkpoint must carry, every 12th then. ROW is the name of one run. Needs strace (else 77).
set -u
bin=$(cd "${1:?usage: kill_points.sh BIN_DIR [EVERY [ROW]]}" && pwd) || exit 64
every=${2:-1} wanted=${3:-}
cd "$(dirname "$0")/golden" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" # which traces itself
names=rename,renameat2,unlinkat,mkdir,rmdir
calls=$names,openat,write,fsync,close,ftruncate,pwrite64,unlink
strace -qq -o /dev/null true 2>/dev/null || { echo "no strace that can trace"; exit 77; }
printf '%s\t%s\n' 'the movie was good' pos 'the book was bad' neg 'a great play' pos 'the worst music' neg >"$work/train"
printf '%s\t%s\n' 'the movie was good' 'a good movie' 'the cat sat' 'the dog sat' 'a bad book' 'the book was bad' >"$work/pairs"
(sed 's/$/\t1/' "$work/pairs"; sed 's/\t.*/\tone two\t0/' "$work/pairs") >"$work/ranks"
printf '%s\n' 'the O' 'movie B-X' '' 'a O' 'cat B-X' '' >"$work/words"
printf 'which movie was good\tthe movie was good\tthe movie\t0\nwho sat\tthe cat sat\tthe cat\t0\n' >"$work/questions"
cut -f 1 "$work/pairs" >"$work/texts"
ln -s "$PWD" "$work/golden"
"$bin/finetune" -q -m tiny-bert --train "$work/train" --output "$work/taught" --epochs 1 -j 1 >/dev/null || exit 1

train() { # DIRECTORY, then what to run it under; $model and $options say what
  # shellcheck disable=SC2086 # options of several words
  (cd "$work" && "${@:2}" "$bin/finetune" -q -m "golden/$model" $options --output "$1" --epochs 3 --batch-size 2 -j 1 \
    --resume >/dev/null)
}

complain() { echo "FAIL: $row: at $call $n: $*"; failures=$((failures + 1)); }

check_left() { # after a kill: each checkpoint is whole or not there, and so is the model
  local directory file
  for directory in "$work/cut" "$work/cut"/checkpoints/step-*[0-9] "$work/cut"/seed-*; do
    case $directory in *.tmp.*) continue ;; esac # no name of a checkpoint
    if [[ $directory == */step-* && -d $directory ]]; then
      for file in state.json model.safetensors optimizer.safetensors config.json vocab.txt; do
        [ -f "$directory/$file" ] || complain "$directory lacks $file"
      done
    fi
    [ -f "$directory/model.safetensors" ] || [ -f "$directory/adapter_model.safetensors" ] || continue
    "$bin/bert-info" --check "$directory" >/dev/null 2>&1 || complain "$directory is no whole model"
  done
}

kill_all() { # the runs of one row
  local call total step first=$1
  rm -rf "$work/whole"
  train "$work/whole" strace -qq -f -e trace=$calls -o "$work/calls" || { echo "FAIL: $row"; failures=$((failures + 1)); return; }
  # What goes by the name of a file was brought to the disk before, and its directory after.
  awk '/ fsync\(/ { synced = 1 } / rename(at2)?\(.*= 0/ { if (!synced) bad = 1; waiting = 1; synced = 0; next }
    waiting && / fsync\(/ { waiting = 0 } END { exit bad || waiting }' "$work/calls" ||
    { echo "FAIL: $row: a rename without fsync before or after"; failures=$((failures + 1)); }
  for call in ${calls//,/ }; do
    total=$(grep -c " $call(" "$work/calls")
    step=$every
    [[ ,$names, == *,$call,* ]] && step=$((first || every < 12 ? 1 : 12))
    for ((n = 1; n <= total; n += step)); do
      points=$((points + 1))
      rm -rf "$work/cut"
      train "$work/cut" strace -qq -f -e trace=$call -e inject=$call:signal=KILL:when=$n -o /dev/null 2>/dev/null
      [ $? -eq 137 ] && killed=$((killed + 1))
      check_left
      train "$work/cut" env || complain "does not go on"
      (cd "$work/whole" && find . -type f) | while read -r file; do
        cmp "$work/whole/$file" "$work/cut/$file" || echo "$file"
      done >"$work/differ" 2>&1
      [ ! -s "$work/differ" ] || complain "$(cat "$work/differ")"
      [ ! -e "$work/cut/checkpoints" ] || complain "checkpoints stay"
      [ -z "$(find "$work/cut" -name '*tmp*' -o -name .lock)" ] || complain "unfinished files stay: $(find "$work/cut" -name "*tmp*" -o -name .lock)"
    done
  done
}

points=0 killed=0 failures=0 first=1
while read -r row model options; do
  [ -z "$wanted" ] || [ "$wanted" = "$row" ] || continue
  before=$points
  kill_all $first
  echo "$row: $((points - before)) points"
  first=0
done <<'TABLE'
plain tiny-classifier --train train --dev train
ema tiny-bert --train train --dev train --ema .9
accumulate tiny-bert --train train --dev train --accumulate 2
teacher tiny-bert --train train --dev train --teacher taught
lora tiny-bert --train train --dev train --lora 2
lora-merged tiny-bert --train train --lora 2 --merge
eval-steps tiny-bert --train train --dev train --eval-steps 2 --metric mcc --patience 2
dump tiny-bert --train train --dev train --dump dumped
head tiny-bert --train train --dev train --head new
seeds tiny-bert --train train --dev train --seeds 2
bilstm tiny-bert --task ner --train words --dev words --net bilstm --lstm-size 4
words tiny-ner --task ner --train words --dev words --label-smoothing .1
qa tiny-qa --task qa --train questions --dev questions
few-shot st-mean --few-shot --train train --dev train
few-shot-last st-mean --few-shot --train train --ema .9
embed st-mean --task embed --train pairs --dev pairs
embed-dense st-dense --task embed --train pairs --matryoshka 4,2 --symmetric
embed-teacher st-mean --task embed --train texts --teacher golden/st-cls
maxsim tiny-bert --task embed --maxsim --dense 8 --train pairs --dev pairs
rank tiny-bert --task rank --train ranks --dev ranks
rank-lists tiny-bert --task rank --loss listnet --train ranks
mobile mobilebert-classifier --train train --dev train
TABLE
echo "$points points, $killed runs killed, $failures failures"
[ $failures -eq 0 ]
