#!/bin/bash
# missing.sh CMAKE: where libraries are missing, CMake names the Debian packages of all of them in one line; the README's
# command installs every one.
set -u
cmake=$1
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0
configured() { # WANTED OPTIONS...: the packages that CMake asks for
  local wanted=$1 found
  shift
  rm -rf "$work/build"
  "$cmake" -S . -B "$work/build" "$@" >"$work/out" 2>&1 && echo "FAIL configured without $wanted" && failures=$((failures + 1))
  found=$(sed -n 's/.*on Debian: apt-get install //p' "$work/out")
  [ "$found" = "$wanted" ] || {
    echo "FAIL CMake names '$found', wants '$wanted': $(tail -n 5 "$work/out")"
    failures=$((failures + 1))
  }
}
without=-DCMAKE_DISABLE_FIND_PACKAGE_
all='libfmt-dev libcli11-dev libsimdjson-dev zlib1g-dev liblzma-dev libbz2-dev libhnswlib-dev libcurl4-openssl-dev libssl-dev pkg-config libopenblas-dev libutf8proc-dev libminizip-dev libsqlite3-dev libzstd-dev doctest-dev'
configured "$all" ${without}{fmt,CLI11,simdjson,ZLIB,LibLZMA,BZip2,CURL,OpenSSL,PkgConfig,doctest}=ON -DHNSWLIB=OFF -DBERT_DEVELOPER=ON
configured 'zlib1g-dev' ${without}{ZLIB,doctest}=ON
PKG_CONFIG_LIBDIR=$work PKG_CONFIG_PATH='' configured 'libopenblas-dev libutf8proc-dev libminizip-dev libsqlite3-dev libzstd-dev'

named() { # FILE PACKAGES TEXT
  local package
  for package in $2; do
    grep -qw -- "$package" <<<"$3" || { echo "FAIL $1 does not name $package"; failures=$((failures + 1)); }
  done
}
named README.md "$all" "$(sed -n '/apt-get install -y/,/&&$/p' README.md)"
control=.packaging/debian/control
named $control "${all% doctest-dev}" "$(sed -n '/^Build-Depends:/,/^Standards/p' $control)"
[ $failures -eq 0 ] && echo "packages: ok"
[ $failures -eq 0 ]
