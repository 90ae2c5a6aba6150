#!/bin/bash
# What an English model can do, inside and outside the kinds of text it learned from: the numbers of ../../default/README.md.
# usage: evaluate.sh DATA WORK MODEL [PART..], with the tools, jq, perl and xz on PATH
#   DATA as for heads.sh; besides: {ner-en/conll2003/test.txt,subjqa/dev.json,policyqa/dev.json,xquad/xquad.en.json,sts-b/dev.tsv,
#     tweeteval/emotion/test.tsv,blimp/blimp.jsonl}.xz
#   WORK: where `heads.sh DATA WORK prepare` has run
#   PART: text reviews names questions vectors sentences; default: all of them
# LIMIT=N in the environment: N records of each set at most, for a quick look. EXAMPLES: the toolkit's examples/ (BLiMP).
set -euo pipefail
data=$(cd "$1" && pwd) work=$(cd "$2" && pwd) model=$(cd "$3" && pwd)
shift 3
parts=" ${*:-text reviews names questions vectors sentences} "
export LC_ALL=C
limit=${LIMIT:-1000000}
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
unpack() { xz -dc "$data/$1"; }
row() { printf '%s\t%s\n' "$1" "$2"; }
wants() { [[ $parts == *" $1 "* ]]; }
first() { awk -v n="$limit" 'NR <= n' "$@"; }
first_documents() { awk -v n="$limit" '!NF { ++d } d < n' "$@"; }
# How far the mean probability of each of ten bins is from the part that is right, and what the probability would be
# with another temperature.
calibration() { # rows: probability of negative, of positive, text, label
  awk -F '\t' '{ p = $1 > $2 ? $1 : $2; right = ($2 >= $1 ? "positive" : "negative") == $NF; b = int(p * 10); if (b == 10) b = 9
      c[b] += p; r[b] += right; n++; sum += p; all += right }
    END { for (b in c) e += (c[b] > r[b] ? c[b] - r[b] : r[b] - c[b]); printf "%.3f (mean probability %.3f)", e / n, sum / n }'
}
masked_top1() { # the first 2000 lines
  awk -v n="$limit" 'NR <= 2000 && NR <= n' | tokenize -m "$model" | mlm-mask -m "$model" --seed 1 --tokens --labels | mlm-fill -m "$model" --tokens --labels 2 2>&1 >/dev/null | sed -n 's/.*top-1 \([0-9.]*\).*/\1/p'
}
if wants text; then
  for kind in held held-news held-dialogue held-reviews; do
    row "$kind, paragraphs, masked tokens (15%, 80/10/10), top-1" "$(awk 'length(t) + length($0) > 500 || !NF { if (length(t) > 200) print t; t = "" } { t = t (t == "" ? "" : " ") $0 }' "$work/$kind.txt" | masked_top1)"
    row "$kind, single sentences, top-1" "$(awk 'split($0, w, " ") >= 6 && length() < 160' "$work/$kind.txt" | masked_top1)"
    nsp-pairs "$work/$kind.txt" | first | nsp-score -m "$model" --gold 3 2>"$tmp/report" >/dev/null
    row "$kind, next sentence, accuracy" "$(awk '$1 == "accuracy" { print $2 }' "$tmp/report")"
  done
  [ -z "${EXAMPLES:-}" ] || row 'BLiMP, mean accuracy' "$(unpack blimp/blimp.jsonl.xz | awk -v n="$limit" '(NR - 1) % 1000 < n' | xz -0 >"$tmp/blimp.xz" && BERT_MODEL=$model bash "$EXAMPLES/blimp.sh" "$tmp/blimp.xz" | awk '$1 == "total" { print $3 }')"
fi
if wants reviews; then
  for set in sst2-dev kitchen-test yelp-test airline-test; do cp "$work/$set.tsv" "$tmp/$set"; done
  unpack tweeteval/emotion/test.tsv.xz | awk -F '\t' -v OFS='\t' 'NR > 1 { print $1, $2 == 1 || $2 == 2 ? "positive" : "negative" }' >"$tmp/tweeteval-emotion-test" # joy, optimism
  for set in sst2-dev kitchen-test yelp-test airline-test tweeteval-emotion-test; do # airline: those that are not neutral
    awk -F '\t' '$2 != "neutral"' "$tmp/$set" | first | classify -m "$model" --head sentiment -f 1 --gold 2 --all 2>"$tmp/report" >"$tmp/rows"
    row "$set, accuracy" "$(awk '$1 == "accuracy" { print $2 }' "$tmp/report")"
    row "$set, expected calibration error" "$(calibration <"$tmp/rows")"
  done
  row 'airline, neutral tweets, mean probability of the better label' "$(awk -F '\t' '$2 == "neutral" { print $1 }' "$work/airline-test.tsv" | first | classify -m "$model" --head sentiment --all -o | awk -F '\t' '{ s += $1 > $2 ? $1 : $2; n++ } END { printf "%.3f", s / n }')"
fi
if wants names; then
  cp "$work/conll-dev.txt" "$tmp/conll-dev"
  unpack ner-en/conll2003/test.txt.xz >"$tmp/conll-test"
  for set in btc-test wnut-dev ewt-test wikineural-test; do cp "$work/ner-$set.txt" "$tmp/$set"; done
  for set in conll-dev conll-test btc-test wnut-dev ewt-test wikineural-test; do
    first_documents "$tmp/$set" | ner -m "$model" --head ner --gold --columns 2>"$tmp/report" >/dev/null
    row "$set, F1 of entities" "$(awk '$1 == "micro" { print $4 }' "$tmp/report") ($(awk '$1 ~ /^(PER|LOC|ORG|MISC)$/ { print $1, $4 }' "$tmp/report" | tr '\n' ' '))"
  done
fi
questions() { xz -dcf "$1" | jq -r '.data[].paragraphs[] | .context as $c | .qas[] | [.question, $c, (.answers | map(.text) | @json)] | map(gsub("[\t\r\n]"; " ")) | join("\t")' | first; }
f1() { awk '$1 == "f1" { print $2 }' "$tmp/report"; }
if wants questions; then
  for set in squad/dev-v1.1 xquad/xquad.en; do
    questions "$data/$set.json.xz" >"$tmp/qc"
    qa -m "$model" --gold 3 --null-margin 1000 "$tmp/qc" 2>"$tmp/report" >/dev/null
    row "$set, F1, always an answer" "$(f1)"
    qa -m "$model" --gold 3 "$tmp/qc" 2>"$tmp/report" >/dev/null
    row "$set, F1" "$(f1)"
  done
  for set in squad/dev-v2.0 subjqa/dev policyqa/dev; do
    questions "$data/$set.json.xz" >"$tmp/qc"
    for margin in '' --null-margin={0,1000}; do # the model's own, a stricter one, always an answer
      qa -m "$model" --gold 3 $margin "$tmp/qc" 2>"$tmp/report" >"$tmp/rows"
      row "$set, F1${margin:+, $margin}" "$(f1) (always empty: $(awk -F '\t' '$3 == "[]" { e++ } END { printf "%.1f", 100 * e / NR }' "$tmp/qc"); refused, of those without an answer: $(awk -F '\t' '$NF == "[]" { n++; r += $1 == "" } END { printf "%d of %d", r, n }' "$tmp/rows"))"
    done
  done
fi
spearman() {
  sort -g -k "$1,$1" - | awk -v c="$1" '{ line[NR] = $0; v[NR] = $c }
    END { for (i = 1; i <= NR; i = j) { for (j = i; j <= NR && v[j] == v[i]; ++j); for (k = i; k < j; ++k) print line[k], (i + j - 1) / 2 } }'
}
found() { # N: the question's paragraph is the nearest of N
  local dims
  questions "$data/squad/dev-v1.1.json.xz" | awk -F '\t' -v n="$1" '!seen[$2]++ && ++k <= n' >"$tmp/qc"
  dims=$(jq .hidden_size "$model/config.json")
  for f in 1 2; do cut -f $f "$tmp/qc" | embed -m "$model" --normalize --format f32 >"$tmp/v$f"; done
  perl -e 'my ($d, $q, $p) = @ARGV; sub get { local $/; open my $f, "<:raw", $_[0]; my @v = unpack "f<*", <$f>; my @r; push @r, [splice @v, 0, $d] while @v; @r }
    my @q = get($q); my @p = get($p); for my $i (0 .. $#q) { my ($best, $at) = (-2); for my $j (0 .. $#p) { my $s = 0; $s += $q[$i][$_] * $p[$j][$_] for 0 .. $d - 1; ($best, $at) = ($s, $j) if $s > $best } $r += $at == $i }
    printf "%.3f", $r / @q' "$dims" "$tmp/v1" "$tmp/v2"
}
if wants vectors; then
  row 'STS-B dev, Spearman' "$(unpack sts-b/dev.tsv.xz | tail -n +2 | first | embed -m "$model" --compare -f 1,2 --keep | awk -F '\t' '{ print $1, $NF }' | spearman 1 | spearman 2 |
    awk '{ n++; a += $3; b += $4; ab += $3 * $4; aa += $3 * $3; bb += $4 * $4 } END { printf "%.3f", (n * ab - a * b) / sqrt((n * aa - a * a) * (n * bb - b * b)) }')"
  n=$((limit < 400 ? limit : 400))
  row "SQuAD dev, question to paragraph, P@1 of $n" "$(found $n)"
fi
# Everyday sentences: 60 for each tool, with the answers that fit and those that come. everyday/answers.tsv has these rows.
if wants sentences; then
  cd "$here/everyday"
  mlm-fill -m "$model" -k 1 <(cut -f 1 masks.tsv) | cut -f 5 | paste masks.tsv - |
    awk -F '\t' -v OFS='\t' '{ w = tolower($3); fits = index(" " $2 " ", " " w " ") > 0; s = " " tolower($1) " "; gsub(/[^a-z]+/, " ", s)
      print "masks", fits ? "right" : w ~ /^[a-z]+$/ && index(s, " " w " ") ? "copied" : "wrong", $0 }' >"$tmp/everyday"
  cut -f 1 sentiment.tsv | classify -m "$model" --head sentiment -o | paste sentiment.tsv - |
    awk -F '\t' -v OFS='\t' '{ print "sentiment", $2 == "neutral" ? $4 < 0.8 ? "unsure" : "sure" : $2 == $3 ? "right" : "wrong", $0 }' >>"$tmp/everyday"
  cut -f 1 names.tsv | ner -m "$model" --head ner | awk -F '\t' -v OFS='\t' 'FNR == NR { found[$1] = found[$1] (found[$1] == "" ? "" : " ") $6 "=" $4; next }
    { print "names", found[FNR] == $2 ? "right" : "wrong", $0, found[FNR] }' - names.tsv >>"$tmp/everyday"
  qa -m "$model" -o questions.tsv | cut -f 1,2 | paste questions.tsv - | perl -MJSON::PP -MEncode -F'\t' -ane 'chomp @F; my %true = map { lc encode("UTF-8", $_), 1 } @{decode_json($F[2])}; $true{""} = 1 unless %true;
    print join("\t", "questions", $true{lc $F[3]} ? "right" : "wrong", @F), "\n"' >>"$tmp/everyday"
  awk -F '\t' '{ n[$1 " " $2]++ } END { for (k in n) print "everyday, " k "\t" n[k] }' "$tmp/everyday" | sort
  cat "$tmp/everyday"
fi
