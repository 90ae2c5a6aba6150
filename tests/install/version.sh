#!/bin/bash
# version.sh VERSION: the version of CMakeLists.txt, and the library's name that follows from it, stand the same wherever
# a file names them.
set -u
version=$1 major=${1%%.*}
cd "$(dirname "$0")/../.." || exit 1
failures=0
same() { # WHERE WANTED FOUND
  [ "$2" = "$3" ] && return
  echo "FAIL $1: found '$3', wants '$2'"
  failures=$((failures + 1))
}
same 'the newest version of .github/CHANGELOG.md' "$version" "$(sed -n 's/^## //p' .github/CHANGELOG.md | head -n 1)"
same 'the library of the Python module' "libbert.so.$major" "$(sed -n 's/^_LIBRARY = "\(.*\)"/\1/p' .packaging/python/bertutils/_place.py)"
same 'the package of the library' "libbert$major" "$(sed -nE 's/^Package: (libbert[0-9]+)/\1/p' .packaging/debian/control)"
same 'its list of files' ".packaging/debian/libbert$major.install" "$(ls .packaging/debian/libbert[0-9]*)"
same 'the library in man/bert.3' "libbert.so.$major" "$(grep -oE 'libbert\.so\.[0-9]+' man/bert.3 | sort -u)"
[ $failures -eq 0 ] && echo "version: ok"
[ $failures -eq 0 ]
