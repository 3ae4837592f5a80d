/*
 * address_space: results of the questions about the address space.
 */
#ifndef MEMTAPE_QUESTIONS_ADDRESS_SPACE_H
#define MEMTAPE_QUESTIONS_ADDRESS_SPACE_H

#include "answer/about.h"
#include "answer/frame.h"
#include "base/str.h"
#include "base/vec.h"
#include "groups/stale.h"
#include "space/rss.h"
#include "space/space.h"
#include "space/space_cells.h"
#include "space/space_waste.h"
#include "sums/kernel_events.h"

/* --- stale, idle -------------------------------------------------------------------------------- */

struct stale_age {
	uint64_t from_ns, until_ns, bytes;
};

struct stale_site {
	struct stale_sums sums;
	uint64_t oldest_ns;
	struct place place;
	uint32_t stack;
};

struct stale_answer {
	uint64_t ns, idle_ns, since_ns, period_ns;
	const char *noticed, *done, *precision; /* see struct touches_words */
	const char *blind, *trouble;
	struct stale_sums sums;
	struct shape_rows ages;
	struct shape_rows sites;
	struct quality quality;
};

enum { IDLE_POINTS_MAX = 1000 };

struct idle_look {
	uint64_t ns;
	struct shape_numbers bytes; /* by the answer's bounds */
	uint64_t untouched, unknown;
};

struct idle_answer {
	uint64_t since_ns, period_ns;
	struct shape_numbers bounds_ns;
	struct shape_rows looks; /* of struct idle_look */
	const char *noticed, *done, *precision;
	const char *blind, *trouble;
	struct quality quality;
};

/* --- trace ----------------------------------------------------------------------------------- */

/* "brk", "mmap" ... "thp_splits", NULL-terminated: keys of the answer. */
extern const char *const trace_words[];

struct trace_kind {
	uint64_t count, recorded, lost, own, period, bytes;
	bool is_user_only;
};

struct trace_stack {
	const char *kind;
	uint64_t count, bytes;
	struct place place;
	uint32_t stack;
	enum tape_kernel_kind number;
};

/* Page faults in the blocks of a call site. */
struct trace_owner {
	uint64_t count, bytes, blocks;
	struct place place;
	uint32_t stack;
};

struct trace_owners {
	uint64_t count; /* page faults, which are */
	uint64_t in_blocks, allocating, in_heap, in_stacks, in_files, elsewhere;
	struct shape_rows sites; /* of struct trace_owner, most faults first */
};

/* Huge pages of a mapping that were probably split: by looks at it. */
struct trace_estimate {
	uint64_t address, mapped_bytes, count, bytes, huge_bytes, time_ns, blocks;
	const char *kind, *name; /* of the mapping */
	struct place place;
	uint32_t stack; /* of the blocks in it, or of its mapping; CAPTURE_STACK_NONE */
};

struct trace_answer {
	/* By enum tape_kernel_kind; NULL: was not traced. */
	const struct trace_kind *brk, *mmap, *munmap, *faults, *major_faults, *oom, *thp_splits;
	struct shape_rows stacks;		 /* by kind; the largest first */
	const struct trace_owners *owners;	 /* NULL: no faults, or no allocations */
	const struct trace_owners *split_owners; /* the same of thp_splits */
	struct shape_rows split_estimates;	 /* of struct trace_estimate; most first */
	struct quality quality;
};

const struct trace_kind *trace_answer_kind(const struct trace_answer *answer,
					   enum tape_kernel_kind kind);

/* --- space -------------------------------------------------------------------------------------- */

/*
 * A map of the heap by cells, and a list of all mappings; by default at the moment when most of the
 * heap was free.
 */

struct heap_region {
	struct space_region region;
	const char *kind, *use, *name;
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
 * The address space over time: every mapping, which call made it and when, how much of it was
 * resident, and what is left; with `at`, those that existed then.
 */

/* A mapping's size at a snapshot, if it changed since the previous one. */
struct mapping_use {
	uint64_t ns;
	uint64_t mapped_bytes;
	uint64_t resident_bytes;
	uint32_t mapping;
};

VEC_DEFINE(mapping_use_vec, struct mapping_use);

/* How much of a mapping was on a NUMA node at the last look. */
struct mapping_node {
	uint64_t node, bytes;
	uint32_t mapping;
};

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
	struct shape_rows nodes;
	uint32_t stack;
	const char *what; /* text: filled by the writer */
};

struct mappings_answer {
	struct shape_rows mappings;
	struct quality quality;
};

/*
 * All uses, grouped by mapping and sorted by time within: items of first[mapping] up to
 * first[mapping + 1]. Lives in the arena. Internal to mappings.
 */
struct err *mapping_uses_find(const struct model *model, size_t mapping_count, struct arena *arena,
			      const struct mapping_use **items_ret, const uint32_t **first_ret);

/* The same of nodes; leaves the results alone where there is one only, or the tape does not say. */
struct err *mapping_nodes_find(const struct model *model, size_t mapping_count, struct arena *arena,
			       const struct mapping_node **items_ret, const uint32_t **first_ret);

/* --- rss ---------------------------------------------------------------------------------------- */

/*
 * Explains the process's size: bands that add up to its resident bytes, and in words the difference
 * between RSS and the live blocks.
 */

struct rss_answer {
	const char *explanation;
	uint64_t snapshots;
	bool pages_known;
	uint64_t peak_sample, most_free_sample; /* indices; SHAPE_NONE: no samples */
	struct shape_rows samples;		/* of struct rss_sample */
	struct quality quality;
	size_t last_sample; /* not a member */
};

/* waste: of the heap at the highest RSS; NULL: not known. Internal to rss. */
void rss_words(struct str *out, const struct rss *rss, const struct space_waste *waste);

/* --- fragmentation ------------------------------------------------------------------------------ */

/*
 * The heap's resident but unused memory, and whose blocks keep it: by default at the moment when
 * most of the heap was free.
 */

struct slack_class {
	uint64_t size_min, size_max;
	struct space_class sums;
};

struct waste_site {
	struct place place;
	struct model_stack_sums sums; /* with the meanings of space_waste.h */
	uint32_t stack;
};

struct fragmentation {
	struct space_waste waste; /* regions and pinned are empty */
	bool has_snapshot;
	uint64_t slack_bytes;
	struct shape_numbers fills;
	struct shape_rows sizes; /* of struct slack_class */
	struct shape_rows sites; /* of struct waste_site */
	struct quality quality;
};

#endif
