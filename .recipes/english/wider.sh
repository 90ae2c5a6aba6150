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
data=$(cd "$1" && pwd) out=$2 until=${3:-end}
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
sentences() {
  perl -CSD -Mutf8 -pe 's/Â(?=[£€])//g; s/(?<!\b[A-Z])(?<!\bMr)(?<!\bMrs)(?<!\bDr)(?<!\bSt)(?<!\bvs)(?<!\bNo)(?<!\bJr)(?<!\bSr)([.!?]["”’)]*) +(?=["“‘(]?[A-Z0-9])/$1\n/g'
}
mix() {
  perl -00 -ne 'BEGIN { srand '"$1"' } chomp; @s = split /\n/; while (@part = splice @s, 0, 200) { push @d, join("\n", @part) . "\n\n" }
    END { for ($i = $#d; $i > 0; --$i) { $j = int rand($i + 1); @d[$i, $j] = @d[$j, $i] } print @d }'
}
untitled() { perl -00 -pe 's/^.*\n//'; }
last() { perl -00 -ne 'push @d, $_; END { print @d[-'"$1"' .. -1] }' "$2"; }
but_last() { perl -00 -ne 'push @d, $_; END { print @d[0 .. $#d - '"$1"'] }' "$2"; }
for name in enwiki-0 enwiki-1 enwiki-2 gutenberg-0 gutenberg-1 news; do
  split_it() { unpack text-en/$name.txt.xz | sentences; }
  make $name.txt split_it
done
for name in dialogue reviews-imdb; do
  split_it() { unpack text-en/$name.txt.xz | untitled | sentences; }
  make $name.txt split_it
done
make held.txt last 400 enwiki-2.txt # the same as before
make held-news.txt last 300 news.txt
make held-dialogue.txt last 300 dialogue.txt
make held-reviews.txt last 200 reviews-imdb.txt
wiki() { { cat enwiki-0.txt enwiki-1.txt; but_last 400 enwiki-2.txt; } | mix 11; }
books() { cat gutenberg-0.txt gutenberg-1.txt | mix 12; }
news() { but_last 300 news.txt | mix 13; }
talk() { { but_last 300 dialogue.txt; but_last 200 reviews-imdb.txt; } | mix 14; }
for kind in wiki books news talk; do make $kind.txt $kind; done
# Short texts: two to five sentences of any kind, such as people type.
short() {
  { cat talk.txt; perl -00 -ne 'print if $. % 8 == 0' wiki.txt; perl -00 -ne 'print if $. % 4 == 0' books.txt; perl -00 -ne 'print if $. % 3 == 0' news.txt; } |
    perl -00 -ne 'BEGIN { srand 15 } chomp; @s = grep { length() < 160 } split /\n/; while (@s > 1) { print join("\n", splice @s, 0, 2 + int rand 4), "\n\n" }' | mix 15
}
make short.txt short

# Sentiment. A text without a feeling stands once with each label, so that the model learns to be unsure of it.
both() { awk -F '\t' -v OFS='\t' '$2 == "neutral" { print $1, "positive"; print $1, "negative"; next } { print $1, $2 }'; }
clean='s/<br ?\/?>/ /g; s/[\r ]+/ /g;'
plain() { unpack "$1" | tail -n +2 | perl -pe "$clean" | awk -F '\t' -v OFS='\t' -v t="$2" -v l="$3" '$l ~ /^(positive|negative|neutral)$/ { print $t, $l }'; }
tail_of() { # the last sentences of a long review, where its writer says what he thinks, and its first ones
  perl -F'\t' -ane 'chomp @F; @s = split /(?<=[.!?]) +(?=[A-Z0-9"])/, $F[0]; @s > 5 and print join(" ", @s[-3 .. -1]), "\t$F[1]\n", join(" ", @s[0 .. 2]), "\t$F[1]\n" or print "$F[0]\t$F[1]\n"'
}
emotions() {
  unpack goemotions/train.tsv.xz | tail -n +2 | awk -F '\t' -v OFS='\t' '
    BEGIN { split("admiration amusement approval caring excitement gratitude joy love optimism pride relief", p, " "); for (i in p) k[p[i]] = "positive"
      split("anger annoyance disappointment disapproval disgust embarrassment fear grief nervousness remorse sadness", q, " "); for (i in q) k[q[i]] = "negative"; k["neutral"] = "neutral" }
    { n = split($2, e, ","); l = k[e[1]]; for (i = 2; i <= n; ++i) if (k[e[i]] != l) l = ""; gsub(/\[(NAME|RELIGION)\]/, "he", $1); if (l != "") print $1, l }'
}
for part in train dev; do
  sst2() { unpack sst2/$part.tsv.xz | awk -F '\t' 'NR > 1 { print $1 "\t" ($2 ? "positive" : "negative") }'; }
  make sst2-$part.tsv sst2
done
airline() { plain sent-en/airline.tsv.xz 1 2 | perl -pe 's/^(@\w+ )+//' | awk -v t="$1" '(NR % 10 == 0) == t'; }
make airline-test.tsv airline 1
kitchen() { unpack sent-en/amazon-4.tsv.xz | awk -F '\t' -v OFS='\t' '$1 == "kitchen" { print $3, $5 }' | perl -pe "$clean"; }
make kitchen-test.tsv kitchen
yelp() { plain sent-en/yelp/dev.tsv.xz 1 2 | random -n 4000; }
make yelp-test.tsv yelp
reviews() {
  { cat sst2-train.tsv
    plain sent-en/yelp/train.tsv.xz 1 2 | random -n 40000
    plain sent-en/imdb.tsv.xz 1 3 | tail_of
    unpack sent-en/amazon-4.tsv.xz | awk -F '\t' -v OFS='\t' 'NR > 1 && $1 != "kitchen" { print $2 ". " $3, $5; print $2, $5 }' | perl -pe "$clean" | tail_of
    airline 0
    plain sent-en/meld/train.tsv.xz 1 3
    plain sent-en/pros-cons.tsv.xz 1 2 | awk -F '\t' 'split($1, w, " ") > 3' | random -n 10000
    emotions
    unpack sst5/train.tsv.xz | awk -F '\t' -v OFS='\t' '$2 == 2 { print $1, "neutral" }'
    unpack subj/all.tsv.xz | awk -F '\t' -v OFS='\t' 'NR > 1 && $2 == 1 { print $1, "neutral" }' | random -n 2000 # plots
    head -40000 wiki.txt | awk -v OFS='\t' 'length() > 20 && length() < 120 { print $0, "neutral" }' | random -n 4000
  } | both | awk -F '\t' 'NR == FNR { key = tolower($1); gsub(/[^a-z0-9]/, "", key); held[key] = 1; next }
      { key = tolower($1); gsub(/[^a-z0-9]/, "", key) } key != "" && !(key in held)' \
      <(cat sst2-dev.tsv kitchen-test.tsv airline-test.tsv yelp-test.tsv; unpack sst2/test.tsv.xz | tail -n +2) - | random
}
make reviews.tsv reviews

# Entities: PER ORG LOC MISC. Where a set marks common nouns too, only capitalised names stay.
tags() { awk -v c="${1:-0}" '!NF { print ""; next } $1 != "-DOCSTART-" { print $1, $NF }'; }
iob2() { awk '!NF { print ""; before = "O"; next } { t = $2; k = substr(t, 3); if (t ~ /^I-/ && substr(before, 3) != k) t = "B-" k; print $1, t; before = $2 }'; }
kinds() { # FROM=TO,.. other kinds are O
  awk -v map="$1" 'BEGIN { n = split(map, m, ","); for (i = 1; i <= n; ++i) { split(m[i], p, "="); k[p[1]] = p[2] } }
    !NF { print ""; next } { t = substr($2, 3); print $1, (t in k) ? substr($2, 1, 2) k[t] : "O" }'
}
names_only() { # a marked stretch without its article; all its longer words begin with a capital, not only the sentence's first
  perl -00 -ne 'my @w = map { [split] } split /\n/; my $i = 0; while ($i < @w) { if ($w[$i][1] !~ /^B-(.*)/) { ++$i; next } my $k = $1; my $j = $i + 1; ++$j while $j < @w && $w[$j][1] eq "I-$k";
      my $b = $i; ++$b while $b < $j && $w[$b][0] =~ /^(the|a|an|his|her|their|its|our|my|your|this|that)$/i;
      my $ok = $b < $j && $j - $b <= 6 && !grep { length($_->[0]) > 3 && $_->[0] !~ /^[A-Z]/ } @w[$b .. $j - 1]; $ok &&= $w[$j - 1][0] =~ /^[A-Z]/ && ($b || $j - $b > 1 || $w[$b][0] =~ /^[A-Z].*[A-Z]/);
      $_->[1] = "O" for @w[$i .. $j - 1]; if ($ok) { $w[$_][1] = ($_ == $b ? "B-" : "I-") . $k for $b .. $j - 1 } $i = $j }
    print "$_->[0] $_->[1]\n" for @w; print "\n"'
}
without() { perl -00 -ne 'print unless /-'"$1"'$/m'; }
few() { perl -00 -ne 'BEGIN { srand 21 } print if rand() < '"$1"; }
conll() { unpack ner-en/conll2003/$1.txt.xz; }
make conll-train.txt conll train
make conll-dev.txt conll valid
names() {
  { for f in a b e f g; do unpack ner-en/btc/$f.conll.xz | tags | iob2; echo; done
    unpack ner-en/wnut17/train.conll.xz | tags | kinds person=PER,location=LOC,corporation=ORG,group=ORG,product=MISC,creative-work=MISC
    echo; unpack ner-en/gum/train.conll.xz | tags | kinds person=PER,place=LOC,organization=ORG | names_only
    echo; unpack ner-en/re3d/train.conll.xz | tags | kinds Person=PER,Location=LOC,Organisation=ORG,Nationality=MISC | names_only
    echo; unpack ner-en/sec/train.txt.xz | tags | iob2 | few 0.5
    echo; unpack ner-en/uner/ewt-dev.conll.xz | tags; echo; unpack ner-en/uner/pud.conll.xz | tags
    echo; unpack ner-en/crossner/five-domains.conll.xz | tags | without MISC
    echo; unpack ner-en/wikineural/val.conll.xz | tags
  } | perl -00 -ne 's/\n*\z/\n\n/; print'
}
make names.txt names
for f in btc/h:btc-test: wnut17/dev:wnut-dev:person=PER,location=LOC,corporation=ORG,group=ORG,product=MISC,creative-work=MISC uner/ewt-test:ewt-test: wikineural/test:wikineural-test:; do
  IFS=: read -r from to map <<<"$f"
  gold() { unpack ner-en/$from.conll.xz | tags | if [ "$map" ]; then kinds "$map"; else iob2; fi; }
  make ner-$to.txt gold
done

# Questions, a third of them also to another paragraph of the same article, which has no answer.
unpack_to() { unpack "$1"; }
make squad-train.json unpack_to squad/train-v1.1-44articles.json.xz
make squad-dev.json unpack_to squad/dev-v1.1.json.xz
make squad2-dev.json unpack_to squad/dev-v2.0.json.xz
make squad2-slice.json unpack_to squad/train-v2.0-slice.json.xz
make subjqa-train.json unpack_to subjqa/train.json.xz
for part in train dev; do make qamr-$part.json unpack_to qamr/$part.json.xz; done
elsewhere() {
  jq -c '{version: "2.0", data: [.data[] | {title, paragraphs: [.paragraphs as $p | ($p | length) as $n | select($n > 2) | range(0; $n) as $i | $p[($i + 1) % $n].context as $c
      | {context: $c, qas: [$p[$i].qas | to_entries[] | select(.key % 3 == 0) | .value
          | select(.answers[0].text as $t | ($c | contains($t)) | not) | {id: (.id + "-no"), question, answers: [], is_impossible: true}]} | select(.qas | length > 0)]}]}' squad-train.json
}
make squad-none.json elsewhere
# SQuAD 2.0's train part, back-translated: the surest guesses of which marked span answers which question, and questions
# that have no answer by their place. models of this recipe choose more of them later (agree, below).
guesses() {
  jq -cn --slurpfile g <(unpack squad2-bt/guess.jsonl.xz) '($g | map({key: "\(.doc)-\(.par)", value: .}) | from_entries) as $by
    | {version: "2.0", data: [inputs | select(.doc > 9) | . as $p | $by["\(.doc)-\(.par)"] as $g | select($g) | {title: "\(.doc)", paragraphs: [{context, qas: (
        [$g.a | to_entries[] | select(.value[2] > 0.75) | {id: "bt-\($p.doc)-\($p.par)-\(.key)", question: $p.questions[.key],
           answers: [{answer_start: .value[0], text: $p.context[.value[0]:.value[1]]}]}]
        + (if $g.mixed then [range(5; $p.questions | length) | {id: "bt-\($p.doc)-\($p.par)-\(.)", question: $p.questions[.], answers: [], is_impossible: true}][:2] else [] end))}]}
      | select(.paragraphs[0].qas | length > 0)]}' <(unpack squad2-bt/paragraphs.jsonl.xz)
}
make bt-guess.json guesses

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
make sst2-few.tsv head -400 sst2-dev.tsv
few_questions() { jq -c '.data |= .[0:2]' squad2-dev.json; }
make squad2-few.json few_questions
make conll-few.txt head -6000 conll-dev.txt
[ "$until" = prepare ] && exit

# One long run at a constant rate, to be ended at any checkpoint; then one that falls to 0.
# On CPUs with AVX512-BF16 add --dtype bf16 before the first step (a run goes on as it began).
start=$(cd "${START:?the default model}" && pwd) teacher=$(cd "${TEACHER:?all-MiniLM-L6-v2}" && pwd)
task() { printf '%s\t%s\t%s\t%s\t%s\n' "$@"; }
trunk() {
  task - mlm wiki.txt held.txt 'batch=16 probability=0.2 weight=0.9'
  task - mlm books.txt - 'batch=10 probability=0.2 weight=0.6'
  task - mlm news.txt held-news.txt 'batch=4 probability=0.2 weight=0.25'
  task - mlm talk.txt held-dialogue.txt 'batch=6 probability=0.2 weight=0.35'
  task - mlm short.txt - 'batch=32 length=40 probability=0.2 weight=0.6'
  task - vectors vectors-train.txt vectors-dev.txt "batch=14 length=160 teacher=$teacher weight=5"
  task sentiment classify reviews.tsv sst2-few.tsv 'batch=24 length=128 labels=negative,positive weight=1'
  task ner ner conll-train.txt,conll-train.txt,names.txt conll-few.txt 'batch=16 length=128 weight=3'
  task qa qa squad-train.json,squad-train.json,squad-none.json,squad2-slice.json,qamr-train.json,qamr-dev.json,subjqa-train.json,bt-guess.json squad2-few.json 'batch=5 length=320 weight=0.5'
}
train() { # name, start, steps, rate, seed, schedule, warm-up
  multitask "$1.tsv" -m "$2" --output "$1" --steps "$3" --eval-steps 250 --lr "$4" --seed "$5" --schedule "$6" --warmup "$7" \
    --dropout 0 --max-batch-tokens 3072 --save-steps "${SAVE:-200}" --jobs "${JOBS:-2}" --resume
}
trunk >trunk.tsv
[ -s trunk/model.safetensors ] || train trunk "$start" 6000 3e-4 12 constant 0.02

# Hard choice: of the model's own best answers, those that are exactly one of the paragraph's marked spans.
agree() {
  unpack squad2-bt/paragraphs.jsonl.xz | jq -c 'select(.doc > 9)' >bt.jsonl
  jq -r '. as $p | .questions | to_entries[] | [.value, $p.context, "\($p.doc)-\($p.par)-\(.key)"] | map(gsub("[\t\r\n]"; " ")) | join("\t")' bt.jsonl >bt-asked.tsv
  qa -m trunk --chars bt-asked.tsv | cut -f 2-4,7 >bt-answered.tsv
  jq -cn --rawfile a bt-answered.tsv '($a | split("\n") | map(select(. != "") | split("\t") | {key: .[3], value: [(.[1] | tonumber), (.[2] | tonumber), (.[0] | tonumber)]}) | from_entries) as $by
    | {version: "2.0", data: [inputs | . as $p | {title: "\(.doc)", paragraphs: [{context, qas: [.questions | to_entries[] | $by["\($p.doc)-\($p.par)-\(.key)"] as $m
        | select($m and $m[2] > 0.3 and any($p.spans[]; .[0] == $m[0] and .[1] == $m[1]))
        | {id: "bt-\($p.doc)-\($p.par)-\(.key)", question: .value, answers: [{answer_start: $m[0], text: $p.context[$m[0]:$m[1]]}]}]}]}
      | select(.paragraphs[0].qas | length > 0)]}' bt.jsonl
}
make bt-agreed.json agree
decay() {
  trunk | sed 's/bt-guess.json/bt-guess.json,bt-agreed.json/; s/^\(sentiment.*\)batch=24/\1batch=40/; s/^\(ner.*\)batch=16\(.*\)weight=3/\1batch=24\2weight=5/; s/^\(qa.*\)batch=5/\1batch=8/'
}
decay >decay.tsv
[ -s decay/model.safetensors ] || train decay trunk 2000 3e-4 13 linear 0.02

# One small file; vectors are means of unit length, as the teacher's.
cp -r "$teacher/modules.json" "$teacher/1_Pooling" decay/
quantize -m decay -o default --dtype int8
