#!/bin/sh
# fuzz.sh TARGET CORPUS RUNS: the corpus first, then new inputs until RUNS were tried: the same ones
# on every machine, for nothing here depends on time. It ends after three minutes in any case; a
# machine that needs that gets less far, never elsewhere. The corpus is not changed; an input that fails
# is kept beside the target and named in the output.
#
# MEMTAPE_FUZZ_RUNS=N      so many instead
# MEMTAPE_FUZZ_SECONDS=N   as many as can be tried in that time; what was found to lead somewhere is
#                          kept beside the target and gone on from the next time
# MEMTAPE_FUZZ_SEED=N      other inputs; 0: others each time
set -eu
target=$1 corpus=$2 runs=${MEMTAPE_FUZZ_RUNS:-$3} seconds=180
work=$target.corpus
if [ -n "${MEMTAPE_FUZZ_SECONDS-}" ]; then
	work=$target.long runs=${MEMTAPE_FUZZ_RUNS:--1} seconds=$MEMTAPE_FUZZ_SECONDS
else
	rm -rf "$work"
fi
mkdir -p "$work"
seeds=$(LC_ALL=C ls -d "$corpus"/* 2>/dev/null | paste -s -d , -) # by name: folders have any order
export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
# -reload would try again what others left in the folder, when a second has passed; entropic: the
# same coverage after the same number of inputs takes twice as long where inputs reach much.
exec "$target" -seed="${MEMTAPE_FUZZ_SEED:-1}" -runs="$runs" -max_total_time="$seconds" \
	-timeout=25 -rss_limit_mb=2048 -max_len=65536 -reload=0 -entropic=0 \
	-artifact_prefix="$target.failed." -print_final_stats=1 ${seeds:+-seed_inputs="$seeds"} "$work"
