#!/usr/bin/env bash
# demo.sh PREFIX DIR: record a real program with the memtape installed in PREFIX and look at its
# memory; the tape and the flame graph go to DIR.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
dir=$2
export PATH=$1/bin:$PATH

show() { # COMMAND: as the reader would type it in DIR
	printf '\n\033[1m$ %s\033[0m\n' "$1"
	eval "$1"
}

mkdir -p "$dir"
cd "$dir"
rm -f demo.mtape peak.svg
cp "$here/demo.c" words.c
ln -sfn "$(dirname "$here")/src" src
cat <<EOF

A program that is built here, with debug information and optimized as usual, makes an index of the
words in this source tree (words.c).
EOF
show 'cc -O2 -g -o words words.c'
show 'memtape record -o demo.mtape ./words src/'
show 'memtape flamegraph demo.mtape -o peak.svg --metric peak'
cat <<EOF

What to look at
  The first block: how much was alive at the peak and when, what was never freed, how many
  allocations were for a moment only. Below it, the lines that own them: the index is the peak, its
  words are the leak, and each word read is copied for a moment. And the picture: every stack
  alive at the peak; wide is much, click to zoom, / to search. Open it in a browser:
      $dir/peak.svg

What to type next
  cd $dir; export PATH=$1/bin:\$PATH
  memtape serve demo.mtape                    all of it in a browser; it prints the URL
  memtape report demo.mtape findings          what is wrong, and what to do about it
  memtape report demo.mtape annotate words.c  the source with what its lines allocated
  memtape report demo.mtape tree              who owns the peak, from main downwards
  memtape report demo.mtape temporary         calls that were hardly worth it
  memtape report demo.mtape timeline          live and resident bytes over time
  memtape report demo.mtape summary --json    the numbers, for scripts
  memtape sort /etc/services                  any program of your own
EOF
