#!/bin/bash
# The structure of the code, checked: which module includes which (the table in lib/README.md), where each
# third-party library lives, and what the library and the mains may do.
set -u
cd "$(dirname "$0")/../.." || exit 1
failures=0
fail() {
  echo "$*"
  failures=$((failures + 1))
}
code() { sed 's|//.*||; s|^ \*.*||' "$1"; } # without comments

# Rows of the table: | module | what it may include | what it is |
declare -A allowed
while IFS='|' read -r _ module may _; do
  allowed[${module// /}]=" base ${module// /} $may "
done < <(sed -n '/^| --- |/,/^$/p' lib/README.md | grep '^| [a-z]')
[ ${#allowed[@]} -ge 12 ] || fail "lib/README.md: found ${#allowed[@]} modules in the table, wants at least 12"

for folder in lib/*/; do
  module=$(basename "$folder")
  [ "$module" = include ] && continue # the public headers, which include no others of lib/
  [ -n "${allowed[$module]-}" ] || fail "lib/$module: not in the table of lib/README.md"
done
for module in "${!allowed[@]}"; do
  [ -d "lib/$module" ] || fail "lib/README.md: module '$module' has no folder"
done

# Includes that point up, or out of the library.
while IFS=: read -r file line text; do
  module=${file#lib/} module=${module%%/*}
  target=${text#*\"} target=${target%%\"*}
  [ -f "lib/$target" ] || fail "$file:$line: \"$target\" is not a file of lib/"
  case ${allowed[$module]-} in
    *" ${target%%/*} "*) ;;
    *) fail "$file:$line: $module may not include ${target%%/*} (lib/README.md)" ;;
  esac
done < <(grep -n '^ *# *include *"' -r lib --include='*.h' --include='*.cpp')

# A prediction knows no record and no row, and rows come from predictions alone.
found=$(grep -nE '^ *# *include "(io/(rows|record|record_reader|json_row)\.h|pipeline/)' -r lib/predict) &&
  fail "predict/ knows records or rows: $found"
found=$(grep -nE 'reinterpret_cast<(const )?(float|double)|memcpy\([^;]*\.(raw|bytes)\(\)' -r lib/rows lib/api tools --include='*.cpp' --include='*.h') &&
  fail "rows are read back as numbers: $found"
found=$(sed -n '/^struct .*Options\b.* {/,/^};/p' lib/*/*.h | grep -nE '(Metrics|Ranking|Summary) ?\*') &&
  fail "an options struct receives results: $found"
found=$(grep -nE 'Truncation::only_' -r lib tools --include='*.cpp' --include='*.h' | grep -vE '^(lib/tokenizer/|lib/predict/task\.cpp|tools/tokenize\.cpp)') &&
  fail "a task's default stands beside the table of lib/predict/task.cpp: $found"
# tools/common has options, the run and the terminal. A model, what predicts and its workers are the library's, whose
# options structs may be filled there.
inner='checkpoint|model|tokenizer|encoder|heads|seq2seq|nn|predict|search|rows|inspect|api|training|trainers|attention_pool'
found=$(grep -nE "^ *# *include [\"<]($inner)/" -r tools/common | grep -vE '"(predict/task|rows/task_options|trainers/training_job)\.h"') &&
  fail "tools/common opens a model or has a worker: $found"
found=$(grep -nE '(class|struct) .*: *(public +)?[A-Za-z:]*Worker\b' -r tools) && fail "tools/ has a worker: $found"

# home PATTERN FILES...: the headers that match are included nowhere else.
home() {
  local pattern=$1 file
  shift
  while read -r file; do
    local found=no allowed_file
    for allowed_file; do
      # shellcheck disable=SC2053
      [[ $file == $allowed_file ]] && found=yes
    done
    [ $found = yes ] || fail "$file: includes <$pattern>, whose home is $*"
  done < <(grep -lE "^ *# *include *[<\"]($pattern)" -r lib tools tests --include='*.h' --include='*.cpp')
}
home 'utf8proc' 'lib/text/*'
home 'cblas|openblas|lapack' 'lib/ops/linear*.cpp' 'lib/ops/blas.cpp' 'tests/bench/*'
home 'CLI/' 'tools/*'
home 'doctest' 'tests/*'
home 'simdjson' 'lib/io/json*'
home 'hnswlib' 'lib/search/index_graph.h'
home 'sqlite3' 'lib/memo/store.cpp'
home 'curl/' 'lib/hub/http.cpp' 'lib/hub/url.cpp'
home 'openssl/|CommonCrypto/' 'lib/hub/digest.cpp'
home 'unzip|zip\.h|minizip|mz' 'lib/checkpoint/*'
home 'fmt/' 'lib/*.cpp' 'tools/*' 'tests/*'

# Which special tokens stand around a text, and how a vocabulary marks pieces of words, is the tokenizer's:
# others take Tokenizer::frame(), FramedText, continues_word() and piece_text().
for file in $(find lib tools \( -name '*.cpp' -o -name '*.h' \) ! -path 'lib/tokenizer/*'); do
  found=$(code "$file" | grep -nE '\b(cls|sep)_id\b|"##|max_length *- *[0-9]') && fail "$file: knows the frame: $found"
done
# The classes of tokenizers are rows of tokenizer/classes.cpp: their names stand there only.
for file in $(find lib -name '*.cpp' -o -name '*.h'); do
  [ "$file" = lib/tokenizer/classes.cpp ] && continue
  found=$(code "$file" | sed 's/BertPreTokenizer//' | grep -nE '"[^"]*[A-Za-z0-9]Tokenizer(Fast)?\b') &&
    fail "$file: names a tokenizer class, which only lib/tokenizer/classes.cpp does: $found"
done
# What a model is stands in model/ only: a family's name in model/family/, the names of tensors in the table of
# modules.h and what files call them in model/family/. Comments and messages may name them.
names_in() { # names_in FILE PATTERN: the quoted words that follow the pattern, joined by |
  grep -hoE "$2 *\"[^\"]+" $1 | sed 's/.*"//; s/\./\\./g' | sort -u | paste -sd'|'
}
types=$(names_in 'lib/model/family/*.h' '\.model_type =')
classes=$(names_in 'lib/model/family/*.h' '\.class_prefix =')
modules=$(names_in lib/model/modules.h '\{Role::[a-z_]+,')
[ "$(tr '|' '\n' <<<"$types" | wc -l)" -ge 3 ] || fail "lib/model/family: found the families '$types', wants at least 3"
[ "$(tr '|' '\n' <<<"$modules" | wc -l)" -ge 20 ] || fail "lib/model/modules.h: found the modules '$modules', wants at least 20"
# A literal that is one of these names, or begins or ends like a part of one. `linear` is that of a Dense module
# of sentence-transformers.
parts='[^" ]+\.(weight|bias)|\.?(LayerNorm|query|key|value|self|attention|pooler|classifier)\.[^" ]*|[^" ]*query_key_value[^" ]*'
parts="$parts|(embeddings|encoder|cls|heads)\.[^\" ]*|(qa_outputs|discriminator_predictions|embeddings_project)[^\" ]*"
while read -r file; do
  case $file in lib/model/*) continue ;; esac
  bare=$([[ $file == lib/* ]] && echo '' || echo '[!=]= *') # "bert" begins the tools' names, too
  found=$(code "$file" | grep -nE "$bare\"($types)\"|model_type *[!=]=|\"($classes)(Model|For)[A-Za-z]*\"") &&
    fail "$file: names a family, which only lib/model/family/ does: $found"
  found=$(code "$file" | grep -nE "\"($modules|$parts)\"" | grep -vE '"linear\.(weight|bias)"') &&
    fail "$file: spells a tensor's name, which only lib/model/ does: $found"
done < <(find lib tools -name '*.cpp' -o -name '*.h')

# The names of a model directory's files stand in lib/directory only: others take them from its list.
names=$(grep -oE '"[^"]+\.[a-z]+"' lib/directory/file_names.h | tr -d '"' | sed 's/\./\\./g' | paste -sd'|')
[ "$(tr '|' '\n' <<<"$names" | wc -l)" -ge 30 ] || fail "lib/directory/file_names.h: found the names '$names', wants at least 30"
while read -r file; do
  found=$(code "$file" | grep -nE "\"[^\" ]*($names)\"") &&
    fail "$file: spells the name of a file, which only lib/directory/ does: $found"
done < <(find lib tools \( -name '*.cpp' -o -name '*.h' \) ! -path 'lib/directory/*')

# The library prints nothing and ends no process.
for file in $(find lib -name '*.cpp' -o -name '*.h'); do
  words='std::cout|std::cerr|std::clog|\b(f|v|vf|d)?printf *\(|\bputs *\(|\bperror *\(|fmt::print|\b_?exit *\(|\babort *\(|std::terminate|quick_exit'
  found=$(code "$file" | grep -nE "$words") && fail "$file: prints or exits: $found"
done
# The library knows no command line: its errors name fields, and the tools the options that set them. Commands of
# other programs may stand in a hint, whole.
for file in $(find lib -name '*.cpp' -o -name '*.h'); do
  [ "$file" = lib/trainers/finetune_plan.cpp ] && continue # a hint: with which options --gold reports the same
  found=$(code "$file" | sed -E 's/(mlr|mlm-fill)( --?[a-zA-Z]+| tab| semicolon)+//' | grep -nE '"[^"]*--[a-z]') &&
    fail "$file: names an option: $found"
done
# Kernels are included once for each instruction set.
for file in $(find lib tools -name '*.h' ! -name '*_impl.h' ! -name 'vec_*.h'); do
  grep -q '^#pragma once' "$file" || fail "$file: no #pragma once"
done

# One command, one file, one man page.
for file in tools/*.cpp; do
  tool=$(basename "$file" .cpp)
  [ -f "man/$tool.1" ] || fail "$file: no man/$tool.1"
  [ -d "tests/cli/$tool" ] || fail "$file: no cases in tests/cli/$tool"
done

[ "$failures" -eq 0 ] && echo "structure: ok"
[ "$failures" -eq 0 ]
