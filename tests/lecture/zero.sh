#!/bin/bash
# zero.sh MODEL OUT REGEX: a copy of a model directory, in which the tensors whose names match are all 0.
set -euo pipefail
cp -rL "$1" "$2"
weights=$2/model.safetensors
length=$(od -An -tu8 -N8 "$weights" | tr -d ' ')
head -c $((8 + length)) "$weights" | tail -c "$length" | tr '}' '\n' |
  sed -nE 's/.*"([^"]+)" *: *\{.*"data_offsets" *: *\[([0-9]+), *([0-9]+)\].*/\1 \2 \3/p' | grep -E "^($3) " |
  while read -r name begin end; do
    echo "$name" >&2
    head -c $((end - begin)) /dev/zero | dd of="$weights" bs=64k oflag=seek_bytes seek=$((8 + length + begin)) conv=notrunc status=none
  done
