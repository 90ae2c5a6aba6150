#!/bin/bash
# From which layers' vectors are names found best? A BiLSTM finds entities in frozen features; each row has the layers,
# the width of the vector and the best F1 of the dev examples (Devlin et al. 2019, table 7, with 768 units; their sums
# are weighted). Some thousand sentences are enough.
# test model: layers-24
# test arguments: train.conll dev.conll --epochs 2
# usage: ner-layers.sh TRAIN.conll DEV.conll [OPTION...]   (options of finetune: --lstm-size 768 --epochs 5)
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat -- "$1" >"$work/train"
cat -- "$2" >"$work/dev"
shift 2
for layers in 0 -1 sum:1--1 -2 sum:-4--1 concat:-4--1; do
  width=$(echo a | embed -q --pool none --layers=$layers | awk 'END { print NF - 3 }')
  finetune -q --task ner --net bilstm --layers=$layers --train "$work/train" --dev "$work/dev" \
    --output "$work/model" --overwrite "$@" |
    awk -v layers=$layers -v width="$width" -v OFS='\t' 'NR > 1 && $5 > best { best = $5 } END { print layers, width, best + 0 }'
done
