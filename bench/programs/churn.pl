# A deterministic script that allocates the way Perl programs do.
#
#     churn.pl ROUNDS
#
# Splitting, joining, hashes of arrays, closures, regular expressions, sorting and recursion.
use strict;
use warnings;

sub tree {
    my ($name, $depth) = @_;
    return { name => $name, kids => [ $depth ? map { tree("$name.$_", $depth - 1) } 1 .. 3 : () ] };
}

sub names {
    my ($node) = @_;
    return ($node->{name}, map { names($_) } @{ $node->{kids} });
}

my $sum = 0;
for my $round (1 .. $ARGV[0]) {
    my @names = names(tree("n$round", 4));
    my %index;
    for my $name (sort { reverse($a) cmp reverse($b) } @names) {
        my @parts = split /\./, $name;
        push @{ $index{ $parts[-1] } }, join '/', map { sprintf '%s-%d', $_, length } @parts;
    }
    my $adder = do { my $n = $round; sub { my ($text) = @_; $text =~ s/(\d+)/$1 + $n/ge; return length $text } };
    $sum += $adder->($_) for map { @$_ } values %index;
}
print "$sum\n";
