/*
 * jitdump: names, sources and lines of code that a program made while it ran, from the file
 * jit-PID.dump that JIT compilers write for perf (V8 with --perf-prof, LLVM, Java agents, .NET).
 * Unlike a perf map it has times, so that a reused address gets the name it had at the time.
 *
 * Format: linux/tools/perf/Documentation/jitdump-specification.txt, version 1, little-endian. Bytes
 * are untrusted: a damaged record ends the file. Immutable once opened, thread-safe.
 */
#ifndef MEMTAPE_SYMBOL_JITDUMP_H
#define MEMTAPE_SYMBOL_JITDUMP_H

#include "base/file.h"

struct jitdump;

/*
 * ERR_FORMAT: not a jitdump; ERR_UNSUPPORTED: of another version or byte order. The file is read,
 * not mapped, without the code in it: names and lines only, 64 MiB at most.
 */
struct err *jitdump_open(const char *path, const struct file_trust *trust,
			 struct jitdump **dump_ret);
void jitdump_close(struct jitdump *dump); /* accepts NULL */
CLEAN_DEFINE(jitdump_close, struct jitdump *);

/* The same of bytes in memory, which must outlive it. */
struct err *jitdump_view(const void *bytes, size_t size, struct jitdump **dump_ret);

uint32_t jitdump_pid(const struct jitdump *dump);

/* Whether its times are of CLOCK_MONOTONIC; those of other clocks are useless here. */
bool jitdump_has_times(const struct jitdump *dump);

struct jit_place {
	const char *function;
	const char *file; /* NULL: unknown */
	uint32_t line;	  /* 0: unknown */
};

/*
 * The code at address at ns (CLOCK_MONOTONIC): the newest by then, or, if there was none, the next.
 * False: there never was any. Texts live as long as the dump.
 */
bool jitdump_find(const struct jitdump *dump, uint64_t address, uint64_t ns,
		  struct jit_place *place_ret);

#endif
