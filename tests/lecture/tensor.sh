#!/bin/bash
# tensor.sh MODEL NAME: the shape and the numbers of a tensor of floats, as params.sh takes them.
exec perl -e '
  open my $file, "<:raw", "$ARGV[0]/model.safetensors" or die "$ARGV[0]: $!\n"; local $/; my $bytes = <$file>;
  my $length = unpack "Q<", $bytes; my $header = substr $bytes, 8, $length;
  my ($about) = $header =~ /"\Q$ARGV[1]\E"\s*:\s*(\{[^}]*\})/ or die "no $ARGV[1]\n";
  $about =~ /"dtype"\s*:\s*"F32"/ or die "$ARGV[1] is not F32\n";
  my ($shape) = $about =~ /"shape"\s*:\s*\[([^]]*)\]/; my ($begin, $end) = $about =~ /"data_offsets"\s*:\s*\[(\d+),\s*(\d+)\]/;
  $shape =~ s/\s//g; print "$shape ", join(" ", map sprintf("%.9g", $_), unpack "f<*", substr $bytes, 8 + $length + $begin, $end - $begin), "\n";
' "$@"
