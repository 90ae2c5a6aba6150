#!/bin/bash
# check.sh BUILD_DIR COMPILER [SANITIZERS]: installs into an empty folder and uses what is there, as a stranger would.
set -eu
build=$(cd "$1" && pwd)
compiler=$2 sanitize=${3-}
cd "$(dirname "$0")/../.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/usr
fail() {
  echo "FAIL $*"
  exit 1
}
cmake --install "$build" --prefix "$prefix" >"$work/log"

# Every tool runs from there, has its page and its completions.
count=0
for source in tools/*.cpp; do
  tool=$(basename "$source" .cpp)
  "$prefix/bin/$tool" --version | grep -q "^$tool (bertutils) " || fail "$tool --version"
  [ -f "$prefix/share/man/man1/$tool.1" ] || fail "no page of $tool"
  bash -n "$prefix/share/bash-completion/completions/$tool" || fail "bash completion of $tool"
  # What bash offers for --j is --jobs, where the tool has it.
  if "$prefix/bin/$tool" --help | grep -q -- '--jobs'; then
    offered=$(bash -c ". '$prefix/share/bash-completion/completions/$tool'
      COMP_WORDS=($tool --job) COMP_CWORD=1; _${tool//-/_}; echo \"\${COMPREPLY[*]}\"")
    [ "$offered" = --jobs ] || fail "bash completion of $tool: found '$offered', wants --jobs"
  fi
  # What it offers for -m are the installed models too.
  if "$prefix/bin/$tool" --help | grep -q -- '-m,--model'; then
    offered=$(bash -c ". '$prefix/share/bash-completion/completions/$tool'
      COMP_WORDS=('$prefix/bin/$tool' -m defau) COMP_CWORD=2; _${tool//-/_}; echo \"\${COMPREPLY[*]}\"")
    [ "$offered" = default ] || fail "bash completion of $tool -m: found '$offered', wants default"
  fi
  if command -v zsh >/dev/null; then zsh -n "$prefix/share/zsh/site-functions/_$tool"; fi
  if command -v fish >/dev/null; then fish -n "$prefix/share/fish/vendor_completions.d/$tool.fish"; fi
  count=$((count + 1))
done

# The library: soname, and no symbol that is not ours or a template of the standard library.
library=$(ls "$prefix"/lib*/libbert.so.*.*.* "$prefix"/lib/*/libbert.so.*.*.* 2>/dev/null | head -1)
objdump -p "$library" | grep -q 'SONAME *libbert\.so\.[0-9]*$' || fail "soname of $library"
foreign=$(nm -DC --defined-only "$library" | awk '$2 != "w" && $2 != "V" && $2 != "W" && $2 != "u"' |
  grep -vE ' (typeinfo|vtable|typeinfo name|guard variable) for bert::| bert::' || true)
[ -z "$foreign" ] || [ -n "$sanitize" ] || fail "foreign symbols: $(head -5 <<<"$foreign")"
exported=$(nm -D --defined-only "$library" | wc -l)
all=$(nm --defined-only "$library" 2>/dev/null | wc -l)
[ "$all" -eq 0 ] || [ "$exported" -lt "$((all / 2))" ] || fail "$exported of $all symbols are exported"

# A program outside, by pkg-config and by CMake.
flags=${sanitize:+-fsanitize=$sanitize}
lib=$(dirname "$library")
PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --define-variable=prefix="$prefix" --cflags --libs bertutils >"$work/flags"
# shellcheck disable=SC2046,SC2086
"$compiler" $flags examples/api/embed_one.cpp $(cat "$work/flags") -Wl,-rpath,"$lib" -o "$work/one"
answer=$("$work/one" tests/golden/st-mean 'the cat sat' 'the cat sat')
[ "$answer" = 1.000000 ] || fail "embed_one by pkg-config: found '$answer', wants 1.000000"

version=$("$prefix/bin/embed" --version | sed 's/.* //; s/\.[0-9]*$//')
mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<PROJECT
cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES CXX)
find_package(bertutils $version REQUIRED)
add_executable(one $root/examples/api/embed_one.cpp)
target_link_libraries(one PRIVATE bertutils::bert)
target_compile_options(one PRIVATE $flags)
target_link_options(one PRIVATE $flags)
PROJECT
cmake -S "$work/project" -B "$work/outside" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" >>"$work/log"
cmake --build "$work/outside" >>"$work/log"
answer=$("$work/outside/one" tests/golden/st-mean 'the cat sat' 'a dog ran')
[ -n "$answer" ] && [ "$answer" != 1.000000 ] || fail "embed_one by CMake: found '$answer'"
"$work/one" "$work/none" a b 2>"$work/err" && fail "embed_one took a missing model"
grep -q '^embed_one: ' "$work/err" || fail "embed_one said: $(cat "$work/err")"
# Every link of the installed documents points at something; the examples can be run from there.
documents=$(find "$prefix/share" -name '*.md')
[ "$(wc -l <<<"$documents")" -ge 3 ] || fail "installed documents: $documents"
while read -r document; do
  while read -r link; do
    [ -e "$(dirname "$document")/$link" ] || fail "$document: the link to $link leads nowhere"
  done < <(grep -oE '\]\([^)]+\)' "$document" | sed 's/^](//; s/)$//; s/#.*//' | grep -v '^https*:' || true)
done <<<"$documents"
mask=$prefix/share/doc/bertutils/examples/guess-the-hidden.sh
PATH=$prefix/bin:$PATH BERT_MODEL=$root/tests/golden/tiny-bert "$mask" tests/man/files/corpus.txt >"$work/rows" 2>&1 ||
  fail "$mask: $(cat "$work/rows")"

# Uninstalled, nothing of it is left, and nothing else is lost.
mkdir -p "$prefix/share/bert/models/mine"
touch "$prefix/share/bert/models/mine/config.json" "$prefix/bin/other"
cmake --build "$build" --target uninstall >>"$work/log" 2>&1 || fail "uninstall: $(tail -n 5 "$work/log")"
left=$(cd "$prefix" && find . -type f -o -type l | sort | tr '\n' ' ')
[ "$left" = './bin/other ./share/bert/models/mine/config.json ' ] || fail "after uninstall there are: $left"
left=$(find "$prefix" -type d -path '*bert*' ! -path '*/share/bert' ! -path '*/share/bert/models*')
[ -z "$left" ] || fail "after uninstall there are folders: $left"
echo "$count tools installed, $exported symbols exported"
