#!/bin/bash
# Labels lines without a classifier: which of the words fills the mask best? Writes the word, its share of the
# probability of all the words, and the line. A word may have several pieces. --calibrate 'It was [MASK].' corrects for
# words that are frequent anyway.
# test expects: ^(good|bad)\t[01][.0-9]*\tnot so bad$
# test arguments: good,bad {}_it_was_[MASK]. reviews.txt
# usage: cloze-labels.sh WORD,WORD... 'PROMPT with {} and [MASK]' FILE [mlm-fill options]
set -euo pipefail
[ $# -ge 3 ] || { sed -n 's/^# \(usage: \)/\1/p' "$0" >&2; exit 64; }
mlm-fill --prompt="$2" --targets="$1" -k "$(tr ',' '\n' <<<"$1" | wc -l)" --keep "${@:4}" -- "$3" |
  awk -F'\t' -v OFS='\t' 'function write() { if (best != "") print best, sprintf("%.6g", top / sum), line }
    $1 != record { write(); record = $1; best = $5; top = $4; sum = 0
      line = $0; for (i = 0; i < 6; ++i) sub(/^[^\t]*\t/, "", line) }
    { sum += $4 } END { write() }'
