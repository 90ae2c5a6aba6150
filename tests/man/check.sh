#!/bin/bash
# check.sh BIN_DIR: the pages of man/ are well formed for mandoc and for groff, name the options that --help names, and
# their examples run as a reader copies them.
set -u
bin=$(cd "$1" && pwd) || exit 1
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset "${!BERT_@}" "${!HF_@}" "${!LC_@}" LANG
export PATH=$bin:$PATH HOME=$work LC_ALL=C.UTF-8
root=$PWD
failures=0
fail() {
  echo "FAIL $*"
  failures=$((failures + 1))
}

command -v mandoc >/dev/null || { echo "mandoc is not installed"; exit 77; }
if command -v groff >/dev/null; then
  with_groff() { groff -Kutf8 -mdoc -Tutf8 -ww "$1"; }
elif command -v man >/dev/null && man --version 2>/dev/null | grep -q '^man '; then
  with_groff() { MAN_KEEP_FORMATTING=1 man --warnings -l "$1"; }
else
  echo "not run: neither groff nor man-db is installed"
  with_groff() { mandoc -T utf8 "$1"; }
fi

# Every tool has --help and --version; bert-tools(7) says so.
# Options as they are written in .Fl macros, without the dash mandoc adds: "-top-k" for --top-k.
page_options() { # PAGE: those that head a list item
  [ -f "$1" ] && grep '^\.It Fl ' "$1" | grep -oE 'Fl [^ ]+' | sed 's/^Fl //; s/\\-/-/g' |
    grep -vxE 'h|-help|-version' | sort -u
}
help_options() { # TOOL
  "$1" --help | sed -n 's/^  *\(-[-a-zA-Z0-9,{}]*\) .*/\1/p' | sed 's/{[^}]*}//g' | tr ',' '\n' | sed 's/^-//' |
    grep -vxE 'h|-help|-version' | sort -u
}

# Commands in the EXAMPLES of a page as it is shown, each ended by NUL: a line that begins with "$ ", and those after it
# that are further in.
shown_examples() {
  sed 's/.\x08//g; s/\x1b\[[0-9;]*m//g' | awk '
    function finish() { if (inside) printf "%c", 0; inside = 0 }
    /^[^ ]/ { finish(); on = ($0 == "EXAMPLES"); next } !on { next }
    { match($0, /^ */) }
    /^ +\$ / { finish(); inside = RLENGTH; sub(/^ +\$ /, ""); printf "%s", $0; next }
    inside && RLENGTH > inside { printf "\n%s", $0; next }
    { finish() } END { finish() }'
}
examples() { # PAGE
  case $1 in
    *.md) sed -n 's/^\$ //p' "$1" | tr '\n' '\0' ;;
    *) mandoc -T utf8 "$1" | shown_examples ;;
  esac
}

# What a page shows below each command: the lines that are as far in, ended by NUL; see shown_examples().
shown_results() {
  sed 's/.\x08//g; s/\x1b\[[0-9;]*m//g' | awk '
    function finish() { if (inside) printf "%c", 0; inside = 0 }
    /^[^ ]/ { finish(); on = ($0 == "EXAMPLES"); next } !on { next }
    { match($0, /^ */) }
    /^ +\$ / { finish(); inside = RLENGTH; next }
    inside && RLENGTH > inside { next }
    inside && RLENGTH == inside && /[^ ]/ { print substr($0, inside + 1); next }
    { finish() } END { finish() }'
}

for page in man/*.[1357]; do
  mandoc -T lint -W warning "$page" >"$work/lint" 2>&1 || fail "$page: $(cat "$work/lint")"
  with_groff "$page" >"$work/groff" 2>"$work/lint"
  [ ! -s "$work/lint" ] || fail "$page: $(head -n 3 "$work/lint")"
  name=$(basename "${page%.*}")
  grep -q "^\.Nd " "$page" || fail "$page: no .Nd"
  # A reader copies what is shown, whoever shows it.
  mandoc -T utf8 "$page" | shown_examples | tr '\0' '\n' >"$work/mandoc.examples"
  shown_examples <"$work/groff" | tr '\0' '\n' | diff "$work/mandoc.examples" - >"$work/diff" ||
    fail "$page: mandoc and groff show different examples: $(head -n 4 "$work/diff")"
  shown=$(mandoc -T utf8 "$page" | shown_examples | tr -cd '\0' | wc -c)
  written=$(sed -n '/^\.Sh EXAMPLES/,$p' "$page" | grep -c '^\$ ')
  [ "$shown" -eq "$written" ] || fail "$page: $written examples, of which $shown are shown"
  grep -q '^\.Sh EXAMPLES' "$page" && [ "$shown" -eq 0 ] && fail "$page: EXAMPLES without a command"
  sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/p' "$page" | grep '^\.D[l1]' && fail "$page: a line of .Dl is wrapped; use .Bd -literal"
  [[ $page = *.1 && -x $bin/$name ]] || continue
  help_options "$name" >"$work/help"
  page_options "$page" >"$work/page"
  # Options that all tools share may be described once, in bert-tsv(5).
  if grep -q 'Xr bert-tsv 5' "$page"; then
    page_options man/bert-tsv.5 | cat - "$work/page" | sort -u >"$work/all"
  else
    cp "$work/page" "$work/all"
  fi
  missing=$(comm -23 "$work/help" "$work/all" | tr '\n' ' ')
  [ -z "$missing" ] || fail "$page: --help has options that the page has not: $missing"
  unknown=$(comm -13 "$work/help" "$work/page" | tr '\n' ' ')
  # Each completion script offers every option: "-top-k" here, as in .Fl.
  for shell in bash zsh fish; do
    script=$("$name" --completion $shell) || fail "$name --completion $shell: status $?"
    while read -r option; do
      word=-$option
      [ $shell = fish ] && case $option in -*) word="-l ${option#-}" ;; *) word="-s $option" ;; esac
      grep -qE -- "(^|[ '])$word([ '[]|\$)" <<<"$script" || fail "$name --completion $shell: no $word"
    done <"$work/help"
  done
  [ -z "$unknown" ] || fail "$page: the page has options that --help has not: $unknown"
done

for tool in "$bin"/*; do
  name=$(basename "$tool")
  case $name in unit_tests | fuzz_* | bench_*) continue ;; esac
  [ -f "man/$name.1" ] || fail "$name: no man/$name.1"
done

# EXAMPLES: each command must work, here with tiny models under the names of real ones, and the files of
# tests/man/files under the names of the reader's.
data=$work/.local/share/bert/models
mkdir -p "$data" "$work/example"
cp -r tests/man/files/. "$work/example/"
for pair in bert-base-uncased=tiny-bert bert-base-cased=tiny-bert my-bert=tiny-bert my-classifier=tiny-classifier \
  my-qa=tiny-qa my-cross-encoder=tiny-cross-encoder my-sentence-model=st-mean my-splade=sparse-native my-tagger=tiny-ner sentiment=tiny-classifier \
  all-MiniLM-L6-v2=st-mean gliner_small-v2.1=gliner-bert; do
  ln -s "$root/tests/golden/${pair#*=}" "$data/${pair%=*}"
done
ln -s "$root/examples" "$work/example/examples"
ln -s "$root/tests/golden/st-mean" "$work/example/all-MiniLM-L6-v2"
ln -s "$root/tests/golden/marian" "$work/example/marian"
# A hub for bert-pull, at this machine's own address.
hub_models="sentence-transformers/all-MiniLM-L6-v2=tests/golden/st-mean bert-base-uncased=tests/golden/tiny-bert"
if command -v python3 >/dev/null; then
  # shellcheck disable=SC2086
  python3 tests/hub/fake_hub.py "$work/hub" $hub_models &
  hub=$!
  trap 'kill $hub; rm -rf "$work"' EXIT
  for _ in {1..100}; do [ -f "$work/hub" ] || sleep 0.1; done
  export HF_ENDPOINT=$(cat "$work/hub")
fi
model_of() {
  case $1 in
    classify | bert-tsv | memo) echo my-classifier ;;
    ner) echo my-tagger ;;
    embed) echo my-sentence-model ;;
    bert-tools) echo bert-base-uncased ;;
    README | qa | quantize | bert-cookbook) ;; # the default model
    *) echo my-bert ;;
  esac
}
count=0
example() { # WHERE NAME COMMAND: it works and does something
  local where=$1 command=$3 limit=60 follows=no status program
  for program in mlr sqlite3 duckdb numpy pandas polars Rscript less bert-pull; do # not among the packages of README.md, or wants Python
    grep -qw -- "$program" <<<"$command" || continue
    [ $program = bert-pull ] && [ -n "${HF_ENDPOINT-}" ] && continue
    [[ $program = numpy || $program = pandas || $program = polars ]] && python3 -c "import $program" 2>/dev/null ||
      command -v "$program" >/dev/null || {
      echo "not run, $program is not installed: $where: '$command'"
      return
    }
  done
  count=$((count + 1))
  touch "$work/before"
  case $command in *'tail '*' -f '*) limit=3 follows=yes ;; esac
  (cd "$work/example" && BERT_MODEL=$(model_of "$2") timeout "$limit" bash -o pipefail -c "$command") \
    >"$work/out" 2>"$work/err" </dev/null
  status=$?
  case $status in
    0 | 141) ;; # 141: head has seen enough
    124) [ $follows = yes ] && [ -s "$work/out" ] || fail "$where: '$command': no end" ;;
    *) fail "$where: '$command': status $status: $(head -c 300 "$work/err")" ;;
  esac
  [ -s "$work/out" ] || [ -s "$work/err" ] || [ -n "$(find "$work/example" -newer "$work/before" -type f)" ] ||
    fail "$where: '$command' did nothing"
}
cookbook=man/bert-cookbook.7
for page in README.md man/*.[1357]; do
  [ "$page" != $cookbook ] || continue
  while IFS= read -r -d '' command; do
    example "$page" "$(basename "${page%.*}")" "$command"
  done < <(examples "$page")
  cp -r tests/man/files/. "$work/example/" # in place of the texts that a page writes
done
# --help ends with one example and the name of the page.
for source in tools/*.cpp; do
  name=$(basename "$source" .cpp)
  "$bin/$name" --help >"$work/help"
  [ "$(tail -n 1 "$work/help")" = "More: man $name" ] || fail "$name --help ends with '$(tail -n 1 "$work/help")'"
  command=$(sed -n '/^Example:$/,/^$/s/^  //p' "$work/help")
  grep -qw -- "$name" <<<"$command" || fail "$name --help: no example: '$command'"
  example "$name --help" "$name" "$command"
done
# bert-cookbook(7) runs the default model, so what it shows must be true. CPUs differ in the last digits.
rm -rf "$work/example" && mkdir "$work/example" && cp -r tests/man/files/. "$work/example/"
mandoc -T utf8 $cookbook | shown_results >"$work/results"
while IFS= read -r -d '' command && IFS= read -r -d '' wanted <&3; do
  rm -f "$work/out"
  example $cookbook bert-cookbook "$command"
  [ -n "$wanted" ] && [ -f "$work/out" ] || continue
  printf '%s' "$wanted" >"$work/wanted"
  awk -v wanted="$work/wanted" -v within=0.02 -f tests/lecture/same.awk "$work/out" >"$work/diff" ||
    fail "$cookbook: '$command': $(cat "$work/diff")"
done < <(examples $cookbook) 3<"$work/results"
[ $count -gt 0 ] || fail "no examples found"
echo "$count examples run, $failures failures"
[ $failures -eq 0 ]
