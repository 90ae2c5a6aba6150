# awk -v wanted=FILE [-v within=X] -f same.awk FOUND: do the files have the same words, and numbers that differ by X at
# most? Numbers without a point are equal. Exits 1 at the first difference, and writes it.
function number(s) { return s ~ /^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?$/ }
function differ(why) { print "line " NR ": " why; bad = 1; exit 1 }
BEGIN { if (within == "") within = 2e-6 }
{
  if ((getline line < wanted) <= 0) differ("not wanted: " $0)
  n = split($0, found, /[ \t]+/)
  m = split(line, want, /[ \t]+/)
  if (n != m) differ("found '" $0 "', wants '" line "'")
  for (i = 1; i <= n; ++i) {
    if (found[i] "" == want[i] "") continue
    gap = found[i] - want[i]
    if (!number(found[i]) || !number(want[i]) || want[i] ~ /^[-+]?[0-9]+$/ || gap > within || gap < -within)
      differ("found '" $0 "', wants '" line "'")
  }
}
END { if (!bad && (getline line < wanted) > 0) { print "missing: " line; exit 1 } }
