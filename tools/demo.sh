#!/usr/bin/env bash
# demo.sh PREFIX DIR: record a real program with the memtape installed in PREFIX and look at its
# memory; the tape and the flame graph go to DIR.
set -euo pipefail
prefix=$1 dir=$2
here=$(dirname "$(readlink -f "$0")")
memtape=$prefix/bin/memtape
tape=$dir/demo.mtape
picture=$dir/demo.svg

show() { # COMMAND...: says what it runs, as the reader would type it
	printf '\n\033[1m$ %s\033[0m\n' "$(printf '%s ' "$@" | sed "s|$memtape|memtape|; s| $||")"
	"$@"
}

mkdir -p "$dir"
rm -f "$tape" "$picture"
cat <<'EOF'

This machine's python3 indexes the words of its own library (tools/demo.py). PYTHONMALLOC=malloc
makes it ask malloc for every object; nothing else about the program is changed.
EOF
export PYTHONMALLOC=malloc
show "$memtape" record -f -o "$tape" /usr/bin/python3 "$here/demo.py"
show "$memtape" report "$tape" top --sort peak --top 5
show "$memtape" flamegraph "$tape" -o "$picture" --metric peak
cat <<EOF

What to look at
  The summary: how much was alive at the peak and when, what was never freed, and what the
  recording itself cost. The table: which call stacks own the peak. The picture: the same for
  all stacks at once; wide is much, click to zoom, type to search.
      $picture

What to type next
      export PATH=$prefix/bin:\$PATH
      memtape report $tape leaks            what was never freed, and from where
      memtape report $tape temporary        blocks that lived for a moment: wasted calls
      memtape report $tape timeline         live bytes over time
      memtape report $tape summary --json   the numbers, for scripts
      memtape ls -l /                       any program of your own
EOF
