#!/bin/bash
# table.sh [--write]: the table of README.md, made from rows/; without --write, is that of README.md the same? Also
# checks that each row of the notes is there once, in order, and has a command, or says which row shows it, or why none can.
set -eu
cd "$(dirname "$0")"
table() {
  awk -v chinese="$([ ! -d ../../models/chinese ] || echo 1)" -v programs="$(cd ../../tools && echo *.cpp)" -v scripts="$(cd ../../examples && echo *.sh)" '
    BEGIN { n = split(programs " " scripts, name, " "); for (i = 1; i <= n; ++i) { sub(/\.cpp$/, "", name[i]); word[name[i]] = 1 }
      name[++n] = "unit_tests"; word["unit_tests"] = 1 }
    function finish() {
      if (row == "") return
      state[row] = needs != "" ? "waits for " needs : commands && stands ? "runs, on a stand-in" : commands ? "runs" : why != "" ? "no command: " why : ""
      if (see != "") used = used (used == "" ? "" : ", ") "row" (see ~ / / ? "s " : " ") see
      if (state[row] see == "") { print row ": no command, no reason" >"/dev/stderr"; exit 1 }
      names[++all] = row; targets[row] = see
      text[row] = "| " row " | " claim (note == "" ? "" : "<br>*" note "*") " | " used
    }
    function state_of(row,   i, n, w, s, t) { # that of a row without commands is the worst of those it points at
      if (state[row] != "") return state[row]
      s = "runs"; n = split(targets[row], w, ", ")
      for (i = 1; i <= n; ++i) { t = state_of(w[i]); if (t != "runs" && s !~ /^waits/) s = t }
      return s
    }
    function uses(line,   m, i, w) {
      gsub(/[^-a-z0-9_.]+/, " ", line); m = split(line, w, " ")
      for (i = 1; i <= m; ++i) if (w[i] in word && !(w[i] in had)) { had[w[i]] = 1; used = used (used == "" ? "" : ", ") "`" w[i] "`" }
    }
    /^[A-E][0-9]+ / { finish(); row = $1; claim = substr($0, length(row) + 2); gsub(/\|/, "\\|", claim); gsub(/</, "\\&lt;", claim)
      used = needs = see = why = note = ""; commands = stands = 0; for (w in had) delete had[w]; next }
    /^\$ / { ++commands } /^(\$| ) / { uses($0); if (!chinese && / -m chinese/) stands = 1 }
    /^needs / { needs = substr($0, 7) } /^see / { see = substr($0, 5); gsub(/ /, ", ", see) } /^prose / { why = substr($0, 7) }
    /^note / { note = substr($0, 6); gsub(/</, "\\&lt;", note); gsub(/\*/, "\\*", note) }
    END { finish()
      for (i = 1; i <= all; ++i) { s = state_of(names[i]); print text[names[i]] " | " s " |"; ++count[s ~ /^(waits|no)/ ? substr(s, 1, 2) : "runs"] }
      print ""; printf "%d rows: %d run, %d have no command, %d wait for a program.\n", all, count["runs"], count["no"], count["wa"] }' rows/[A-E]
}
for section in A:30 B:47 C:17 D:15 E:22; do
  diff <(sed -nE "s/^(${section%:*}[0-9]+) .*/\1/p" "rows/${section%:*}") <(seq "${section#*:}" | sed "s/^/${section%:*}/") ||
    { echo "rows/${section%:*}: wants rows 1 to ${section#*:}, each once" && exit 1; }
done
sed -n 's/^see //p' rows/[A-E] | tr ' ' '\n' | sort -u | while read -r row; do
  grep -q "^$row " "rows/${row%%[0-9]*}" || { echo "see $row: no such row" && exit 1; }
done
begin='| row | the notes | shown by | state |'
if [ "${1-}" = --write ]; then
  { sed "/^$begin\$/,\$d" README.md && echo "$begin" && echo '| --- | --- | --- | --- |' && table; } >README.new && mv README.new README.md
else
  diff <(sed "1,/^$begin\$/d" README.md | sed 1d) <(table) ||
    { echo "tests/lecture/README.md is not that of rows/: run tests/lecture/table.sh --write" && exit 1; }
fi
