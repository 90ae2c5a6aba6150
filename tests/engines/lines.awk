# Writes `lines` lines as files of users have them: some with a carriage return at the end or within, bytes that are not
# UTF-8, tabs, quotes, line separators of Unicode, or nothing. With -v marks=1 some begin with a byte order mark.
BEGIN {
  words = split("the cat sat on a mat and dogs ran to play in town with us", word, " ")
  for (i = 1; i <= lines; ++i) {
    line = ""
    for (k = 0; k < 3 + i * 7 % 10; ++k) line = line word[1 + (i * 31 + k * (i % 7 + 1)) % words] " "
    line = line i
    if (i % 13 == 5) line = "a lone\rreturn " line
    if (i % 17 == 2) line = "\377\303( bad " line
    if (i % 19 == 7) line = ""
    if (i % 23 == 1) line = "caf\303\251 \347\214\253 \342\200\250\302\205 " line
    if (i % 31 == 4) line = "\"quoted, " line "\ta field\\"
    if (marks && i % 29 == 4) line = "\357\273\277" line
    if (i % 11 == 3) line = line "\r"
    printf "%s\n", line
  }
}
