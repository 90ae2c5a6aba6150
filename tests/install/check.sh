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

# The pages as HTML, where mandoc made them: one each, in the index, and no link between them is broken.
if command -v mandoc >/dev/null; then
  html=$(find "$prefix/share/doc" -type d -name html)
  for page in man/*.[1357]; do
    grep -q "href=\"$(basename "$page").html\"" "$html/index.html" || fail "no page of $page in HTML"
  done
  (cd "$html" && grep -oh 'href="[^"#:]\+["#]' ./*.html | sed 's/href="//; s/["#]$//' | sort -u | while read -r to; do
    [ -s "$to" ] || echo "$to"
  done) >"$work/broken"
  (cd "$html" && grep -oE '(id|href)="[^":]+"' ./*.html) | sed 's|^\./||' | awk '
    { file = substr($0, 1, index($0, ":") - 1); split($0, part, "\""); what = part[2] }
    /:id=/ { ids[file "#" what]; next }
    what ~ /#/ { links[what ~ /^#/ ? file what : what] = file }
    END { for (link in links) if (!(link in ids)) print link " of " links[link] }' >>"$work/broken"
  [ ! -s "$work/broken" ] || fail "broken links of HTML: $(cat "$work/broken")"
fi

# Every installed script is executable.
while read -r script; do
  case $(head -c 2 "$script" | tr -d '\0') in '#!') fail "$script is not executable" ;; esac
done < <(find "$prefix" -type f ! -perm -u+x)

# The library and what is public of it.
library=$(ls "$prefix"/lib*/libbert.so.*.*.* "$prefix"/lib/*/libbert.so.*.*.* 2>/dev/null | head -1)
objdump -p "$library" | grep -q 'SONAME *libbert\.so\.[0-9]*$' || fail "soname of $library"
bash tests/install/library.sh "$prefix" "$library" "$compiler" "$sanitize" || exit 1

# A program outside, by CMake, in C++ and in C.
flags=${sanitize:+-fsanitize=$sanitize}
version=$("$prefix/bin/embed" --version | sed 's/.* //; s/\.[0-9]*$//')
mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<PROJECT
cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES C CXX)
find_package(bertutils $version REQUIRED)
add_executable(one $root/examples/api/vector.cpp)
add_executable(two $root/examples/api/vector.c)
foreach(target one two)
  target_link_libraries(\${target} PRIVATE bertutils::bert)
  target_compile_options(\${target} PRIVATE $flags)
  target_link_options(\${target} PRIVATE $flags)
endforeach()
PROJECT
cmake -S "$work/project" -B "$work/outside" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" >>"$work/log"
cmake --build "$work/outside" >>"$work/log"
for program in one two; do
  answer=$("$work/outside/$program" tests/golden/st-mean 'the cat sat' 'a dog ran')
  [ -n "$answer" ] && [ "$answer" != 1 ] || fail "vector by CMake: found '$answer'"
done
# Of a model, what the tools read and its card; the card says where its recipe is.
left=$(cd "$prefix/share/bert/models" && find . -mindepth 2 ! -type d ! -name '*.json' ! -name '*.safetensors' ! -name vocab.txt ! -name README.md)
[ -z "$left" ] || fail "installed with the models: $left"
left=$(find "$prefix/share/bert/models" -type d -empty)
[ -z "$left" ] || fail "empty folders of models: $left"
for card in models/*/README.md; do
  installed=$prefix/share/bert/$card
  recipe=models/recipes/${card#models/} recipe=${recipe%README.md}make.sh
  ! grep -q '/make.sh)' "$card" || grep -q "make.sh (\`$recipe\` in the source)" "$installed" || fail "$installed: no recipe"
done
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
echo "$count tools installed"
