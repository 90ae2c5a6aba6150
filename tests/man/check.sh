#!/bin/bash
# check.sh BIN_DIR: the pages of man/ are well formed, name the options that --help names, and their examples run.
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

for page in man/*.[157]; do
  mandoc -T lint -W warning "$page" >"$work/lint" 2>&1 || fail "$page: $(cat "$work/lint")"
  name=$(basename "${page%.*}")
  grep -q "^\.Nd " "$page" || fail "$page: no .Nd"
  [ -x "$bin/$name" ] || continue
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
  [ -z "$unknown" ] || fail "$page: the page has options that --help has not: $unknown"
done

for tool in "$bin"/*; do
  name=$(basename "$tool")
  case $name in unit_tests | fuzz_* | bench_*) continue ;; esac
  [ -f "man/$name.1" ] || fail "$name: no man/$name.1"
done

# EXAMPLES: each line that begins with "$ " is a command that must work, here with tiny models under the names of
# real ones, and the files of tests/man/files under the names of the reader's.
data=$work/.local/share/bert/models
mkdir -p "$data" "$work/example"
cp -r tests/man/files/. "$work/example/"
for pair in bert-base-uncased=tiny-bert bert-base-cased=tiny-bert my-bert=tiny-bert my-classifier=tiny-classifier \
  my-qa=tiny-qa my-sentence-model=st-mean my-tagger=tiny-ner sentiment=tiny-classifier \
  all-MiniLM-L6-v2=st-mean; do
  ln -s "$root/tests/golden/${pair#*=}" "$data/${pair%=*}"
done
ln -s "$root/tests/golden/tiny-classifier" "$work/example/log-model"
model_of() {
  case $1 in
    classify) echo my-classifier ;;
    qa) echo my-qa ;;
    ner) echo my-tagger ;;
    embed) echo my-sentence-model ;;
    bert-tools) echo bert-base-uncased ;;
    README) ;; # the default model
    *) echo my-bert ;;
  esac
}
examples() { # PAGE: one command per line
  case $1 in *.md) sed -n 's/^\$ //p' "$1" && return ;; esac
  awk '/^\.Sh /{ on = ($2 == "EXAMPLES") } !on { next }
    /^\.Dl / { sub(/^\.Dl (\$ )?/, "$ ") }
    more || /^\$ / { sub(/^\$ /, ""); more = sub(/\\e$/, ""); printf "%s%s", $0, more ? " " : "\n" }' "$1" |
    sed 's/\\(ti/~/g; s/\\(ha/^/g; s/\\-/-/g; s/\\e/\\/g; s/\\(aq/'"'"'/g; s/\\(dq/"/g; s/\\&//g'
}
count=0
for page in README.md man/*.[157]; do
  name=$(basename "${page%.*}")
  while IFS= read -r command; do
    count=$((count + 1))
    touch "$work/before"
    limit=60 follows=no
    case $command in *'tail '*' -f '*) limit=3 follows=yes ;; esac
    (cd "$work/example" && BERT_MODEL=$(model_of "$name") timeout "$limit" bash -o pipefail -c "$command") \
      >"$work/out" 2>"$work/err" </dev/null
    status=$?
    case $status in
      0 | 141) ;; # 141: head has seen enough
      124) [ $follows = yes ] && [ -s "$work/out" ] || fail "$page: '$command': no end" ;;
      *) fail "$page: '$command': status $status: $(head -c 300 "$work/err")" ;;
    esac
    [ -s "$work/out" ] || [ -s "$work/err" ] || [ -n "$(find "$work/example" -newer "$work/before" -type f)" ] ||
      fail "$page: '$command' did nothing"
  done < <(examples "$page")
done
[ $count -gt 0 ] || fail "no examples found"
echo "$count examples run, $failures failures"
[ $failures -eq 0 ]
