#!/bin/bash
# library.sh PREFIX LIBRARY COMPILER [SANITIZERS]: the public face as it is installed: its headers, its symbols, its
# examples. tests/api has its numbers.
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

echo "$(wc -w <<<"$declared") functions, $(wc -w <<<"$(ls "$headers")") headers"
