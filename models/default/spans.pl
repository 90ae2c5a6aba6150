#!/usr/bin/perl
# Chooses an answer for each question. The paragraphs have marked spans, and each answer is marked; but nothing says which
# span answers which question, and some spans are cut short. So a model has answered the questions. The span that its
# answers overlap most is taken as the right place, and the answer that fits this span best as the right answer.
# Writes SQuAD 2.0's JSON; a question for which no span is sure is left out.
# usage: spans.pl QUESTIONS ANSWERS
#   QUESTIONS: lines of document, paragraph, number of the question, 1 if it has no answer, spans such as 3-9,9-14
#              (code points), question, context
#   ANSWERS: what qa -k 10 --null-margin 1000 --chars -o writes for those that have an answer
use strict;
use warnings;
use open qw(:std :utf8);
use JSON::PP;

my $sure = 0.2;

# Twice what two stretches share, divided by the sum of their lengths.
sub overlap {
  my ($one, $other) = @_;
  my $from = $one->[0] > $other->[0] ? $one->[0] : $other->[0];
  my $to = $one->[1] < $other->[1] ? $one->[1] : $other->[1];
  return $to > $from ? 2 * ($to - $from) / ($one->[1] - $one->[0] + $other->[1] - $other->[0]) : 0;
}

# What was marked in pieces is an answer as a whole too: the spans, and runs of neighbours.
sub candidates {
  my @spans = map { [split /-/] } split /,/, shift;
  my @runs;
  for my $first (0 .. $#spans) {
    for (my $last = $first; $last <= $#spans; ++$last) {
      last if $last > $first && $spans[$last][0] - $spans[$last - 1][1] > 1;
      push @runs, [$spans[$first][0], $spans[$last][1]];
    }
  }
  return @runs;
}

# The answer that fits the best candidate, or nothing if no candidate is sure. An answer is [start, end, probability].
sub best {
  my ($spans, @answers) = @_;
  my ($sum, $most, $marked) = (0, 0);
  $sum += $_->[2] for @answers;
  for my $run (candidates($spans)) {
    my $mass = 0;
    $mass += $_->[2] * overlap($_, $run) for @answers;
    ($most, $marked) = ($mass, $run) if $mass > $most;
  }
  return if !$marked || $most < $sure * $sum;
  my ($best) = sort { $b->[2] * overlap($b, $marked) <=> $a->[2] * overlap($a, $marked) } @answers;
  return $best;
}

open my $questions, '<', $ARGV[0] or die "$ARGV[0]: $!\n";
open my $answers, '<', $ARGV[1] or die "$ARGV[1]: $!\n";
my (%paragraph, @order);
my $record = 0;
my $row = <$answers>;
while (<$questions>) {
  chomp;
  my ($document, $number, $index, $none, $spans, $question, $context) = split /\t/, $_, -1;
  my @said;
  ++$record if !$none;
  while (defined $row && !$none) {
    my @field = split /\t/, $row;
    last if $field[0] != $record;
    push @said, [@field[3, 4, 2]];
    $row = <$answers>;
  }
  my %entry = (id => "bt-$document-$number-$index", question => $question, answers => []);
  if ($none) {
    $entry{is_impossible} = JSON::PP::true;
  } else {
    my $answer = best($spans, @said) or next;
    my ($start, $end) = @$answer;
    $entry{answers} = [{answer_start => $start + 0, text => substr($context, $start, $end - $start)}];
  }
  my $key = "$document-$number";
  push @order, $key if !$paragraph{$key};
  $paragraph{$key}{context} = $context;
  push @{$paragraph{$key}{qas}}, \%entry;
}
print JSON::PP->new->canonical->encode({version => '2.0',
  data => [map { {title => $_, paragraphs => [$paragraph{$_}]} } @order]}), "\n";
