#!/bin/bash
# Good or bad? A Chinese (or any) BERT learns it from reviews, a label before each text: label TAB review.
# One fifth is set aside, in the proportion of the labels; per epoch: losses and accuracies.
# test model: long
# test arguments: labelled-first.tsv hotel-model
# usage: hotel-sentiment.sh REVIEWS.tsv OUTPUT_DIR [finetune options]
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk -F'\t' -v OFS='\t' -v out="$work" 'NF >= 2 && $2 != "" { print >(out (n[$1]++ % 5 == 4 ? "/dev" : "/train")) }' "$1"
# The settings of the lesson: 128 tokens, 4 reviews a step, rate 1e-4 on a cosine, weight decay 1e-4, no dropout
# but the model's, 3 epochs.
finetune --train "$work/train" --dev "$work/dev" -f 2 --label 1 --max-seq-length 128 --batch-size 4 --lr 1e-4 \
  --schedule cosine --weight-decay 1e-4 --epochs 3 --output "$2" "${@:3}"
