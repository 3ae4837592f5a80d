/*
 * address_space: what the questions about the address space find.
 */
#ifndef MEMTAPE_QUESTIONS_ADDRESS_SPACE_H
#define MEMTAPE_QUESTIONS_ADDRESS_SPACE_H

#include "answer/about.h"
#include "answer/frame.h"
#include "base/str.h"
#include "base/vec.h"
#include "space/rss.h"
#include "space/space.h"
#include "space/space_cells.h"
#include "space/space_waste.h"

/* --- space -------------------------------------------------------------------------------------- */

/*
 * A map of the heap, cell by cell, and a list of everything that is mapped; by default where most of
 * the heap was free.
 */

struct heap_region {
	struct space_region region;
	const char *kind, *name;
	uint64_t cell_bytes;
	struct shape_numbers live, resident; /* bytes, by cell */
};

struct extent {
	struct space_part part;
	const char *kind, *name;
};

struct space_answer {
	uint64_t at_ns;
	bool has_snapshot;
	struct shape_rows regions; /* of struct heap_region */
	struct shape_rows extents; /* of struct extent */
	struct quality quality;
};

/* --- mappings ----------------------------------------------------------------------------------- */

/*
 * The address space over time: every mapping there was, who made it and when, how much of it was
 * resident, and what is left of it; with `at` those that were there then.
 */

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

/* --- rss ---------------------------------------------------------------------------------------- */

/*
 * Why the process is as large as it is: bands that add up to its resident bytes, and in words what
 * stands between RSS and the live blocks.
 */

struct rss_answer {
	const char *explanation;
	uint64_t snapshots;
	bool pages_known;
	uint64_t peak_sample, most_free_sample; /* indices; SHAPE_NONE: there are no samples */
	struct shape_rows samples;		/* of struct rss_sample */
	struct quality quality;
	size_t last_sample; /* no member */
};

/* waste: of the heap where RSS was highest; NULL: nothing is known of it. Internal to rss. */
void rss_words(struct str *out, const struct rss *rss, const struct space_waste *waste);

/* --- fragmentation ------------------------------------------------------------------------------ */

/*
 * What of the heap is resident and holds nothing, and whose blocks keep it: by default where most of
 * it was free.
 */

struct slack_class {
	uint64_t size_min, size_max;
	struct space_class sums;
};

struct waste_site {
	struct place place;
	struct model_stack_sums sums; /* as space_waste.h has them */
	uint32_t stack;
};

struct fragmentation {
	struct space_waste waste; /* but for regions and pinned, which are empty */
	bool has_snapshot;
	uint64_t slack_bytes;
	struct shape_numbers fills;
	struct shape_rows sizes; /* of struct slack_class */
	struct shape_rows sites; /* of struct waste_site */
	struct quality quality;
};

#endif
