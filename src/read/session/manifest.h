/*
 * manifest: what is written in a session's folder beside the tapes: a line of JSON for each fact
 * (docs/tape-format.md). Foreign bytes: what is not understood is skipped, and counted.
 */
#ifndef MEMTAPE_SESSION_MANIFEST_H
#define MEMTAPE_SESSION_MANIFEST_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

VEC_DEFINE(manifest_names, const char *);

/* How a tape's process has ended, as the kernel said. */
struct manifest_end {
	const char *tape;
	bool is_signal;
	int32_t number;	       /* of the signal, or its exit code */
	uint64_t monotonic_ns; /* when that was noticed; 0: not known */
};

VEC_DEFINE(manifest_ends, struct manifest_end);

/* What memory a tape's process had at a moment, in bytes. */
struct manifest_usage {
	uint64_t monotonic_ns;
	uint64_t rss, pss, private;
	uint32_t tape; /* in manifest.usage_tapes */
};

VEC_DEFINE(manifest_usages, struct manifest_usage);

/* Texts live in the arena. */
struct manifest {
	const char *const *command; /* command_count words of the program that was started */
	size_t command_count;
	const char *follow; /* names of the programs that are recorded; NULL: all are */
	const char *host;   /* NULL: unknown */
	uint64_t begin_realtime_ns;
	struct manifest_names tapes; /* files that are known to have been there */
	struct manifest_ends ends;
	struct manifest_usages usages; /* those of a moment one after the other */
	struct interner usage_tapes;   /* names */
	bool has_ended;		       /* the collector wrote everything */
	uint64_t damaged_count;	       /* lines that are none */
};

/*
 * ERR_FORMAT: it is not a manifest, or of a later version. text[bytes] is read by nobody. Undone by
 * manifest_deinit.
 */
struct err *manifest_parse(const char *text, size_t bytes, struct arena *arena,
			   struct manifest *manifest);
void manifest_deinit(struct manifest *manifest); /* all zeros is fine */
CLEAN_DEFINE_DEINIT(manifest_deinit, struct manifest);

#endif
