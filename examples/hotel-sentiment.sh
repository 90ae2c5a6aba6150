#!/bin/bash
# Good or bad? A Chinese (or any other) BERT learns it from reviews. Each line is a label, a tab and a review.
# One fifth of each label's reviews is the dev set. After each epoch: losses and accuracies.
# test model: long
# test arguments: labelled-first.tsv hotel-model
# usage: hotel-sentiment.sh REVIEWS.tsv OUTPUT_DIR [finetune options]
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat -- "$1" | awk -F'\t' -v OFS='\t' -v out="$work" 'NF >= 2 && $2 != "" { print >(out (n[$1]++ % 5 == 4 ? "/dev" : "/train")) }'
# The settings of the lesson: 128 tokens, 4 reviews a step, learning rate 1e-4 with a cosine schedule, weight decay
# 1e-4, the model's own dropout, 3 epochs.
finetune --train "$work/train" --dev "$work/dev" -f 2 --label 1 --max-seq-length 128 --batch-size 4 --lr 1e-4 \
  --schedule cosine --weight-decay 1e-4 --epochs 3 --output="$2" "${@:3}"
