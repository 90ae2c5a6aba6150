#!/bin/bash
# The command of .packaging/Dockerfile, where there is no sudo, as in the image that it begins with: which commands it
# runs, and that it fails if one of them fails.
set -u
cd "$(dirname "$0")/../.." || exit 1
sources=$PWD
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0
fail() {
  echo "FAIL $*"
  failures=$((failures + 1))
}
command=$(sed -n '/^RUN /,/[^\\]$/{ s/^RUN //; p; }' .packaging/Dockerfile)
[ -n "$command" ] || fail "the file has no command"
mkdir "$work/bin"
ln -s "$(command -v bash)" "$(command -v awk)" "$(command -v rm)" "$work/bin/"
for name in apt-get cmake ldconfig; do
  # shellcheck disable=SC2016
  printf '#!/bin/bash\necho "%s $1" >>"$LOG"\n[ "%s $1" != "${BROKEN-}" ]\n' $name $name >"$work/bin/$name"
done
chmod +x "$work"/bin/{apt-get,cmake,ldconfig}

image() { # [BROKEN]: runs the command beside a build that is done
  rm -rf "$work/src" "$work/log"
  mkdir -p "$work/src/build/bin"
  cp "$sources/README.md" "$work/src/"
  printf '#!/bin/bash\necho "mlm-fill $(</dev/stdin)" >>"$LOG"\n' >"$work/src/build/bin/mlm-fill"
  chmod +x "$work/src/build/bin/mlm-fill"
  (cd "$work/src" && env -i PATH="$work/bin" LOG="$work/log" BROKEN="${1-}" "$BASH" -c "${command//\/tmp\//$work/}") >"$work/out" 2>&1
}
image || fail "status $?: $(<"$work/out")"
wanted='apt-get update
apt-get install
cmake -G
cmake --build
mlm-fill Mozart was a famous [MASK].
cmake --install
ldconfig '
[ "$(<"$work/log")" = "$wanted" ] || fail "it runs: $(<"$work/log")"
for broken in 'apt-get update' 'apt-get install' 'cmake -G' 'cmake --build' 'cmake --install'; do
  image "$broken" && fail "status 0 where $broken fails"
  [ "$(tail -n 1 "$work/log")" = "$broken" ] || fail "it goes on where $broken fails"
done
[ $failures -eq 0 ] && echo "image: ok"
[ $failures -eq 0 ]
