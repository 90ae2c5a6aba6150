#!/usr/bin/perl
# Makes questions from plain text, as SQuAD's JSON: in a clause, a question word takes the place of a name, a time, an
# amount or an object. Chinese questions keep the order of statements (鲁迅出生在绍兴。鲁迅出生在哪里？), so they read
# well. Their answers are short; those of CMRC have 19 characters on average. The idea: Lewis et al. 2019, Unsupervised
# question answering by cloze translation.
# usage: holes.pl TEXTS NAMES PARTS: a text a line, and the rows of ner -o --chars for them with the heads ner and pos
use strict;
use warnings;
use utf8;
use open qw(:std :utf8);
use JSON::PP;
use List::Util 'shuffle';

srand 7;
sub any { $_[rand @_] }

sub read_spans { # rows: text's number from 1, start, end, label, probability, words
  my @spans;
  open my $in, '<:utf8', $_[0] or die "$_[0]: $!";
  while (<$in>) {
    my ($n, $from, $to, $label, $p) = split /\t/;
    push @{$spans[$n]}, {from => $from, to => $to, label => $label, p => $p};
  }
  return @spans;
}

# Times and amounts: a pattern, and the question words for what it finds.
my $n = qr/[0-9０-９]+(?:[.,][0-9]+)*[万亿千百]?|[一二三四五六七八九十百千万两半几零〇]+/;
my $some = qr/(?:约|大约)?(?:$n)多?/;
my @kinds = (
  [qr/(?:公元前?)?(?:[0-9]{3,4}|[一二三四五六七八九〇零]{4})年(?:初|末|底)?(?:(?:$n)月(?:(?:$n)[日号])?)?/,
    sub { $_[0] =~ /月/ ? any('什么时候', '何时', '哪一天') : any('哪一年', '哪年', '什么时候', '何时') }],
  [qr/(?<![年0-9])(?:$n)月(?:$n)[日号]/, sub { any('几月几日', '哪一天', '什么时候') }],
  [qr/(?:(?:早上|上午|中午|下午|晚上|凌晨)(?:$n)(?:点|时)|(?:$n)点)(?:(?:$n)分|半)?(?!间|候|点)/, sub { any('几点', '什么时候') }],
  [qr/(?:星期|周)[一二三四五六日天]/, sub { $_[0] =~ /^周/ ? '周几' : '星期几' }],
  [qr/$some(?:个(?:多)?(?:小时|月|星期)|分钟|天|周年?|年(?=[，。；]|的|之|来|后|内|以)|小时|秒)/, sub { any('多久', '多长时间') }],
  [qr/$some(?:[万亿]?(?:美|日|欧|港)?元|块钱|块|角)(?!件|素|月)/, sub { any('多少钱', '多少') }],
  [qr/$some(?:平方公里|公里|千米|米|公斤|吨|平方米|亩|度|厘米|毫米|℃)/,
    sub { '多少' . $_[0] =~ s/^$some//r }],
  [qr/(?<!第)$some(?:岁|人|名|位|个|只|次|种|部|家|篇|首|层|座|所|辆|本|张|条|片|回|队|支|届|倍)(?!性|别|体|民|员|物|类|生)/,
    sub {
      my $unit = substr $_[0], -1;
      return '' if $_[0] =~ /^[一1半].$/; # hardly an amount
      return $unit eq '岁' ? any('多大', '几岁', '多少岁') : any('多少', '多少', '几') . $unit;
    }],
);
my %word_of = (PER => ['谁'], LOC => ['哪里', '哪里', '什么地方', '哪儿'], ORG => ['哪个机构', '哪个单位', '什么组织', '哪个组织']);

sub candidates { # text, spans of names, spans of parts of speech -> [start, length, question word]
  my ($text, $names, $parts) = @_;
  my @found;
  for my $kind (@kinds) {
    while ($text =~ /($kind->[0])/g) {
      my ($at, $what) = ($-[1], $1);
      my $word = $kind->[1]->($what);
      push @found, [$at, length $what, $word] if $word;
    }
  }
  for my $name (@$names) {
    my $words = $word_of{$name->{label}} or next;
    my $length = $name->{to} - $name->{from};
    push @found, [$name->{from}, $length, any(@$words)] if $name->{p} >= .9 && $length > 1;
  }
  my $noun = sub { $_[0] < @$parts && $parts->[$_[0]]{label} =~ /^(NOUN|PROPN)$/ };
  for my $i (1 .. $#$parts - 1) { # the nouns between a verb and the end of its clause
    next if !$noun->($i) || $parts->[$i - 1]{label} ne 'VERB' || $parts->[$i - 1]{p} < .9;
    my $j = $i;
    ++$j while $noun->($j + 1);
    my $length = $parts->[$j]{to} - $parts->[$i]{from};
    push @found, [$parts->[$i]{from}, $length, '什么'] if $j < $#$parts && $parts->[$j + 1]{label} eq 'PUNCT' && $length < 8;
  }
  return @found;
}

sub question { # text, start, length, question word -> the clause, or the sentence, with the word in the place
  my ($text, $from, $length, $word) = @_;
  my ($left, $right) = (substr($text, 0, $from), substr($text, $from + $length));
  my $end = rand() < .3 ? '。！？；' : '，。！？；：“”（）、,;';
  my ($before, $after) = (($left =~ /([^$end]*)$/)[0], ($right =~ /^([^$end]*)/)[0]);
  if (length("$before$after") < 5) { # too little to be asked by
    ($before, $after) = (($left =~ /([^。！？；：“”（）]*)$/)[0], ($right =~ /^([^。！？；：“”（）]*)/)[0]);
  }
  return '' if $word eq '什么' && ($after =~ /^、/ || $before =~ /、$/); # a list
  my $question = $before . $word . $after;
  return '' if length $question < 6 || length $question > 45 || $question =~ /(谁|什么|哪|几|多少).*(谁|什么|哪|几|多少)/;
  return '' if $question =~ /[“”（）\t"《》「」]/ && rand() < .7;
  $question =~ s/^[，、的了]+|[，、：]+$//g;
  return $question . (rand() < .8 ? '？' : '');
}

my ($texts, $names, $parts) = @ARGV;
my @names = read_spans($names);
my @parts = read_spans($parts);
my ($asked, @data) = (0);
open my $in, '<:utf8', $texts or die "$texts: $!";
while (my $text = <$in>) {
  chomp $text;
  my (@questions, %taken);
  for (shuffle candidates($text, $names[$.] // [], $parts[$.] // [])) {
    my ($from, $length, $word) = @$_;
    my $answer = substr $text, $from, $length;
    next if $taken{$from}++ || (() = $text =~ /\Q$answer\E/g) > 1;
    my $question = question($text, @$_) or next;
    push @questions, {id => 'HOLE_' . $asked++, question => $question, answers => [{text => $answer, answer_start => $from + 0}]};
    last if @questions == 2;
  }
  push @data, {title => "$.", paragraphs => [{context => $text, qas => \@questions}]} if @questions;
}
print JSON::PP->new->canonical->encode({version => 'v1.1', data => \@data}), "\n";
