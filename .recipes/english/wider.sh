#!/bin/bash
# Makes the English default model better: wider text and sets, one long run. It begins with the default model as it is.
# usage: make.sh DATA OUT [prepare], with the tools, jq, perl and xz on PATH; `prepare` ends before the training.
# Run again, it goes on where it was stopped: what is there is kept, and training goes on from its last checkpoint.
#   DATA as for models/default/make.sh, and
#   DATA/text-en/{news,dialogue,reviews-imdb}.txt.xz
#   DATA/sent-en/{yelp/train,imdb,amazon-4,airline,meld/train,pros-cons}.tsv.xz  DATA/{goemotions/train,sst5/train}.tsv.xz
#   DATA/ner-en/{btc/*,wnut17/train,gum/train,re3d/train,sec/train,uner/{ewt-dev,pud},crossner/five-domains,wikineural/val}
#   DATA/squad/train-v2.0-slice.json.xz  DATA/squad2-bt/{paragraphs,guess}.jsonl.xz
# START and TEACHER, in the environment: the default model, and all-MiniLM-L6-v2 (see models/default/make.sh).
# JOBS: threads (a run goes on with as many as it began with); SAVE: steps between checkpoints.
# Kept for measuring, never learned from: all dev and test parts, amazon's kitchen, a tenth of airline, BTC's h, uner's
# ewt-test, wikineural's test, the last 400 articles, and a part of each kind of text.
set -euo pipefail
data=$(cd "$1" && pwd) out=$2 until=${3:-end} recipe=$(cd "$(dirname "$0")/../../models/default" && pwd)
mkdir -p "$out" && cd "$out"
unpack() { xz -dc "$data/$1"; }
random() { shuf --random-source=<(yes) "$@"; }
make() { # FILE COMMAND..: FILE from the command's output, whole or not at all, unless it is there
  [ -s "$1" ] && return
  "${@:2}" >"$1.part"
  mv "$1.part" "$1"
}

# Text: a sentence a line. Each kind is a task of its own, so that every step has some of each, and the sentence that
# does not follow is of the same kind.
mix() {
  perl -00 -ne 'BEGIN { srand '"$1"' } chomp; @s = split /\n/; while (@part = splice @s, 0, 200) { push @d, join("\n", @part) . "\n\n" }
    END { for ($i = $#d; $i > 0; --$i) { $j = int rand($i + 1); @d[$i, $j] = @d[$j, $i] } print @d }'
}
but_last() { perl -00 -ne 'push @d, $_; END { print @d[0 .. $#d - '"$1"'] }' "$2"; }
# The labelled sets, the texts that are held out, the encyclopedia and the books.
bash "$recipe/heads.sh" "$data" "$PWD" prepare
books() { cat gutenberg-0.txt gutenberg-1.txt | mix 12; }
news() { but_last 300 all-news.txt | mix 13; }
talk() { { but_last 300 all-dialogue.txt; but_last 200 all-reviews-imdb.txt; } | mix 14; }
for kind in books news talk; do make $kind.txt $kind; done
# Short texts: two to five sentences of any kind, such as people type.
short() {
  { cat talk.txt; perl -00 -ne 'print if $. % 8 == 0' wiki.txt; perl -00 -ne 'print if $. % 4 == 0' books.txt; perl -00 -ne 'print if $. % 3 == 0' news.txt; } |
    perl -00 -ne 'BEGIN { srand 15 } chomp; @s = grep { length() < 160 } split /\n/; while (@s > 1) { print join("\n", splice @s, 0, 2 + int rand 4), "\n\n" }' | mix 15
}
make short.txt short

# Sentences, paragraphs and questions, for the vectors.
paragraphs() { perl -00 -ne 'BEGIN { srand 31 } my @s = split /\n/; shift @s; my $b = int rand(@s + 1); my $t = ""; for (@s[$b .. $#s]) { last if length($t) > 350; $t .= ($t ? " " : "") . $_ } print "$t\n" if length $t > 150' "$1"; }
vectors() {
  { random -n 60000 wiki.txt; random -n 15000 books.txt; random -n 15000 talk.txt; random -n 10000 news.txt
    paragraphs wiki.txt | random -n 40000; paragraphs news.txt | random -n 8000
    jq -r '.data[].paragraphs[].qas[].question' squad-train.json squad2-slice.json
    unpack squad2-bt/paragraphs.jsonl.xz | jq -r '.questions[]' | random -n 30000
    unpack squad2-bt/paragraphs.jsonl.xz | jq -r '.context' | random -n 12000
    cut -f 1 sst2-train.tsv | random -n 10000
    unpack quora/dev.csv.xz | tail -n +2 | awk -F '\t' '{ print $3 "\n" $4 }'
    unpack sts-b/train.tsv.xz | tail -n +2 | awk -F '\t' '{ print $1 "\n" $2 }'
    unpack sick/train.tsv.xz | tail -n +2 | awk -F '\t' '{ print $2 "\n" $3 }'
    unpack agnews/train10k.tsv.xz | cut -f 1
    unpack clinc150/data_full.json.xz | jq -r '.train[][0]'
  } | tr '\t' ' ' | awk 'length($0) > 8' | random
}
make vectors.txt vectors
make vectors-dev.txt head -400 vectors.txt
rest() { tail -n +401 vectors.txt; }
make vectors-train.txt rest
[ "$until" = prepare ] && exit

# One long run at a constant rate, to be ended at any checkpoint; then one that falls to 0.
# On CPUs with AVX512-BF16 add --dtype bf16 before the first step (a run goes on as it began).
start=$(cd "${START:?the default model}" && pwd) teacher=$(cd "${TEACHER:?all-MiniLM-L6-v2}" && pwd)
task() { printf '%s\t%s\t%s\t%s\t%s\n' "$@"; }
# The model that it begins with chooses the answers of SQuAD 2.0's back-translated questions.
answers() { awk -F '\t' '!$4' bt.tsv | cut -f 6,7 | qa -m "$start" -k 10 --null-margin 1000 --chars -o; }
make said.tsv answers
make bt.json perl "$recipe/spans.pl" bt.tsv said.tsv
trunk() {
  task - mlm wiki.txt held.txt 'batch=16 probability=0.2 weight=0.9'
  task - mlm books.txt - 'batch=10 probability=0.2 weight=0.6'
  task - mlm news.txt held-news.txt 'batch=4 probability=0.2 weight=0.25'
  task - mlm talk.txt held-dialogue.txt 'batch=6 probability=0.2 weight=0.35'
  task - mlm short.txt - 'batch=32 length=40 probability=0.2 weight=0.6'
  task - vectors vectors-train.txt vectors-dev.txt "batch=14 length=160 teacher=$teacher weight=5"
  task sentiment classify reviews.tsv sst2-few.tsv 'batch=24 length=128 labels=negative,positive weight=1'
  task ner ner conll-train.txt,conll-train.txt,names.txt conll-few.txt 'batch=16 length=128 weight=3'
  task qa qa squad-train.json,squad-train.json,squad-none.json,squad2-slice.json,qamr-train.json,qamr-dev.json,subjqa-train.json,bt.json,squad-short.json squad2-few.json 'batch=5 length=320 weight=0.5'
}
train() { # name, start, steps, rate, seed, schedule, warm-up
  multitask "$1.tsv" -m "$2" --output "$1" --steps "$3" --eval-steps 250 --lr "$4" --seed "$5" --schedule "$6" --warmup "$7" \
    --dropout 0 --max-batch-tokens 3072 --save-steps "${SAVE:-200}" --jobs "${JOBS:-2}" --resume
}
trunk >trunk.tsv
[ -s trunk/model.safetensors ] || train trunk "$start" 6000 3e-4 12 constant 0.02

decay() {
  trunk | sed 's/^\(sentiment.*\)batch=24/\1batch=40/; s/^\(ner.*\)batch=16\(.*\)weight=3/\1batch=24\2weight=5/; s/^\(qa.*\)batch=5/\1batch=8/'
}
decay >decay.tsv
[ -s decay/model.safetensors ] || train decay trunk 2000 3e-4 13 linear 0.02

# One small file; vectors are means of unit length, as the teacher's.
cp -r "$teacher/modules.json" "$teacher/1_Pooling" decay/
quantize -m decay -o default --dtype int8
