/*
 * mappings: the address space over time: every mapping there was, who made it and when, how much of
 * it was resident, and what is left of it; with `at` those that were there then.
 */
#ifndef MEMTAPE_ANSWER_MAPPINGS_H
#define MEMTAPE_ANSWER_MAPPINGS_H

#include "answer/about.h"
#include "base/vec.h"
#include "space/space.h"

/* How much of a mapping there was at a snapshot, where it had changed since the one before. */
struct mapping_use {
	uint64_t ns;
	uint64_t mapped_bytes;
	uint64_t resident_bytes;
	uint32_t mapping;
};

VEC_DEFINE(mapping_use_vec, struct mapping_use);

struct mapping_row {
	uint64_t address;
	uint64_t bytes, mapped_bytes, mapped_bytes_max, at_peak_bytes;
	uint64_t resident_bytes, resident_bytes_max;
	uint64_t shown_bytes; /* text */
	const char *kind, *prot, *flags;
	bool shared;
	int64_t fd;
	uint64_t offset;
	const char *name;
	uint64_t from_ns, to_ns;
	uint64_t thread;
	bool seen;
	uint64_t cuts, protects, moves;
	struct shape_rows usage;
	uint32_t stack;
	const char *what; /* text: filled by who writes it */
};

struct mappings_answer {
	struct shape_rows mappings;
	struct quality quality;
};

/* All uses, those of a mapping one behind the other in the order of time: items of first[mapping]
 * up to first[mapping + 1]. Lives in the arena. Internal to mappings. */
struct err *mapping_uses_find(const struct model *model, size_t mapping_count, struct arena *arena,
			      const struct mapping_use **items_ret, const uint32_t **first_ret);

#endif
