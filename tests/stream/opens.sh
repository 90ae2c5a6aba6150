#!/bin/bash
# A tool opens each JSON file of a model directory once, whatever asks for it: opens.sh BIN_DIR SHIM.
. "$(dirname "$0")/common.sh"
case $(ldd "$bin/embed") in *libasan* | *libtsan*) exit 0 ;; esac # they want to be loaded first

# once MODEL FILES TOOL [OPTION]...: FILES of the model are opened, and no JSON file of it twice
once() {
  local model=$models/$1 wanted=$2 name=$3 found
  shift 3
  rm -f "$work/opened"
  input 3 | SHIM_OPENS=$work/opened LD_PRELOAD=$shim "$name" "$@" >"$work/out" 2>"$work/err"
  expect "$name $*" $? 0
  found=$(grep "^$model/.*\.json$" "$work/opened" | sed "s|^$model/||" | sort)
  expect "$name $*: opened twice" "$(uniq -d <<<"$found")" ''
  expect "$name $*: $wanted are opened" "$(grep -cxE "$wanted" <<<"$found")" "$(tr -cd '|' <<<"$wanted|" | wc -c)"
}

config='config\.json' modules='modules\.json'
all="$config|$modules|config_sentence_transformers\.json|sentence_bert_config\.json|1_Pooling/config\.json|tokenizer_config\.json"
once st-mean "$all" embed -m "$models/st-mean"
once st-mean "$all" embed -m "$models/st-mean" --dtype int8
once st-mean "$all" bert-info "$models/st-mean"
once st-mean "$all" bert-info --check "$models/st-mean"
once st-mean "$all" nearest -m "$models/st-mean" --unique 0.9
once st-dense "$all|2_Dense/config\.json" embed -m "$models/st-dense"
once static-embedding "$modules" embed -m "$models/static-embedding"
once static-model2vec "$config|$modules" embed -m "$models/static-model2vec"
once static-model2vec "$config|$modules" bert-info --check "$models/static-model2vec"
once sparse-native "$config|$modules" embed --sparse -m "$models/sparse-native"
once colbert-native "$config|$modules|2_MultiVectorMask/config\.json" rank --maxsim -m "$models/colbert-native"
once colbert-stanford "$config" rank --maxsim -m "$models/colbert-stanford"
once sharded "$config|model\.safetensors\.index\.json" embed -m "$models/sharded"
once sharded "$config|model\.safetensors\.index\.json" bert-info --check "$models/sharded"
for tool in "${tools[@]}"; do
  [ "$tool" = embed ] && continue
  read -r _ model _ < <(grep -o -- '-m .*' <<<"${arguments[$tool]}")
  # shellcheck disable=SC2086
  once "${model#"$models"/}" "$config" "$tool" ${arguments[$tool]}
done
once marian "$config|vocab\.json" translate -m "$models/marian" --max-new-tokens 4
once marian "$config|vocab\.json" bert-info --check "$models/marian"
once tiny-heads "$config" bert-info --check "$models/tiny-heads"

# changed ADAPTER BASE TOOL [OPTION]...: no JSON file of the two directories is opened twice, nor the adapter's weights
changed() {
  local adapter=$models/$1 base=$models/$2 name=$3
  shift 3
  rm -f "$work/opened"
  input 3 | BERT_MODEL_PATH=$models SHIM_OPENS=$work/opened LD_PRELOAD=$shim "$name" "$@" >"$work/out" 2>"$work/err"
  expect "$name $*" $? 0
  grep -E "^($adapter/|$base/.*\.json$)" "$work/opened" | sort >"$work/found"
  expect "$name $*: opened twice" "$(uniq -d "$work/found")" ''
  expect "$name $*: the adapter's two files" "$(grep -cE "^$adapter/adapter_" "$work/found")" 2
}
changed lora-vectors tiny-bert embed -m "$models/lora-vectors"
changed lora-vectors tiny-bert embed -m "$models/tiny-bert" --adapter "$models/lora-vectors"
changed lora-classifier tiny-bert classify -m "$models/lora-classifier"
changed lora-st st-dense embed -m "$models/lora-st"
changed lora-classifier tiny-bert bert-info "$models/lora-classifier"

finish
