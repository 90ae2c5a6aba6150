#!/bin/bash
# same.sh BIN NUMBERS: for every model directory of tests/golden and every task that a tool does with it, the numbers of
# the C API, of bert_stream and of the tool are the same. Some directories are there again with prompts, truncate_dim,
# Dense, other poolings and a tokenizer that cuts at the left.
set -eu
bin=$(cd "$1" && pwd) numbers=$2
cd "$(dirname "$0")/../.."
golden=$PWD/tests/golden
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAIL $*"
  exit 1
}
checks=0

same() { # WHAT: $work/tool and $work/own
  checks=$((checks + 1))
  cmp -s "$work/tool" "$work/own" || fail "$1: the tool has '$(head -n 2 "$work/tool" | head -c 300)', the API '$(head -n 2 "$work/own" | head -c 300)'"
}
# own MODEL TASK HEAD THREADS WHAT <LINES
own() { "$numbers" "$@" >"$work/own" 2>"$work/err" || fail "numbers $*: status $?, $(cat "$work/err")"; }
tool() { "$bin/$1" --quiet "${@:2}" 2>/dev/null; }

long=$(printf 'the cat sat on the mat %.0s' {1..120})
printf '%s\n' 'the cat sat' 'a dog ran' '' 'the mat' "$long" >"$work/texts"
head -n 4 "$work/texts" >"$work/short"
for mask in '[MASK]' '<mask>'; do # as the vocabulary spells it
  printf '%s\n' "the $mask sat" "$mask dog $mask" "a $mask $long"
done >"$work/masks"
printf '%s\t%s\n' 'the cat sat' 'a dog ran' 'the mat' 'the cat' "$long" 'the mat' >"$work/pairs"
printf '%s\t%s\n' 'the cat' 'the cat sat on the mat' mat "$long" >"$work/questions"

# The numbers of a task, as the tool writes them: the same lines, or floats, as those of the API.
tool_numbers() { # TASK ARGUMENTS.. <LINES
  local task=$1 all=--all
  shift
  case $* in *regression*) all=-o ;; esac # values have no labels
  case $task in
    '') tool embed --format f32 "$@" ;;
    text-classification) tool classify -o $all "$@" | awk -F '\t' -v OFS='\t' '{ for (i = 1; i <= NF; ++i) $i = sprintf("%.6g", $i); print }' ;;
    token-classification)
      tool ner --json --scores --aggregation none "$@" | grep -o '"scores":\[[^]]*\]' | grep -o '"score":[^,}]*' | cut -d : -f 2 |
        "$numbers" floats
      ;;
    question-answering) tool qa -k 3 -o "$@" | cut -f 2- ;;
    fill-mask) tool mlm-fill -k 3 "$@" | cut -f 1,4,5 | sort -s -n ;;
    next-sentence-prediction) tool nsp-score -o "$@" ;;
  esac
}
tool_rows() { # TASK ARGUMENTS.. <LINES
  local task=$1
  shift
  case $task in
    '') tool embed "$@" ;;
    text-classification) tool classify -o "$@" ;;
    token-classification) tool ner -o "$@" ;;
    question-answering) tool qa -o "$@" ;;
    fill-mask) tool mlm-fill "$@" ;;
    next-sentence-prediction) tool nsp-score -o "$@" ;;
  esac
}

# check MODEL TASK HEAD LINES ROW_LINES: false if the tool does not do that.
check() {
  local model=$1 task=$2 head=$3 threads
  local arguments=(-m "$model" ${head:+--head "$head"})
  tool_rows "$task" "${arguments[@]}" <"$5" >"$work/tool" || return 1
  own "$model" "$task" "$head" 2 rows <"$5"
  same "rows of $model, ${task:-vectors} $head"
  tool_numbers "$task" "${arguments[@]}" <"$4" >"$work/tool" || fail "$model ${task:-vectors}: rows, but no numbers"
  [ -s "$work/tool" ] || fail "$model ${task:-vectors}: no numbers"
  for threads in 1 2; do
    own "$model" "$task" "$head" "$threads" numbers <"$4"
    same "numbers of $model, ${task:-vectors} $head"
  done
}

# The directories again: what decides vectors besides the weights.
again() { # FROM NAME: a copy that may be changed
  cp -r "$golden/$1" "$work/$2"
  chmod -R u+w "$work/$2"
  made+=("$work/$2")
}
prompt() { # DIRECTORY TRUNCATE_DIM
  echo "{\"prompts\": {\"query\": \"the cat: \"}, \"default_prompt_name\": \"query\", \"truncate_dim\": $2}" \
    >"$1/config_sentence_transformers.json"
}
made=()
for name in st-dense st-mean st-cls st-lasttoken tiny-bert modernbert roberta-mlm static-model2vec static-embedding static-shared; do
  [ -d "$golden/$name" ] || continue
  again "$name" "$name-prompt" && prompt "$work/$name-prompt" 3
done
again st-mean st-left
sed -i '1s/{/{"truncation_side": "left", /' "$work/st-left/tokenizer_config.json"
for mode in cls_token mean_tokens max_tokens mean_sqrt_len_tokens weightedmean_tokens lasttoken; do
  for include in true false; do
    name=st-$mode-$include
    again st-mean "$name" && prompt "$work/$name" null
    echo "{\"word_embedding_dimension\": 16, \"pooling_mode_mean_tokens\": false, \"pooling_mode_$mode\": true,
           \"include_prompt\": $include}" >"$work/$name/1_Pooling/config.json"
  done
done
again st-mean st-two # two poolings side by side
echo '{"word_embedding_dimension": 16, "pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": true}' \
  >"$work/st-two/1_Pooling/config.json"

vectors=0 tasks=0
for model in "$golden"/*/ "${made[@]}"; do
  model=${model%/}
  [ -f "$model/config.json" ] || [ -f "$model/modules.json" ] || continue
  status=0
  tool embed -m "$model" <"$work/short" >/dev/null || status=$?
  if [ $status -eq 0 ]; then
    check "$model" '' '' "$work/texts" "$work/texts" || fail "$model: no vectors"
    vectors=$((vectors + 1))
  else # what embed refuses is refused with the same status
    for what in numbers rows; do
      found=0
      "$numbers" "$model" '' '' 1 $what <"$work/short" >/dev/null 2>&1 || found=$?
      [ $found -eq $status ] || fail "$what of $model: status $found, wants $status"
    done
  fi
  [[ $model == "$golden"/* ]] || continue
  check "$model" text-classification '' "$work/texts" "$work/texts" && tasks=$((tasks + 1))
  check "$model" token-classification '' "$work/short" "$work/texts" && tasks=$((tasks + 1))
  check "$model" question-answering '' "$work/questions" "$work/questions" && tasks=$((tasks + 1))
  check "$model" next-sentence-prediction '' "$work/pairs" "$work/pairs" && tasks=$((tasks + 1))
  check "$model" fill-mask '' "$work/masks" "$work/masks" && tasks=$((tasks + 1))
done
# Named heads.
for head in sentiment topic; do
  check "$golden/tiny-heads" text-classification $head "$work/texts" "$work/texts" || fail "no head $head"
done
check "$golden/tiny-heads" token-classification ner "$work/short" "$work/texts" || fail "no head ner"
check "$golden/tiny-heads" question-answering qa "$work/questions" "$work/questions" || fail "no head qa"
[ $vectors -gt 90 ] || fail "embed reads only $vectors directories"
[ $tasks -gt 40 ] || fail "the other tools read only $tasks directories"
echo "$checks comparisons, vectors of $vectors directories, $tasks other tasks"
