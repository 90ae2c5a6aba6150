#!/bin/bash
# library.sh PREFIX LIBRARY COMPILER [SANITIZERS]: the public face as it is installed: its headers, its symbols, its
# examples, and numbers that are those of the tools.
set -eu
prefix=$1 library=$2 compiler=$3 sanitize=${4-}
cd "$(dirname "$0")/../.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAIL $*"
  exit 1
}
lib=$(dirname "$library")
headers=$prefix/include/bert
flags="-Wall -Wextra -Werror ${sanitize:+-fsanitize=$sanitize}"
package() { PKG_CONFIG_PATH=$lib/pkgconfig pkg-config "$@" bertutils; }
[ "$(package --cflags | tr -d ' ')" = "-I$prefix/include" ] || fail "pkg-config --cflags: $(package --cflags)"
read -ra link < <(package --libs)
# The loader finds the library in a prefix of one's own.
[[ " ${link[*]} " == *" -Wl,-rpath,$lib "* ]] || fail "pkg-config --libs: ${link[*]}"
c() { # STANDARD FILE.c OUTPUT: as C
  # shellcheck disable=SC2086
  "${CC:-cc}" -std="$1" -pedantic $flags "-I$prefix/include" "$2" -o "$3" "${link[@]}" -lm -lpthread
}
cpp() { # STANDARD FILE.cpp OUTPUT
  # shellcheck disable=SC2086
  "$compiler" -std="$1" -pedantic $flags "-I$prefix/include" "$2" -o "$3" "${link[@]}"
}

# The headers of lib/include, and no other; each compiles and links alone.
installed=$(cd "$prefix/include" && find . -type f | sort)
wanted=$(cd lib/include && find . -type f | sort)
[ "$installed" = "$wanted" ] || fail "installed headers: $(diff <(echo "$wanted") <(echo "$installed"))"
for header in "$headers"/*.h; do
  name=$(basename "$header")
  printf '#include <bert/%s>\nint main() { return 0; }\n' "$name" >"$work/alone.cpp"
  cpp c++17 "$work/alone.cpp" "$work/alone"
  cpp c++20 "$work/alone.cpp" "$work/alone"
done
printf '#include <bert/bert.h>\nint main(void) { return bert_version() == 0; }\n' >"$work/alone.c"
c c99 "$work/alone.c" "$work/alone" && "$work/alone"
version=$("$prefix/bin/embed" --version | sed 's/.* //')

# The symbols: of the public version the functions that bert.h declares, each in bert(3) too; all others are private to
# this very build of the tools.
declared=$(tr '\n' ' ' <"$headers/bert.h" | grep -oE 'BERT_PUBLIC [^(;]*\(' | grep -oE 'bert_[a-z_]+\($' | tr -d '(' | sort)
count=$(grep -c '^BERT_PUBLIC ' "$headers/bert.h")
[ "$(wc -w <<<"$declared")" -eq "$count" ] || fail "bert.h declares $count functions, found: $declared"
symbols=$(nm -D --defined-only --with-symbol-versions "$library" | awk '$2 != "A" { sub("@@?", " ", $3); print $3 }')
exported=$(awk '$2 ~ /^BERT_[0-9.]+$/ { print $1 }' <<<"$symbols" | sort)
[ "$declared" = "$exported" ] || fail "bert.h and the symbols: $(diff <(echo "$declared") <(echo "$exported"))"
others=$(awk -v private="BERT_PRIVATE_$version" '$2 !~ /^BERT_[0-9.]+$/ && !($2 == private && $1 ~ /4bert/)' <<<"$symbols")
[ -z "$others" ] || fail "symbols that are neither public nor private: $(head -n 5 <<<"$others")"
for function in $declared; do
  grep -qE "^\.F[no] $function( |$)" man/bert.3 || fail "man/bert.3 does not describe $function"
done

# Examples: C and C++ say the same, and what the tools say.
models=$root/tests/golden
for source in examples/api/*.c; do
  name=$(basename "$source" .c)
  c c99 "$source" "$work/$name.c"
  cpp c++17 "examples/api/$name.cpp" "$work/$name.cpp"
done
both() { # WANTED PROGRAM ARGUMENTS...
  local wanted=$1 program=$2 language found
  shift 2
  for language in c cpp; do
    found=$("$work/$program.$language" "$@" <"$work/lines") || fail "$program.$language: status $?"
    [ "$found" = "$wanted" ] || fail "$program.$language: found '$found', wants '$wanted'"
  done
}
printf 'the cat sat\na dog ran\n\nthe mat\n' >"$work/lines"
sentence='the cat on the mat'
tools=$prefix/bin
like=$(sed "s/^/$sentence\t/" "$work/lines" | "$tools/embed" -m "$models/st-mean" --compare)
both "$(paste <(echo "$like") "$work/lines")" stream "$models/st-mean" "$sentence"
both "$(sed 1q <<<"$like")" vector "$models/st-mean" 'the cat sat' "$sentence"
text='the [MASK] sat on the [MASK]'
both "$(echo "$text" | "$tools/mlm-fill" -m "$models/tiny-bert" -k 5 | cut -f 2,4,5 | awk -F '\t' -v OFS='\t' '
  { print ($1 == 1 ? 2 : 6), $3, $2 }')" mask "$models/tiny-bert" "$text"
both "$(printf '0.669762 0.330238\t1.66048 2.66048\n0.19557 0.80443\t2.60886 3.60886\n1 0\t1 2')" attention
"$work/vector.c" "$work/none" a b 2>"$work/err" && fail "vector took a missing model"
grep -q '^vector: ' "$work/err" || fail "vector said: $(cat "$work/err")"

cpp c++17 examples/api/rnn-vs-attention.cpp "$work/rnn"
[ "$("$work/rnn" | awk -F '\t' '$4 > 0 && $2 > 0' | wc -l)" -eq 6 ] || fail "rnn-vs-attention: $("$work/rnn" | head -3)"

# The ten lines of bert(3), with the default model if there is one.
sed -n '/^\.Bd -literal/,/^\.Ed/p' man/bert.3 | sed '1d; $d; s/\\en/\\n/' >"$work/ten.cpp"
[ "$(wc -l <"$work/ten.cpp")" -le 11 ] || fail "bert(3) has a longer example: $(wc -l <"$work/ten.cpp") lines"
# shellcheck disable=SC2046
"$compiler" ${sanitize:+-fsanitize=$sanitize} "$work/ten.cpp" "-I$(package --variable=includedir)" "${link[@]}" -o "$work/ten"
found=$(BERT_MODEL=$models/st-mean "$work/ten")
wanted=$(printf 'a cat on a mat\tthe cat sat\n' | "$tools/embed" -m "$models/st-mean" --compare)
[ "$found" = "$wanted" ] || fail "the program of bert(3): found '$found', wants '$wanted'"

# Wrong arguments, threads.
c gnu99 tests/install/faults.c "$work/faults"
"$work/faults" "$models" >"$work/out" || fail "faults: $(cat "$work/out")"

# The numbers of a batch are those of the tools.
c c99 tests/install/numbers.c "$work/numbers"
same() { # MODEL TASK LINES TOOL...: the numbers, on one thread and on two, are what the tool writes
  local model=$1 task=$2 lines=$3 threads
  shift 3
  printf '%b' "$lines" | "$tools/$1" --quiet -m "$model" "${@:2}" >"$work/tool" || fail "$1: status $?"
  if [ "$task" = fill-mask ]; then cut -f 1,4,5 "$work/tool" | sort -s -n >"$work/chosen" && mv "$work/chosen" "$work/tool"; fi
  if [ "$task" = question-answering ]; then cut -f 2- "$work/tool" >"$work/chosen" && mv "$work/chosen" "$work/tool"; fi
  [ -s "$work/tool" ] || fail "$1 wrote nothing"
  for threads in 1 2; do
    printf '%b' "$lines" | "$work/numbers" "$model" "$task" "$threads" >"$work/own" || fail "numbers $task: status $?"
    cmp "$work/tool" "$work/own" || fail "numbers $task of $model: $(head -n 3 "$work/own"), $1: $(head -n 3 "$work/tool")"
  done
}
long=$(printf 'the cat sat on the mat %.0s' {1..120})
texts="the cat sat\na dog ran\n\nthe mat\n$long\n"
masks="the [MASK] sat\n[MASK] dog [MASK]\na [MASK] $long\n"
pairs="the cat sat\ta dog ran\nthe mat\tthe cat\n$long\tthe mat\n"
questions="the cat\tthe cat sat on the mat\nmat\t$long\n"
# Each directory: what embed refuses is refused with the same status. One more has dense modules, truncate_dim, a prompt
# and a tokenizer that cuts at the left.
cp -r "$models/st-dense" "$work/cut"
cat >"$work/cut/config_sentence_transformers.json" <<'EOF'
{"prompts": {"query": "the cat: "}, "default_prompt_name": "query", "truncate_dim": 3}
EOF
cp -r "$models/st-mean" "$work/left"
sed -i '1s/{/{"truncation_side": "left", /' "$work/left/tokenizer_config.json"
vectors=0
for model in "$models"/*/ "$work/cut" "$work/left" "$prefix/share/bert/models/default"; do
  [ -f "$model/config.json" ] || [ -f "$model/modules.json" ] || continue
  status=0
  printf '%b' "$texts" | "$tools/embed" --quiet -m "$model" --format f32 >/dev/null 2>&1 || status=$?
  if [ $status -eq 0 ]; then
    same "$model" vectors "$texts" embed --format f32
    same "$model" rows "$texts" embed
    vectors=$((vectors + 1))
    continue
  fi
  for task in vectors rows; do
    printf '%b' "$texts" | "$work/numbers" "$model" $task 1 >"$work/own" 2>&1 && fail "numbers $task of $model: wants $status"
    found=0
    printf '%b' "$texts" | "$work/numbers" "$model" $task 1 >/dev/null 2>&1 || found=$?
    [ $found -eq $status ] || fail "numbers $task of $model: status $found, wants $status: $(cat "$work/own")"
  done
done
[ $vectors -gt 60 ] || fail "embed reads only $vectors directories of $models"
for model in "$models/tiny-classifier" "$models/electra-classifier" "$prefix/share/bert/models/default"; do
  [ ! -d "$model" ] || same "$model" text-classification "$texts" classify -o
done
for model in "$models/tiny-bert" "$prefix/share/bert/models/default"; do
  [ ! -d "$model" ] || same "$model" fill-mask "$masks" mlm-fill -k 3
done
same "$models/tiny-bert" next-sentence-prediction "$pairs" nsp-score -o
for model in tiny-qa distilbert-qa electra-qa; do same "$models/$model" question-answering "$questions" qa -k 3 -o; done
if command -v jq >/dev/null; then
  short="the cat sat\na dog ran\n\nthe mat\n"
  printf '%b' "$short" | "$tools/ner" -m "$models/tiny-ner" --json --scores --aggregation none |
    jq -r '.tokens[] | [.label, .score] | @tsv' >"$work/tool"
  printf '%b' "$short" | "$work/numbers" "$models/tiny-ner" token-classification 1 >"$work/own"
  [ -s "$work/tool" ] && cmp "$work/tool" "$work/own" || fail "numbers of tiny-ner"
fi
echo "$(wc -w <<<"$declared") functions, $(wc -w <<<"$(ls "$headers")") headers"
