#!/bin/bash
# The formatting of .clang-format and the short list of .clang-tidy, where the tools are: format.sh [BUILD_DIR]
set -u
cd "$(dirname "$0")/../.." || exit 1
formatter=$(command -v clang-format-14 || command -v clang-format) || exit 77
"$formatter" --version | grep -q 'version 14\.' || exit 77 # others format otherwise
git rev-parse --git-dir >/dev/null 2>&1 || exit 77
failures=0
while read -r file; do
  "$formatter" --dry-run -Werror "$file" 2>/dev/null && continue
  echo "$file: not as clang-format -i would have it"
  failures=$((failures + 1))
done < <(git ls-files '*.cpp' '*.h' | grep -v 'lib/text/[a-z]*_tables.cpp')
if [ -n "${BERT_TIDY-}" ]; then # minutes of work, so on request
  # clang reads no headers that GCC precompiled
  cmake -S . -B "$1/tidy" -DBERT_DEVELOPER=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null || exit 1
  run-clang-tidy-14 -quiet -extra-arg=-Wno-unknown-warning-option -p "$1/tidy" "$PWD/(lib|tools)/.*\.cpp" 2>/dev/null | grep -E 'error:|warning:' && failures=$((failures + 1))
fi
[ $failures -eq 0 ] && echo "format: ok"
[ $failures -eq 0 ]
