#!/usr/bin/perl
# SQuAD 2.0 was translated and back. Its answers are marked in the paragraphs, but nothing says which marked span answers
# which question, and many spans begin or end a word too early or too late. The links say which span it is; the answer of
# a model that fits it says where it begins and ends.
# Writes SQuAD 2.0's JSON, without the questions whose link is unknown or whose span has no word.
# usage: spans.pl LINKS PARAGRAPHS [QUESTIONS ANSWERS]
#   LINKS: lines of document, paragraph and, for each question, the number of a span (counted from 1; several joined by +
#          are one answer), 0 if nothing answers it, ? if unknown
#   PARAGRAPHS: lines of JSON: doc, par, context, spans [start, end, ..] in code points, questions
#   QUESTIONS: this program's output without the last two files, as lines of question, context, id
#   ANSWERS: what qa -k 10 --null-margin 1000 --chars -o QUESTIONS writes
use strict;
use warnings;
use open qw(:std :utf8);
use JSON::PP;

my ($links, $paragraphs, $questions, $answers) = @ARGV;
my $json = JSON::PP->new->canonical;
my $before = qr/^(?:[\s,.;:]+|(?:for|of|and|by|as|at|is|was|that|which|or|but)\s)/;
my $after = qr/(?:[\s,.;:]+|\s(?:for|of|and|[Tt]he|in|an?|to|by|is|was|were|are|as|at|on|with|from|that|which|who|or|but))\z/;

sub lines {
  my ($file, $each) = @_;
  open my $in, '<', $file or die "$file: $!\n";
  while (<$in>) { chomp; $each->($_) }
}

# Twice what two stretches share, divided by the sum of their lengths.
sub overlap {
  my ($one, $other) = @_;
  my $from = $one->[0] > $other->[0] ? $one->[0] : $other->[0];
  my $to = $one->[1] < $other->[1] ? $one->[1] : $other->[1];
  return $to > $from ? 2 * ($to - $from) / ($one->[1] - $one->[0] + $other->[1] - $other->[0]) : 0;
}

# The likeliest answer that fits the span, or else the span without what does not belong to an answer.
# An answer is [start, end, probability].
sub answer {
  my ($context, $span, @said) = @_;
  my ($best, $most) = (undef, 0.02);
  for (@said) {
    my $fit = overlap($_, $span);
    ($best, $most) = ($_, $fit * $_->[2]) if $fit >= 0.4 && $fit * $_->[2] > $most;
  }
  return @$best[0, 1] if $best;
  my ($from, $to) = @$span;
  $to = $from + $-[0] while substr($context, $from, $to - $from) =~ $after;
  $from += $+[0] while substr($context, $from, $to - $from) =~ $before;
  return ($from, $to);
}

my (%link, %said, @id);
lines($links, sub { my ($document, $paragraph, @fields) = split ' ', shift; $link{"$document-$paragraph"} = \@fields });
if (defined $answers) {
  lines($questions, sub { push @id, (split /\t/, shift)[2] });
  lines($answers, sub { my @f = split /\t/, shift; push @{$said{$id[$f[0] - 1]}}, [@f[3, 4, 2]] if length $f[1] });
}
my @data;
lines($paragraphs, sub {
  my $paragraph = $json->decode(shift);
  my $name = "$paragraph->{doc}-$paragraph->{par}";
  my $fields = $link{$name} or return;
  die "$links: $name has other questions\n" if @$fields != @{$paragraph->{questions}};
  my @spans = sort { $a->[0] <=> $b->[0] } @{$paragraph->{spans}};
  my @questions;
  for my $i (0 .. $#$fields) {
    next if $fields->[$i] eq '?';
    my %question = (id => "bt-$name-$i", question => $paragraph->{questions}[$i], answers => []);
    if ($fields->[$i]) {
      my @numbers = sort { $a <=> $b } split /\+/, $fields->[$i];
      die "$links: $name has no span $fields->[$i]\n" if grep { !/^[1-9]\d*\z/ || $_ > @spans } @numbers;
      my ($from, $to) = answer($paragraph->{context}, [$spans[$numbers[0] - 1][0], $spans[$numbers[-1] - 1][1]], @{$said{$question{id}} || []});
      my $text = substr $paragraph->{context}, $from, $to - $from;
      next if $text !~ /\w/;
      $question{answers} = [{answer_start => $from + 0, text => $text}];
    } else {
      $question{is_impossible} = JSON::PP::true;
    }
    push @questions, \%question;
  }
  push @data, {title => "$paragraph->{doc}", paragraphs => [{context => $paragraph->{context}, qas => \@questions}]} if @questions;
});
print $json->encode({version => '2.0', data => \@data}), "\n";
