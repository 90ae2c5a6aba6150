#!/bin/bash
# Bad records (S14): by default one ends the run after the rows before it; with --skip-bad its place is empty, the others
# have the rows that they have without it, and nothing is counted twice. Blank records behind the truth, byte order marks.
. "$(dirname "$0")/common.sh"
tools+=(attend)
arguments[attend]="-m $models/tiny-bert -k 1 --heads 1"
notices='no record has a mask|unknown to the vocabulary' # lines on stderr that are right for these records

# bad N...: the lines of stdin with the Nth replaced by one of a single field
bad() { awk -v lines=" $* " 'index(lines, " " NR " ") { print "short " NR; next } { print }'; }
# places COLUMNS ANNOTATOR BAD GOOD_ROWS: the rows wanted: each line of BAD with one field gets empty columns
places() {
  awk -F '\t' -v columns="$1" -v annotator="$2" -v rows="$4" '
    NF > 1 { getline row < rows; print row; next }
    { for (i = 1; i < columns; ++i) printf "\t"; print annotator ? "\t" $0 : "" }' "$3"
}

input 400 >"$work/in"
bad 1 2 77 200 201 202 400 <"$work/in" >"$work/bad"
awk -F '\t' 'NF > 1' "$work/bad" >"$work/good"
sed '3s/cat/c\xfft/; 77s/^/\xc3\t/; 301s/dogs/\xe2\x82/' "$work/in" >"$work/bytes"
for t in "${tools[@]}"; do
  fields=2 annotator=
  case $t in
    nsp-score | qa | rank) fields=1,2 annotator=1 ;;
    mlm-score | classify | ner | chunk) annotator=1 ;;
  esac
  tool "$t" -f $fields "$work/good" >"$work/rows" 2>/dev/null
  columns=$(head -1 "$work/rows" | awk -F '\t' -v more="${annotator:+2}" '{ print NF - more }')
  if [ "$t" = attend ]; then # several rows a record, or none
    cp "$work/rows" "$work/want"
  else
    places "$columns" "$annotator" "$work/bad" "$work/rows" >"$work/want"
  fi
  told="found 1 field, wants at least 2, separated by tabs"
  for j in 1 4; do
    tool "$t" -j $j -f $fields "$work/bad" >"$work/out" 2>"$work/err"
    expect "$t -j $j: status" "$? $(wc -c <"$work/out")" "65 0"
    tool "$t" -j $j --skip-bad -f $fields "$work/bad" >"$work/out" 2>"$work/err"
    expect "$t -j $j --skip-bad: status" $? 65
    expect "$t -j $j --skip-bad: message" "$(grep -vE "$notices" "$work/err")" \
      "$t: skipped 7 of 400 records; the first: $work/bad: record 1: $told"
    if [ "$t" = attend ]; then # whose rows have the numbers of all records
      expect "$t -j $j --skip-bad" "$(cut -f 1 "$work/out" | uniq | wc -l)" 393
      equal "$t -j $j --skip-bad" <(cut -f 2- "$work/out") <(cut -f 2- "$work/want")
      continue
    fi
    equal "$t -j $j --skip-bad" "$work/out" "$work/want"
    cat "$work/bad" | tool "$t" -j $j --skip-bad -f $fields >"$work/out" 2>"$work/err"
    expect "$t -j $j --skip-bad of a pipe: status" $? 65
    equal "$t -j $j --skip-bad of a pipe" "$work/out" "$work/want"
    tr '\n' '\0' <"$work/bad" | tool "$t" -j $j -0 --skip-bad -f $fields 2>"$work/err" | tr '\0' '\n' >"$work/out"
    equal "$t -j $j -0 --skip-bad" "$work/out" "$work/want"
    tool "$t" -j $j -n --skip-bad -f $fields "$work/bad" 2>/dev/null | cut -f 2- >"$work/out"
    equal "$t -j $j -n --skip-bad" "$work/out" "$work/want"
    tool "$t" -j $j --keep --skip-bad -f $fields "$work/bad" 2>/dev/null | awk -F '\t' 'NR == 77 { print NF, $NF }' >"$work/out"
    expect "$t -j $j --keep --skip-bad" "$(cat "$work/out")" "$((columns + 1)) short 77"

    # What only a worker finds.
    tool "$t" -j $j <"$work/bytes" >"$work/whole" 2>/dev/null
    tool "$t" -j $j --strict --skip-bad <"$work/bytes" >"$work/out" 2>"$work/err"
    expect "$t -j $j --strict --skip-bad: status" "$? $(wc -l <"$work/out")" "65 400"
    expect "$t -j $j --strict --skip-bad: message" "$(grep -vE "$notices" "$work/err")" \
      "$t: skipped 3 of 400 records; the first: -: record 3: is not UTF-8"
    equal "$t -j $j --strict --skip-bad" <(sed '3d;77d;301d' "$work/out") <(sed '3d;77d;301d' "$work/whole")
  done
  [ "$t" = attend ] && continue
  if command -v python3 >/dev/null; then
    tool "$t" --json --skip-bad -f $fields "$work/bad" 2>/dev/null | python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin.buffer]
print([r["record"] for r in rows] == list(range(1, 401)), [r["record"] for r in rows if set(r) == {"record", "error"}],
      rows[76]["error"])' >"$work/out" 2>&1
    expect "$t --json --skip-bad" "$(cat "$work/out")" "True [1, 2, 77, 200, 201, 202, 400] $work/bad: record 77: $told"
  fi
  printf 'x\n\ny' | tool "$t" --skip-bad -f $fields >"$work/out" 2>"$work/err"
  expect "$t --skip-bad, all bad" "$? $(wc -l <"$work/out") $(cut -d : -f 2- "$work/err" | cut -d ';' -f 1)" "65 3  skipped 3 of 3 records"

  # A byte order mark belongs to no record, in whatever pieces it comes; elsewhere it is text.
  tool "$t" "$work/in" "$work/in" >"$work/want" 2>/dev/null
  (printf '\xef\xbb\xbf'; cat "$work/in") >"$work/mark"
  tool "$t" "$work/mark" "$work/mark" >"$work/out" 2>"$work/err"
  expect "$t byte order mark: status" "$? $(grep -vE "$notices" "$work/err")" "0 "
  equal "$t byte order mark" "$work/out" "$work/want"
  (printf '\xef'; sleep 0.02; printf '\xbb'; sleep 0.02; printf '\xbf'; cat "$work/in") | tool "$t" - "$work/in" >"$work/out" 2>/dev/null
  equal "$t byte order mark in pieces" "$work/out" "$work/want"
  expect "$t: nothing but a byte order mark" "$(printf '\xef\xbb\xbf' | tool "$t" 2>&1 | wc -c)" 0
  names=text
  [ $fields = 1,2 ] && names=text,b
  printf '\xef\xbb\xbftext\tb\nthe [MASK]\tran\n' | tool "$t" --header -f $names >"$work/out" 2>"$work/err"
  expect "$t: a header behind a byte order mark" "$? $(wc -l <"$work/out") $(cat "$work/err")" "0 2 "

  # CSV where TSV is wanted.
  wanted=label
  [ $fields = 1,2 ] && wanted=text,label
  printf 'text,label\nthe cat,good\n' | tool "$t" --header -f $wanted >"$work/out" 2>"$work/err"
  expect "$t CSV: status" "$? $(wc -c <"$work/out")" "65 0"
  expect "$t CSV: message" "$(cut -d ';' -f 2 "$work/err")" " commas separate fields with --csv"
  tool "$t" -o --keep "$work/in" >"$work/out" 2>"$work/err"
  expect "$t -o --keep: status" "$? $(wc -c <"$work/out")" "64 0"
done

# A measure counts each record once, whatever stands beside it.
# same_measure NAME WANT...: the same command on the good lines and with bad ones between them
same_measure() { # FILE BAD_FILE COMMAND...
  local file=$1 bad=$2 j
  shift 2
  "$@" "$file" >"$work/out" 2>"$work/want"
  for j in 1 4; do
    "$@" -j $j --skip-bad "$bad" >"$work/out" 2>"$work/err"
    expect "$1 -j $j --skip-bad: status" $? 65
    expect "$1 -j $j --skip-bad: measure" "$(grep -v skipped "$work/err")" "$(cat "$work/want")"
    expect "$1 -j $j --skip-bad: told" "$(grep -c skipped "$work/err")" 1
  done
}
awk 'BEGIN { for (i = 1; i <= 300; ++i) print "the cat " i "\t" (i % 3 ? "positive" : "negative") }' >"$work/labels"
labels=$(classify -m "$models/tiny-classifier" --json <<<x | grep -o '"label":"[^"]*"' | tail -2 | cut -d '"' -f 4 | tr '\n' ' ')
awk -v labels="$labels" 'BEGIN { split(labels, l, " "); for (i = 1; i <= 300; ++i) print "the cat " i "\t" l[1 + i % 2] }' >"$work/gold"
awk '{ print } NR % 37 == 0 { print "the dog\tno such label" }' "$work/gold" >"$work/gold-bad"
same_measure "$work/gold" "$work/gold-bad" classify -m "$models/tiny-classifier" --gold 2
awk 'BEGIN { for (i = 1; i <= 200; ++i) print "the cat\tthe dog " i "\t" (i % 2 ? "IsNext" : "NotNext") }' >"$work/gold"
awk '{ print } NR % 37 == 0 { print "the cat\tthe dog\tno label" }' "$work/gold" >"$work/gold-bad"
same_measure "$work/gold" "$work/gold-bad" nsp-score -m "$models/tiny-bert" --gold 3
awk 'BEGIN { for (i = 1; i <= 200; ++i) print "the cat\tthe dog " i "\tthe dog" }' >"$work/gold"
awk '{ print } NR % 37 == 0 { print "the \377\tthe dog\tthe dog" }' "$work/gold" >"$work/gold-bad"
same_measure "$work/gold" "$work/gold-bad" qa -m "$models/tiny-qa" --strict --gold 3
awk 'BEGIN { for (i = 1; i <= 200; ++i) print "the [MASK] sat\t" (i % 2 ? "cat" : "dog") }' >"$work/gold"
awk '{ print } NR % 37 == 0 { print "the [MASK] and [MASK] sat\tcat cat cat" }' "$work/gold" >"$work/gold-bad"
same_measure "$work/gold" "$work/gold-bad" mlm-fill -m "$models/tiny-bert" --gold 2
sed 's/$/\tx/' "$work/gold" >"$work/pairs"
awk '{ print } NR % 37 == 0 { print "the \377\tcat" }' "$work/pairs" >"$work/pairs-bad"
same_measure "$work/pairs" "$work/pairs-bad" mlm-score -m "$models/tiny-bert" --strict --pair
awk 'BEGIN { for (i = 1; i <= 200; ++i) print "the O\ncat B-PER\n" }' >"$work/conll"
awk '{ print } NR % 111 == 0 { print "the\ncat B-PER\n" }' "$work/conll" >"$work/conll-bad"
same_measure "$work/conll" "$work/conll-bad" ner -m "$models/tiny-ner" --columns --gold
for j in 1 4; do
  tokenize -m "$models/tiny-bert" --stats -j $j --strict --skip-bad "$work/bytes" >"$work/out" 2>/dev/null
  expect "tokenize --stats -j $j --skip-bad" "$? $(head -1 "$work/out")" "65 records"$'\t'397
  embed -m "$models/st-mean" --format npy -j $j --strict --skip-bad "$work/bytes" >"$work/npy" 2>/dev/null
  expect "embed --format npy -j $j --skip-bad" "$? $(head -c 120 "$work/npy" | grep -ao "(400, [0-9]*)" | cut -d , -f 1)" "65 (400"
  qa -m "$models/tiny-qa" -q 'who sat?' --strict --skip-bad -j $j -k 1000 "$work/bytes" 2>/dev/null | cut -f 2 | sort | uniq -d >"$work/out"
  expect "qa -q -j $j --skip-bad: no record twice" "$(cat "$work/out")" ""
  embed -m "$models/st-mean" --format f32 -j $j --skip-bad -f 2 "$work/bad" 2>/dev/null | od -An -v -t f4 -w4 | awk '{ n += /nan/ } END { print NR / n }' >"$work/out"
  expect "embed --format f32 -j $j --skip-bad: 7 of 400 vectors are no numbers" "$(cat "$work/out")" "$(awk 'BEGIN { print 400 / 7 }')"
  ner -m "$models/tiny-ner" --conll -j $j --skip-bad -f 2 "$work/bad" 2>/dev/null | grep -c '^$' >"$work/out"
  expect "ner --conll -j $j --skip-bad: an empty row for each record" "$(cat "$work/out")" 400
  nsp-score -m "$models/tiny-bert" --adjacent -f 2 -j $j --skip-bad "$work/bad" 2>/dev/null | sed '77d' >"$work/out"
  (sed -n '3,76p' "$work/bad" | nsp-score -m "$models/tiny-bert" --adjacent -f 2
    sed -n '78,199p' "$work/bad" | nsp-score -m "$models/tiny-bert" --adjacent -f 2) >"$work/want"
  equal "nsp-score --adjacent -j $j --skip-bad" <(sed -n '3,198p' "$work/out") "$work/want"
  # A bad record has no rows where it may have several.
  tokenize -m "$models/tiny-bert" --offsets --skip-bad -f 2 -j $j "$work/bad" 2>/dev/null | cut -f 1 | uniq >"$work/out"
  equal "tokenize --offsets -j $j --skip-bad" "$work/out" <(awk -F '\t' 'NF > 1 { print NR }' "$work/bad")

  # Blank records behind the last one have no truth: they are counted, and their places empty; elsewhere they are bad.
  (cat "$work/labels" | sed "s/positive/${labels%% *}/; s/negative/${labels%% *}/"; printf '\n\r\n\n') >"$work/blank"
  classify -m "$models/tiny-classifier" --gold 2 -j $j "$work/blank" "$work/blank" >"$work/out" 2>"$work/err"
  expect "classify --gold -j $j, blank at the end" "$? $(wc -l <"$work/out") $(head -1 "$work/err")" \
    "0 606 classify: 6 blank records at the end were skipped"
  expect "classify --gold -j $j, blank at the end: place" "$(sed -n '301,303p' "$work/out" | tr '\t\r\n' 'tr;')" "tt;ttr;tt;"
  classify -m "$models/tiny-classifier" --gold 2 -j $j < <(cat "$work/blank" "$work/labels") >"$work/out" 2>"$work/err"
  expect "classify --gold -j $j, blank between" "$? $(wc -l <"$work/out") $(cat "$work/err")" \
    "65 300 classify: -: record 301: found 1 field, wants at least 2, separated by tabs"
done
echo 'no mask here' | mlm-fill -m "$models/tiny-bert" 2>"$work/out" >/dev/null
expect "mlm-fill without masks" "$(cat "$work/out")" "mlm-fill: no record has a mask: nothing to fill"
finish
