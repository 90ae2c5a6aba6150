#!/bin/bash
# make.sh VOCABULARY CONFIG OUT: a small Chinese model with heads, made in two seconds. It stands in for a real one: it has
# read the passage of congcong.txt and nothing else, 16 reviews, 4 sentences with parts of speech, 3 questions.
set -euo pipefail
cd "$(dirname "$0")"
vocabulary=$1 config=$2 out=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pretrain -q ../files/congcong.txt --no-nsp --config "$config" --vocab "$vocabulary" --steps 200 --batch-size 8 --lr 3e-3 \
  --keep-checkpoints 0 --output "$work/text"
learn() { finetune -q --freeze-embeddings -m "$1" --lr 1e-2 --keep-checkpoints 0 "${@:2}"; }
learn "$work/text" --head sentiment --train sentiment.tsv --epochs 30 --output "$work/sentiment"
learn "$work/sentiment" --head pos --task ner --train pos.conll --epochs 60 --output "$work/pos"
learn "$work/pos" --head qa --task qa --train qa.tsv --epochs 30 --output "$out"
