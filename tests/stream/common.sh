# Sourced by the tests of this folder: TEST.sh BIN_DIR [SHIM]. They run every line tool through the same fault.
set -u
bin=$(cd "$1" && pwd) || exit 1
shim=${2-}
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset "${!BERT_@}" "${!HF_@}" "${!LC_@}" LANG
export PATH=$bin:$PATH HOME=$work LC_ALL=C
models=$PWD/tests/golden
failures=0 checks=0

# The line tools, with what makes each of them turn the lines of `input` into rows.
tools=()
declare -A arguments=(
  [tokenize]="-m $models/tiny-bert"
  [chunk]="-m $models/tiny-bert --spans"
  [embed]="-m $models/st-mean"
  [mlm-fill]="-m $models/tiny-bert"
  [mlm-mask]="-m $models/tiny-bert --seed 1"
  [mlm-score]="-q -m $models/tiny-bert"
  [nsp-score]="-m $models/tiny-bert"
  [classify]="-m $models/tiny-classifier"
  [qa]="-m $models/tiny-qa"
  [rank]="-m $models/tiny-cross-encoder"
  [ner]="-m $models/tiny-ner --inline"
  [translate]="-m $models/bert2bert --max-new-tokens 6"
)
for tool in tokenize chunk embed mlm-fill mlm-mask mlm-score nsp-score classify qa rank ner translate; do
  [ -x "$bin/$tool" ] && tools+=("$tool")
done
[ ${#tools[@]} -ge 2 ] || { echo "no tools in $bin"; exit 1; }

# tool NAME [OPTION]...: runs it on its model
tool() {
  local name=$1
  shift
  # shellcheck disable=SC2086
  "$name" ${arguments[$name]} "$@"
}

# input N: lines that every tool takes (two fields, a mask in each second line)
input() {
  awk -v n="$1" 'BEGIN { for (i = 1; i <= n; ++i)
    printf "%s %d cat\tdogs the %s play%d\n", i % 2 ? "the cat" : "a [MASK] sat", i, i % 3 ? "ran ran" : "", i % 7 }'
}

# expect WHAT FOUND WANTED
expect() {
  checks=$((checks + 1))
  [ "$2" = "$3" ] && return
  failures=$((failures + 1))
  printf 'FAIL %s\n  found  %s\n  wants  %s\n' "$1" "$(cut -c 1-300 <<<"$2" | head -5)" "$(cut -c 1-300 <<<"$3" | head -5)"
}

# equal WHAT FILE FILE
equal() {
  checks=$((checks + 1))
  cmp -s "$2" "$3" && return
  failures=$((failures + 1))
  echo "FAIL $1: $(cmp "$2" "$3" 2>&1)"
}

finish() {
  echo "$checks checks, $failures failed (${tools[*]})"
  [ $failures -eq 0 ] && [ $checks -gt 0 ]
  exit
}
