#!/bin/bash
# presets.sh CMAKE: each preset of CMakePresets.json configures, and so does the thread sanitizer; `fuzz` where a clang is, `aarch64`
# and `macos` where their libraries are (.packaging/arm64-root, .packaging/macos-root).
set -u
cmake=$1
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
command -v ninja >/dev/null || exit 77
clang=$(command -v clang++ || compgen -c clang++- | sort -V | tail -n 1)
failures=0
configures() { # OPTIONS...
  rm -rf "$work/build"
  "$cmake" -S . -B "$work/build" "$@" >"$work/out" 2>&1 && return
  echo "FAIL cmake $*: $(tail -n 20 "$work/out")"
  failures=$((failures + 1))
}
presets=$("$cmake" --list-presets | sed -n 's/^ *"\([^"]*\)".*/\1/p')
[ -n "$presets" ] || { echo "FAIL no presets"; failures=1; }
for preset in $presets; do
  case $preset in
    fuzz) [ -z "$clang" ] || CXX=$clang configures --preset "$preset" ;;
    aarch64) [ ! -d "${BERT_ARM64_ROOT-}" ] || configures --preset "$preset" ;;
    macos) [ ! -d "${BERT_MACOS_ROOT-}" ] || configures --preset "$preset" ;;
    *) configures --preset "$preset" ;;
  esac
done
configures -G Ninja -DBERT_DEVELOPER=ON -DBERT_SANITIZE=thread
[ $failures -eq 0 ] && echo "presets: ok"
[ $failures -eq 0 ]
