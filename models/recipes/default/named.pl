#!/usr/bin/perl
# Writes a word and its label a line, an empty line after each sentence, of sentences with marked names:
# "Mr [PER Bean] was on again." gives Bean B-PER.
# usage: named.pl SENTENCES WORD
#   WORD: a regular expression of what is one word
use strict;
use warnings;
use open qw(:std :utf8);

my ($file, $word) = @ARGV;
open my $in, '<', $file or die "$file: $!\n";
while (<$in>) {
  while (/\G(?:\[(\w+) ([^\[\]]+)\]|([^\[\]]+))/g) {
    my ($label, $text) = $1 ? ($1, $2) : ('', $3);
    my $at = 'B';
    for ($text =~ /$word/g) {
      print "$_ ", $label ? "$at-$label" : 'O', "\n";
      $at = 'I';
    }
  }
  print "\n";
}
