/*
 * heap_profile: the common part of the heap profiles of gperftools and jemalloc. Rows with a call
 * stack and its sums, and at the end of the file the mappings of the process, without which the
 * stacks' addresses are meaningless. So rows are kept until the end; memory grows with the file.
 * Internal to convert. One thread at a time.
 */
#ifndef MEMTAPE_CONVERT_HEAP_PROFILE_H
#define MEMTAPE_CONVERT_HEAP_PROFILE_H

#include "base/map.h"
#include "base/vec.h"
#include "convert/compose.h"
#include "convert/source.h"

/* How to scale the numbers of a row, which is a sample, to the whole program. */
enum heap_sampling {
	HEAP_SAMPLING_NONE,
	HEAP_SAMPLING_LINEAR, /* the older method: one in `period` bytes */
	HEAP_SAMPLING_POISSON /* a block of n bytes is seen with probability 1 - e^(-n / period) */
};

struct heap_row {
	size_t first_pc;
	uint32_t pc_count;
	uint32_t thread; /* index in threads; UINT32_MAX: unknown */
	struct compose_sum sum;
};

struct heap_thread {
	uint64_t number; /* as in the profile */
	uint32_t name;	 /* in texts; UINT32_MAX: none */
};

struct heap_object {
	uint64_t begin;
	uint64_t end;
	uint64_t offset; /* file offset of begin */
	uint32_t path;	 /* in texts */
	uint32_t module; /* the composer's */
	bool is_allocator;
};

VEC_DEFINE(heap_row_vec, struct heap_row);
VEC_DEFINE(heap_thread_vec, struct heap_thread);
VEC_DEFINE(heap_object_vec, struct heap_object);

/* All zeros is an empty one. */
struct heap_profile {
	enum heap_sampling sampling;
	uint64_t period; /* bytes; nonzero if sampled */
	struct heap_row_vec rows;
	struct heap_thread_vec threads;
	struct heap_object_vec objects;
	struct vec_u64 pcs;    /* return addresses, innermost first */
	struct interner texts; /* paths and names */
	struct map names;      /* address of a call -> text of its function, if available */
	uint32_t binary;       /* with `names`: text of the program's path; 0: none */
	uint64_t bad_count;    /* unparsable lines */
	uint64_t bad_line;     /* the first of them */
	bool has_objects;      /* the list of mappings has begun */
	bool failed;	       /* out of memory; sticks */
};

void heap_profile_deinit(struct heap_profile *profile);
CLEAN_DEFINE_DEINIT(heap_profile_deinit, struct heap_profile);

/*
 * The section with function names at the beginning of a profile made portable by pprof (--raw). The
 * next line is "--- symbol"; reads on to the first line of the profile itself, returned in
 * *line_ret, NULL: there is none.
 */
void heap_profile_symbols(struct heap_profile *profile, struct source *source, char **line_ret);

/* "0x4011b7 0x401202": kept for later rows, *first_ret and *count_ret. False: not such a list. */
bool heap_profile_stack(struct heap_profile *profile, const char *text, size_t *first_ret,
			uint32_t *count_ret);

/* "5: 5035 [ 15: 10095]": live, and total. Advances *at past it. */
bool heap_profile_sum(const char **at, struct compose_sum *sum_ret);

void heap_profile_bad_line(struct heap_profile *profile, const struct source *source);

/* After "MAPPED_LIBRARIES:": reads the rest of source. */
void heap_profile_objects(struct heap_profile *profile, struct source *source);

/* Scales a sample to an estimate of the whole. */
struct compose_sum heap_profile_scale(const struct heap_profile *profile,
				      const struct compose_sum *sum);

/*
 * Writes everything to composer. Frames inside the profiler's own allocator (libjemalloc*,
 * libtcmalloc*) are removed at the inner end. ERR_FORMAT: the profile is empty.
 */
struct err *heap_profile_write(struct heap_profile *profile, const struct source *source,
			       struct composer *composer);

/* The rest of a jemalloc-style profile, whose first line is `line`. (jemalloc.c) */
struct err *heap_profile_threaded(struct heap_profile *profile, struct source *source,
				  const char *line, struct composer *composer);

#endif
