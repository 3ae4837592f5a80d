#!/bin/sh
# fuzz.sh TARGET CORPUS SECONDS: the corpus first, then SECONDS of new inputs, the same ones each
# time (MEMTAPE_FUZZ_SEED=0: others). The corpus is not changed; an input that fails is kept beside
# the target and named in the output.
set -eu
target=$1 corpus=$2 seconds=$3
work=$target.corpus
mkdir -p "$work"
[ ! -d "$corpus" ] || set -- "$corpus"
[ -d "${1-}" ] || set --
export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1
exec "$target" -seed="${MEMTAPE_FUZZ_SEED:-1}" -max_total_time="$seconds" -timeout=10 \
	-rss_limit_mb=2048 -max_len=65536 \
	-artifact_prefix="$target.failed." -print_final_stats=1 "$work" ${1+"$@"}
