/*
 * heap_profile: what the heap profiles of gperftools and jemalloc have in common. Rows of a call
 * stack and its sums, and at the end of the file the mappings of the process, without which the
 * stacks' addresses mean nothing. So rows are kept until the end; memory grows with the file.
 * Internal to convert. One thread at a time.
 */
#ifndef MEMTAPE_CONVERT_HEAP_PROFILE_H
#define MEMTAPE_CONVERT_HEAP_PROFILE_H

#include "base/map.h"
#include "base/vec.h"
#include "convert/compose.h"
#include "convert/source.h"

/* How the numbers of a row become those of the program, of which the profiler saw a sample. */
enum heap_sampling {
	HEAP_SAMPLING_NONE,
	HEAP_SAMPLING_LINEAR, /* the profiler's older way: one in `period` bytes */
	HEAP_SAMPLING_POISSON /* a block of n bytes is seen with probability 1 - e^(-n / period) */
};

struct heap_row {
	size_t first_pc;
	uint32_t pc_count;
	uint32_t thread; /* index in threads; UINT32_MAX: not known */
	struct compose_sum sum;
};

struct heap_thread {
	uint64_t number; /* the profiler's own */
	uint32_t name;	 /* in texts; UINT32_MAX: it has none */
};

struct heap_object {
	uint64_t begin;
	uint64_t end;
	uint64_t offset; /* of begin, in the file */
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
	uint64_t period; /* bytes; not 0 where it is a sample */
	struct heap_row_vec rows;
	struct heap_thread_vec threads;
	struct heap_object_vec objects;
	struct vec_u64 pcs;    /* return addresses, innermost first */
	struct interner texts; /* paths and names */
	struct map names;      /* address of a call -> text of its function, if the file has them */
	uint32_t binary;       /* with `names`: text of the program's path; 0: none */
	uint64_t bad_count;    /* lines that are not understood */
	uint64_t bad_line;     /* the first of them */
	bool has_objects;      /* the list of mappings began */
	bool failed;	       /* out of memory; sticks */
};

void heap_profile_deinit(struct heap_profile *profile);
CLEAN_DEFINE_DEINIT(heap_profile_deinit, struct heap_profile);

/*
 * The part of functions' names that a profile begins with when a viewer has made it portable
 * (--raw). The next line is "--- symbol"; reads on to the first line of the profile itself, which
 * is *line_ret, NULL: there is none.
 */
void heap_profile_symbols(struct heap_profile *profile, struct source *source, char **line_ret);

/* "0x4011b7 0x401202": kept for rows to come, *first_ret and *count_ret. False: it is not that. */
bool heap_profile_stack(struct heap_profile *profile, const char *text, size_t *first_ret,
			uint32_t *count_ret);

/* "5: 5035 [ 15: 10095]": alive, and ever. Moves *at behind it. */
bool heap_profile_sum(const char **at, struct compose_sum *sum_ret);

void heap_profile_bad_line(struct heap_profile *profile, const struct source *source);

/* After "MAPPED_LIBRARIES:": what remains of source. */
void heap_profile_objects(struct heap_profile *profile, struct source *source);

/* As the profiler would have counted had it seen all. */
struct compose_sum heap_profile_scale(const struct heap_profile *profile,
				      const struct compose_sum *sum);

/*
 * Everything to composer. What the profiler's own allocator called within itself (frames of
 * libjemalloc*, libtcmalloc*) is left out at the inner end. ERR_FORMAT: there is nothing.
 */
struct err *heap_profile_write(struct heap_profile *profile, const struct source *source,
			       struct composer *composer);

/* The rest of a profile of jemalloc's kind, whose first line is `line`. (jemalloc.c) */
struct err *heap_profile_threaded(struct heap_profile *profile, struct source *source,
				  const char *line, struct composer *composer);

#endif
