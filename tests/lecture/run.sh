#!/bin/bash
# run.sh BIN_DIR [ROW | bert-lecture]...: runs the rows of rows/ (README.md says how they are written) and the commands of
# bert-lecture(7), and compares what they print with what stands there.
set -u
bin=$(cd "${1:?usage: run.sh BIN_DIR [ROW | bert-lecture]...}" && pwd) || exit 64
shift
chosen=" $* "
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset "${!BERT_@}" "${!HF_@}" "${!LC_@}" LANG
export PATH=$bin:$PATH HOME=$work LC_ALL=C.UTF-8
export LECTURE=$root/tests/lecture TESTS=$root/tests MODELS=$root/tests/golden EXAMPLES=$root/examples
export UNTRAINED=$work/untrained BACKWARDS=$work/backwards LIBRARY=${bin%/*}/lib
failures=0 commands=0 rows=0
fail() {
  echo "FAIL $where: $*"
  failures=$((failures + 1))
}

# The models that rows name: the published sizes and vocabularies without weights; BERT with two layers that has learned
# nothing; a Chinese model, for which a small one stands in if models/ has none; nets that learned to write up to 8
# letters backwards.
models=$work/.local/share/bert/models
small() { # VOCABULARY: a config of 2 layers of 64
  sed -e 's/"hidden_size": 768/"hidden_size": 64/; s/"intermediate_size": 3072/"intermediate_size": 128/' \
    -e 's/heads": 12/heads": 4/; s/layers": 12/layers": 2/; s/prob": 0.1/prob": 0/g; s/0.02/0.05/' \
    -e "s/21128/$(wc -l <"$1")/" "$models/bert-base-chinese/config.json"
}
make_models() {
  mkdir -p "$models" && cp -r "$LECTURE"/models/. "$models/" && xz -d "$models/bert-base-chinese/vocab.txt.xz" || return
  local vocabulary=$models/bert-base-chinese/vocab.txt name
  for name in bert-base-uncased bert-large-uncased; do cp models/default/vocab.txt "$models/$name/"; done
  for name in m2m100_418M=m2m100 bart-large-cnn=bart flan-t5-small=t5; do
    ln -s "$MODELS/${name#*=}-words" "$models/${name%=*}"
  done
  small "$vocabulary" >"$work/config.json"
  pretrain -q --no-nsp "$LECTURE/files/congcong.txt" --config "$work/config.json" --vocab "$vocabulary" --steps 1 \
    --lr 1e-30 --keep-checkpoints 0 --output "$UNTRAINED" >/dev/null || return
  if [ -d models/chinese ]; then
    ln -s "$root/models/chinese" "$models/chinese"
    return
  fi
  cat "$LECTURE"/files/*.txt "$LECTURE"/chinese/*.{tsv,conll} | train-vocab -q --min-frequency 1 --size 500 >"$work/vocab.txt"
  small "$work/vocab.txt" >"$work/config.json"
  "$LECTURE/chinese/make.sh" "$work/vocab.txt" "$work/config.json" "$models/chinese" >/dev/null
}

backwards() { # SEED NUMBER: texts of 1 to 8 letters, and their reverse
  awk -v seed="$1" -v n="$2" 'BEGIN { srand(seed)
    while (n-- > 0) { s = r = ""
      for (i = int(rand() * 8); i >= 0; --i) { c = substr("abcde", 1 + int(rand() * 5), 1); s = s c; r = c r }
      print s "\t" r } }'
}
make_backwards() {
  mkdir "$BACKWARDS" && backwards 1 3000 >"$BACKWARDS/train" && backwards 2 200 >"$BACKWARDS/test" || return
  local options=(-q --train "$BACKWARDS/train" --hidden 32 --dropout 0 --steps 500 --keep-checkpoints 0) attention
  train-seq2seq "${options[@]}" --lr 3e-3 --output "$BACKWARDS/transformer" >/dev/null || return
  for attention in none dot additive; do
    train-seq2seq "${options[@]}" --lr 5e-3 --net gru --attention $attention --output "$BACKWARDS/$attention" >/dev/null || return
  done
}

# fresh: an empty directory with the files that rows and pages use.
fresh() { rm -rf "$work/here" && mkdir "$work/here" && cp -r "$TESTS"/man/files/. "$LECTURE"/files/. "$work/here/"; }


# run COMMAND: leaves $work/out, $work/err and $status.
run() {
  commands=$((commands + 1))
  (cd "$work/here" && timeout 120 bash -o pipefail -c "$1") >"$work/out" 2>"$work/err" </dev/null
  status=$?
  [ $status -ne 141 ] || status=0 # a reader such as head has seen enough
}
matches() { # CHECK FILE
  case $1 in
    '~ '*) grep -qE -e "${1:2}" "$2" ;;
    '? '*) awk -F'\t' "${1:2}" "$2" >/dev/null ;;
  esac
}

# A row's command, what it must print, checks of that, its status, what it must say on standard error.
begin() { command=$1 checks=() want_status=0 complaints=() within='' && : >"$work/wanted"; }
finish() {
  [ -n "$command" ] || return
  local where="$where: '$command'" check
  run "$command"
  [ $status -eq "$want_status" ] || fail "status $status, wants $want_status: $(head -c 300 "$work/err")"
  [ -s "$work/wanted" ] || [ $((${#checks[@]} + ${#complaints[@]})) -gt 0 ] || [ "${where%%:*}" = bert-lecture ] ||
    fail "nothing says what it must print"
  if [ -s "$work/wanted" ]; then
    [ "${where%%:*}" != bert-lecture ] || sed -i '/^$/d' "$work/out" # empty lines of output do not show on a page
    awk -v wanted="$work/wanted" -v within="$within" -f "$LECTURE/same.awk" "$work/out" >"$work/diff" || fail "$(cat "$work/diff")"
  fi
  for check in "${checks[@]}"; do
    matches "$check" "$work/out" || fail "not so: $check: $(head -n 3 "$work/out" | cut -c 1-200)"
    ! matches "$check" /dev/null || fail "also holds if nothing is printed: $check"
  done
  for check in "${complaints[@]}"; do
    grep -qE -e "$check" "$work/err" || fail "wants '$check', says $(head -c 300 "$work/err")"
  done
}
there() { # PATH, or PROGRAM WORD: is it there, does the program's --help have this word?
  [ -e "$root/$1" ] || { "$1" --help 2>/dev/null | grep -qwe "${2-}"; }
}
run_rows() { # FILE
  local line skip=yes
  begin ''
  while IFS= read -r line; do
    case $line in
      'A0 '*) where=bert-lecture skip=no && rm -rf "$work/here" && mkdir "$work/here" ;;
      [A-E][0-9]*)
        finish && begin ''
        where=${line%% *} skip=no
        [ "$chosen" = '  ' ] || [[ $chosen == *" $where "* ]] || skip=yes
        [ $skip = yes ] || { rows=$((rows + 1)) && fresh; }
        ;;
      'needs '*) there ${line#needs } || skip=yes ;;
      '$ '*) [ $skip = yes ] || { finish; begin "${line:2}"; } ;;
      '  '*) command+=${command:+$'\n'$line} ;;
      '> '* | '>') printf '%s\n' "${line:2}" >>"$work/wanted" ;;
      '~ '* | '? '*) checks+=("$line") ;;
      '! '*) complaints+=("${line:2}") ;;
      'status '*) want_status=${line#* } ;;
      'within '*) within=${line#* } ;;
      'see '* | 'prose '* | 'note '* | '#'* | '') ;;
      *) fail "no such line: $line" ;;
    esac
  done <"$1"
  finish && begin ''
}

# page FILE: the commands of a page as it is shown, written as rows are. A line further in goes on with the command,
# other lines before the next command are what it prints.
page() {
  echo "A0 bert-lecture"
  mandoc -T utf8 "$1" | sed 's/.\x08//g; s/\x1b\[[0-9;]*m//g' | awk '
    { match($0, /^ */) }
    /^ +\$ / { inside = RLENGTH; print substr($0, inside + 1); next }
    inside && /[^ ]/ && RLENGTH >= inside { print (RLENGTH > inside ? "  " : "> ") substr($0, inside + 1); next }
    { inside = 0 }'
}

where=models
make_models || fail "cannot be made"
make_backwards || fail "cannot be made: nets that write backwards"
for file in "$LECTURE"/rows/[A-E]; do run_rows "$file"; done
if ! command -v mandoc >/dev/null; then
  echo "not run, mandoc is not installed: bert-lecture(7)"
elif [ "$chosen" = '  ' ] || [[ $chosen == *' bert-lecture '* ]]; then
  page man/bert-lecture.7 >"$work/page"
  run_rows "$work/page"
fi
echo "$rows rows, $commands commands, $failures failures"
[ $failures -eq 0 ]
