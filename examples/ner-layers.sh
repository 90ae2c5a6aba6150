#!/bin/bash
# From which layer's vectors are names found best? A linear classifier finds entities in frozen features; each row has
# the layers, the width of the vector and the F1. Some thousand sentences are enough. (Devlin et al. 2019, table 7, get
# a higher F1 with a BiLSTM and weighted sums.)
# test needs: liblinear-train
# test model: layers-24
# test arguments: train.conll train.conll
# usage: ner-layers.sh TRAIN.conll DEV.conll   (apt install liblinear-tools)
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
train=$1 dev=$2
if [ ! -f "$train" ]; then cat "$1" >"$work/1" && train=$work/1; fi
if [ ! -f "$dev" ]; then cat "$2" >"$work/2" && dev=$work/2; fi
awk 'NF { print $NF }' "$train" "$dev" | sort -u >"$work/tags"
# features LAYERS FILE: a line for each word: the number of its tag, then the vector of the word's beginning
features() {
  awk 'NF { printf "%s ", $1; n = 1 } !NF && n { print n = "" } END { if (n) print "" }' "$2" |
    embed -q --pool none --words --layers="$1" | awk '
      FILENAME == ARGV[1] { id[$1] = FNR; next }
      FILENAME == ARGV[2] { if (NF) { tag[s + 1, at + 0] = id[$NF]; at += length($1) } else if (at) { ++s; at = 0 }; next }
      $1 != record { record = $1; at = 0 }
      (record, at) in tag { printf "%d", tag[record, at]; for (i = 4; i <= NF; ++i) printf " %d:%s", i - 3, $i; print "" }
      { at += length($3) }' "$work/tags" "$2" -
}
# entities FILE: begin, end and type
entities() {
  awk 'NR == FNR { tag[FNR] = $1; next } { t = tag[$1]; y = substr(t, 3) }
    t ~ /^[BO]/ || y != type { if (type) print begin, FNR, type; begin = FNR; type = y }' "$work/tags" "$1" | sort
}
for layers in 0 -1 sum:1--1 -2 sum:-4--1 concat:-4--1; do
  features $layers "$train" >"$work/train"
  features $layers "$dev" >"$work/dev"
  liblinear-train -q -s 1 -c 0.01 "$work/train" "$work/model"
  liblinear-predict "$work/dev" "$work/model" "$work/out" >/dev/null
  sort <(entities "$work/dev") <(entities "$work/out") | uniq -c | awk -v layers=$layers -v OFS='\t' -v \
    width=$(($(head -1 "$work/dev" | wc -w) - 1)) '{ all += $1; right += $1 == 2 } END { print layers, width, 2 * right / all }'
done
