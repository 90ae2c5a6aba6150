#!/usr/bin/perl
# Writes SQuAD 2.0's JSON of questions in plain text: blocks of a text and lines of question, TAB, answer (or nothing).
# In place of the text, "FILE ARTICLE LINE" names a line of an encyclopedia, all three counted from 0.
# usage: asked.pl BLOCKS [FILE..]
#   FILE: articles, an empty line between them; their first line is the title
use strict;
use warnings;
use open qw(:std :utf8);
use JSON::PP;

my ($name, @files) = @ARGV;
local $/ = '';
sub blocks {
  my ($file, $each) = @_;
  open my $in, '<', $file or die "$file: $!\n";
  while (<$in>) { s/\n+\z//; $each->($., split /\n/) }
}
# Where the answer stands: as whole words if it can, so that "6" is not the end of "2006".
my $letter = qr/[\p{Latin}\d]/;
sub place {
  my ($context, $answer) = @_;
  return $-[0] if $context =~ /(?<!$letter)\Q$answer\E(?!$letter)/;
  return index $context, $answer;
}

my $named = qr/^(\d+) (\d+) (\d+)\z/;
my (@blocks, %text);
blocks($name, sub { my ($number, @lines) = @_; push @blocks, \@lines; $text{$1}{$2} = 1 if $lines[0] =~ $named });
for my $file (sort keys %text) {
  die "$name: names file $file, which is not given\n" if $file > $#files;
  my $wanted = $text{$file};
  blocks($files[$file], sub { my ($number, @lines) = @_; $wanted->{$number - 1} = \@lines if $wanted->{$number - 1} });
}
my (@data, $count);
for (@blocks) {
  my ($context, @lines) = @$_;
  if ($context =~ $named) {
    my $article = $text{$1}{$2};
    die "$name: no such line: $context\n" if !ref $article || !defined $article->[$3];
    $context = $article->[$3];
  }
  my @questions;
  for (@lines) {
    my ($question, $answer) = split /\t/, $_, 2;
    die "$name: no TAB in '$_'\n" if !defined $answer;
    my $start = length $answer ? place($context, $answer) : 0;
    die "$name: no '$answer' in '$context'\n" if $start < 0;
    my @answers = length $answer ? {text => $answer, answer_start => $start} : ();
    push @questions, {id => 'WRITTEN_' . $count++, question => $question, answers => \@answers, @answers ? () : (is_impossible => JSON::PP::true)};
  }
  push @data, {title => @data + 1 . '', paragraphs => [{context => $context, qas => \@questions}]};
}
print JSON::PP->new->canonical->encode({version => '2.0', data => \@data}), "\n";
