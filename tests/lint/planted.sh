#!/bin/bash
# Each rule of rules.py finds a fault that is planted, in a small tree of its own, and nothing in the tree without it. So
# do those of modules.sh that say what tools/common may know.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0

clean() { # a tree without faults
  rm -rf "$work/tree" && mkdir -p "$work"/tree/{lib/a,lib/b,lib/io,tools,tests/lint} && cd "$work/tree" || exit 1
  printf '#pragma once\nint f(int a,\n      int b);\nstruct S {\n  int size = 0;  ///< number of rows\n};\n' >lib/a/a.h
  { printf '#include "a/a.h"\n\nint f(int a,\n      int b) {\n'; yes '  ++a;' | head -n 37; printf '  return a + b;\n}\n'; } >lib/a/a.cpp
  echo '# nothing' >tests/lint/exceptions.txt
}

found() { # NAME MESSAGE: what stands in the tree now is found
  local out
  out=$(python3 "$here/rules.py" "$work/tree")
  if [ $? -ne 1 ] || [ "$out" != "$2" ]; then
    echo "FAIL $1: found '$out', wants '$2'"
    failures=$((failures + 1))
  fi
  clean
}

clean
out=$(python3 "$here/rules.py" "$work/tree")
[ "$out" = "rules: ok, 0 exceptions" ] || { echo "FAIL without faults: $out"; failures=1; }

sed -i 's/^  return/  ++a;\n  ++a;\n  return/' lib/a/a.cpp
found "long function" "function lib/a/a.cpp:f: 42, wants at most 40"
yes '// a' | head -n 400 >>lib/a/a.cpp
found "long file" "file lib/a/a.cpp: 443, wants at most 400"
echo 'int g() { return 1; }' >lib/b/b.cpp
found "no header" "no-header lib/b/b.cpp"
echo '#pragma once' >lib/b/a.h
found "one name twice" "same-name lib/b/a.h"
sed -i 's/number of rows/of the rows/' lib/a/a.h
found "comment" "comments lib/a/a.h: 1, wants at most 0"
echo 'const float* x = reinterpret_cast<const float*>(rows.bytes().data());' >>lib/a/a.cpp
found "cast of rows" "cast lib/a/a.cpp"
echo 'cast lib/a/a.cpp' >>tests/lint/exceptions.txt
found "exception that is none" "cast lib/a/a.cpp: is no exception any more; take it out of tests/lint/exceptions.txt"
sed -i 's/^  return/  ++a;\n  ++a;\n  return/' lib/a/a.cpp
echo 'function lib/a/a.cpp:f 41' >>tests/lint/exceptions.txt
found "exception that grew" "function lib/a/a.cpp:f: 42, was 41: an exception may only shrink"
sed -i 's/^  return/  ++a;\n  ++a;\n  return/' lib/a/a.cpp
echo 'function lib/a/a.cpp:f 45' >>tests/lint/exceptions.txt
found "exception that shrank" "function lib/a/a.cpp:f: 42; tests/lint/exceptions.txt says 45"
mkdir -p lib/model/family man && echo '.It Cm one , two' >man/bert-model.5
printf '{.model_type = "%s"}\n' one two three >lib/model/family/a.inc.h
found "model type without a word" "lib/model/family/a.inc.h: the model type three is not in man/bert-model.5"
mkdir -p lib/model/family man
printf '\n## Models\nOne, tw-o\n' >README.md
printf '{.model_type = "%s"}\n' one two three >lib/model/family/a.inc.h
echo '.It Cm one , two , three' >man/bert-model.5
found "model type that README lacks" "lib/model/family/a.inc.h: the model type three is not in README's list of models"
if command -v git >/dev/null; then
  git init -q . && git add . && GIT_COMMITTER_DATE=2030-01-01T00:00:00 git -c user.name=a -c user.email=a@example.org \
    commit -q --no-verify -m "$(printf 'x%.0s' {1..73})"
  found "long subject" "commit $(git log -1 --format=%h): its subject has 73 characters, wants at most 72"
fi
knows() { # NAME LINE MESSAGE: what modules.sh says if tools/common/a.h has this line; no MESSAGE: nothing
  clean
  mkdir -p tools/common && cp "$here/modules.sh" tests/lint/ && echo "$2" >tools/common/a.h
  local out wanted=${3:+$3: tools/common/a.h:1:$2}
  out=$(bash tests/lint/modules.sh 2>/dev/null | grep -E '^tools/(common opens| has a worker)')
  [ "$out" = "$wanted" ] || { echo "FAIL $1: found '$out', wants '$wanted'" && failures=$((failures + 1)); }
}
knows "options of a task" '#include "rows/task_options.h"'
for header in rows/embed.h predict/vectors.h encoder/model.h; do
  knows "$header" "#include \"$header\"" "tools/common opens a model or has a worker"
done
knows "worker" 'class Own : public Worker {};' "tools/ has a worker"
[ $failures -eq 0 ] && echo "planted faults: found"
[ $failures -eq 0 ]
