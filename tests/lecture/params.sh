#!/bin/bash
# params.sh OUT 'NAME ROWS[,COLUMNS] NUMBERS..'..: a safetensors file of these tensors.
exec perl -e '
  my ($out, @tensors) = @ARGV; my ($header, $data) = ("", "");
  for (@tensors) {
    my ($name, $shape, @numbers) = split;
    my $begin = length $data; $data .= pack "f<*", @numbers;
    $header .= ($header ? "," : "") . "\"$name\":{\"dtype\":\"F32\",\"shape\":[$shape],\"data_offsets\":[$begin," . length($data) . "]}";
  }
  open my $file, ">:raw", $out or die "$out: $!\n"; print $file pack("Q<", length($header) + 2), "{$header}", $data;
' "$@"
