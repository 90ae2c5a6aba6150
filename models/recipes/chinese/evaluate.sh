#!/bin/bash
# What the Chinese model can do, on the sets' own dev and test parts, by the toolkit's own programs.
# usage: evaluate.sh DATA WORK MODEL [PART..], DATA as for make.sh, WORK where make.sh has run; tools, jq, perl, xz on PATH
#   PART: text reviews names parts questions vectors sentences; default: all of them
# LIMIT=N in the environment: N records of each set at most, for a quick look.
set -euo pipefail
data=$(cd "$1" && pwd) work=$(cd "$2" && pwd) model=$(cd "$3" && pwd)
shift 3
parts=" ${*:-text reviews names parts questions vectors sentences} "
export LC_ALL=C
limit=${LIMIT:-1000000}
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
unpack() { xz -dc "$data/$1"; }
row() { printf '%s\t%s\n' "$1" "$2"; }
wants() { [[ $parts == *" $1 "* ]]; }
first() { awk -v n="$limit" 'NR <= n' "$@"; }
first_documents() { awk -v n="$limit" '!NF { ++d } d < n' "$@"; }
# The part of the rows whose probability lies in one of ten bins, times how far its mean is from the part that is right.
calibration() { # rows: probability of negative, of positive, text, label
  awk -F '\t' '{ p = $1 > $2 ? $1 : $2; right = ($2 >= $1 ? "positive" : "negative") == $NF; b = int(p * 10); if (b == 10) b = 9
      c[b] += p; r[b] += right; n++; sum += p; all += right }
    END { for (b in c) e += (c[b] > r[b] ? c[b] - r[b] : r[b] - c[b]); printf "%.3f (mean probability %.3f)", e / n, sum / n }'
}

if wants text; then
  for kind in hans hant c3 lctt; do
    awk 'length(t) + length($0) > 700 || !NF { if (length(t) > 300) print t; t = "" } { t = t $0 }' "$work/held-$kind.txt" | awk -v n="$limit" 'NR <= 700 && NR <= n' >"$tmp/pieces"
    row "held-out $kind, masked characters (15%, 80/10/10), top-1" "$(tokenize -m "$model" "$tmp/pieces" | mlm-mask -m "$model" --seed 1 --tokens --labels |
      mlm-fill -m "$model" --tokens --labels 2 2>&1 >/dev/null | sed -n 's/.*top-1 \([0-9.]*\).*/\1/p')"
    nsp-pairs "$work/held-$kind.txt" | first | nsp-score -m "$model" --gold 3 2>"$tmp/report" >/dev/null
    row "held-out $kind, next sentence, accuracy" "$(awk '$1 == "accuracy" { print $2 }' "$tmp/report")"
  done
fi

if wants reviews; then
  for set in chnsenticorp-dev chnsenticorp-test waimai-test shopping-test; do
    first "$work/$set.tsv" | classify -m "$model" --head sentiment -f 1 --gold 2 --all 2>"$tmp/report" >"$tmp/rows"
    row "$set, accuracy" "$(awk '$1 == "accuracy" { print $2 }' "$tmp/report")"
    row "$set, expected calibration error" "$(calibration <"$tmp/rows")"
  done
fi

if wants names; then
  for set in msra weibo resume gsdsimp; do
    first_documents "$work/ner-$set-test.txt" | ner -m "$model" --head ner --gold --columns 2>"$tmp/report" >/dev/null
    row "$set test, F1 of entities" "$(awk '$1 == "micro" { print $4 }' "$tmp/report")"
  done
fi

if wants parts; then
  first_documents "$work/pos-test.txt" | ner -m "$model" --head pos --gold --columns 2>"$tmp/report" >/dev/null
  row 'gsdsimp test, parts of speech, accuracy' "$(awk '$1 == "words" || $1 == "accuracy" || $1 == "right" { print $1, $2 }' "$tmp/report" | tr '\n' ' ')"
fi

# CMRC 2018's own measure: characters and Latin words in common, one after the other, punctuation apart.
characters_f1() { # rows: answer, score, start, end, question, context, answers
  perl -CSD -Mutf8 -MJSON::PP -F'\t' -ane 'use Encode;
    sub cut { my $t = lc shift; $t =~ s/[\p{P}\p{S}\s]/ /g; [$t =~ /\p{Han}|[^\p{Han}\s]+/g] }
    sub common { my ($a, $b) = @_; my ($best, @row) = (0); for my $i (0 .. $#$a) { my @new; for my $j (0 .. $#$b) {
      $new[$j] = $a->[$i] eq $b->[$j] ? 1 + ($j ? $row[$j - 1] // 0 : 0) : 0; $best = $new[$j] if $new[$j] > $best } @row = @new } $best }
    chomp @F; my $mine = cut($F[0]); my ($f, $e) = (0, 0);
    for (@{decode_json(encode("UTF-8", $F[-1]))}) { my $true = cut($_); my $c = common($mine, $true);
      if ($c) { my $v = 2 * $c / (@$mine + @$true); $f = $v if $v > $f } $e = 1 if "@$mine" eq "@$true" }
    $n++; $fs += $f; $es += $e; END { printf "%.1f (exact %.1f, %d questions)", 100 * $fs / $n, 100 * $es / $n, $n }'
}
questions() { xz -dcf "$1" | jq -r '.data[].paragraphs[] | .context as $c | .qas[] | [.question, $c, (.answers | map(.text) | @json)] | map(gsub("[\t\r\n]"; " ")) | join("\t")'; }
if wants questions; then
  for set in "$data/cmrc2018/cmrc2018_dev.json.xz" "$work/drcd-test.json" "$data/xquad/xquad.zh.json.xz"; do
    questions "$set" | first >"$tmp/qc"
    qa -m "$model" "$tmp/qc" | characters_f1 >"$tmp/f1"
    row "$(basename "$set"), F1 of characters" "$(cat "$tmp/f1")"
    qa -m "$model" --null-margin 1000 "$tmp/qc" | characters_f1 >"$tmp/f1"
    row "$(basename "$set"), the same, always an answer" "$(cat "$tmp/f1")"
    # A question about the text of a later question, which has no answer to it.
    awk -F '\t' '{ q[NR] = $1; c[NR] = $2 } END { for (i = 1; i <= NR; ++i) print q[i] "\t" c[(i + 99) % NR + 1] }' "$tmp/qc" | qa -m "$model" >"$tmp/rows"
    row "$(basename "$set"), refused about another text" "$(awk -F '\t' '{ n += $1 == "" } END { printf "%d of %d", n, NR }' "$tmp/rows")"
  done
fi

spearman() {
  sort -g -k "$1,$1" - | awk -v c="$1" '{ line[NR] = $0; v[NR] = $c }
    END { for (i = 1; i <= NR; i = j) { for (j = i; j <= NR && v[j] == v[i]; ++j); for (k = i; k < j; ++k) print line[k], (i + j - 1) / 2 } }'
}
likeness() { # SET: Spearman of cosine and score; rest: embed's options
  unpack "pair-zh/sts-b-zh/$1.tsv.xz" | first | embed "${@:2}" --compare -f 1,2 --keep | awk -F '\t' '{ print $NF, $1 }' | spearman 1 | spearman 2 |
    awk '{ n++; a += $3; b += $4; ab += $3 * $4; aa += $3 * $3; bb += $4 * $4 } END { printf "%.3f", (n * ab - a * b) / sqrt((n * aa - a * a) * (n * bb - b * b)) }'
}
# The question's paragraph is the nearest of N.
found() { # N, embed's options
  local dims
  questions "$data/cmrc2018/cmrc2018_dev.json.xz" | awk -F '\t' -v n="$1" '!seen[$2]++ && ++k <= n' >"$tmp/qc"
  dims=$(jq .hidden_size "$model/config.json")
  for f in 1 2; do cut -f $f "$tmp/qc" | embed "${@:2}" --normalize --format f32 >"$tmp/v$f"; done
  perl -e 'my ($d, $q, $p) = @ARGV; sub get { local $/; open my $f, "<:raw", $_[0]; my @v = unpack "f<*", <$f>; my @r; push @r, [splice @v, 0, $d] while @v; @r }
    my @q = get($q); my @p = get($p); for my $i (0 .. $#q) { my ($best, $at) = (-2); for my $j (0 .. $#p) { my $s = 0; $s += $q[$i][$_] * $p[$j][$_] for 0 .. $d - 1; ($best, $at) = ($s, $j) if $s > $best } $r += $at == $i }
    printf "%.3f", $r / @q' "$dims" "$tmp/v1" "$tmp/v2"
}
if wants vectors; then
  for set in dev test; do
    row "STS-B-zh $set, Spearman" "$(likeness $set -m "$model") (teacher, cls: $(likeness $set -m "$work/bge"), mean: $(likeness $set -m "$work/bge" --pool mean))"
  done
  n=$((limit < 300 ? limit : 300))
  row "CMRC dev, question to paragraph, P@1 of $n" "$(found $n -m "$model") (teacher, cls: $(found $n -m "$work/bge"), mean: $(found $n -m "$work/bge" --pool mean))"
fi

# Everyday sentences: 60 for each tool, with the answers that fit and those that come. everyday/answers.tsv has these rows.
if wants sentences; then
  cd "$here/everyday"
  mlm-fill -m "$model" -k 1 <(cut -f 1 masks.tsv) | cut -f 5 | paste masks.tsv - |
    awk -F '\t' -v OFS='\t' '{ print "masks", index(" " $2 " ", " " $3 " ") ? "right" : index($1, $3) ? "copied" : "wrong", $0 }' >"$tmp/everyday"
  cut -f 1 sentiment.tsv | classify -m "$model" --head sentiment -o | paste sentiment.tsv - |
    awk -F '\t' -v OFS='\t' '{ print "sentiment", $2 == "neutral" ? $4 < 0.8 ? "unsure" : "sure" : $2 == $3 ? "right" : "wrong", $0 }' >>"$tmp/everyday"
  cut -f 1 names.tsv | ner -m "$model" --head ner | awk -F '\t' -v OFS='\t' 'FNR == NR { found[$1] = found[$1] (found[$1] == "" ? "" : " ") $6 "=" $4; next }
    { print "names", found[FNR] == $2 ? "right" : "wrong", $0, found[FNR] }' - names.tsv >>"$tmp/everyday"
  qa -m "$model" -o questions.tsv | cut -f 1,2 | paste questions.tsv - | perl -MJSON::PP -MEncode -F'\t' -ane 'chomp @F; my %true = map { lc encode("UTF-8", $_), 1 } @{decode_json($F[2])}; $true{""} = 1 unless %true;
    print join("\t", "questions", $true{lc $F[3]} ? "right" : "wrong", @F), "\n"' >>"$tmp/everyday"
  printf '我 爱 你\n他 在 学校 学习 汉语 。\n' | ner -m "$model" --head pos --words --conll -o | sed 's/^/parts\t/'
  mlm-fill -m "$model" <<<'燕子去了，有再[MASK]的时候；杨柳[MASK]了，有再青的时候；桃花[MASK]了，有再开的时候。但是，聪明的，你告诉[MASK]，我们的日子为[MASK]么一去不复[MASK]呢？' | sed 's/^/masks\t/'
  awk -F '\t' '{ n[$1 " " $2]++ } END { for (k in n) print "everyday, " k "\t" n[k] }' "$tmp/everyday" | sort
  cat "$tmp/everyday"
fi
