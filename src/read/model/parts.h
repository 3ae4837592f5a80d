/*
 * parts: the parts of a model. Internal to model; others see model.h.
 *
 * A model with rows was always read from an index: its large parts are in the mapped file. One
 * without rows is built in memory and owns them.
 */
#ifndef MEMTAPE_MODEL_PARTS_H
#define MEMTAPE_MODEL_PARTS_H

#include "base/arena.h"
#include "base/map.h"
#include "model/checkpoints.h"
#include "model/clock.h"
#include "model/model.h"
#include "model/pools.h"
#include "model/replay.h"
#include "model/rows.h"
#include "model/scans_load.h"

VEC_DEFINE(model_usages_vec, struct model_usage);
VEC_DEFINE(model_systems_vec, struct model_system);
VEC_DEFINE(model_notes_vec, struct model_note);
VEC_DEFINE(model_damage_vec, struct capture_damage);

/* Rows and everything belonging to them, in the mapped file. */
struct table {
	const uint8_t *file; /* NULL: no rows */
	uint64_t file_bytes;
	uint64_t row_count;
	const struct segment *segments;
	uint64_t freed_count;
	const struct freed_block *freed;
	const struct chain_record *chains;
	uint64_t chain_count;
	const struct checkpoint *checkpoints;
	size_t checkpoint_count;
	uint64_t rows_at_peak;
	const uint32_t *peak_ties; /* rows freed at the peak's nanosecond, but after it; sorted */
	size_t peak_tie_count;
	const uint64_t
		*used_stacks; /* a bit for each stack with allocations in its sums, in the arena */
	uint32_t used_stack;  /* one of them */
};

struct model {
	struct arena arena; /* texts */
	const struct capture_stack *stacks;
	struct model_by_stack stack_sums;
	const struct model_stack_link *stack_links;  /* NULL: no rows */
	const struct model_stack_sums *stack_totals; /* the same */
	const uint64_t *stack_usables;		     /* the same */
	struct model_stack_sums stacks_used;	     /* of stack_totals */
	const struct capture_sighting *sightings;
	size_t sighting_count;
	size_t stack_count;
	const struct capture_module *modules;
	size_t module_count;
	struct model_process process;
	struct model_totals totals;
	struct model_function functions[TAPE_FN_COUNT];
	struct model_size_bucket sizes[MODEL_SIZE_BUCKETS];
	const struct model_latency *latencies; /* by fn; NULL: none */
	const struct model_stack_latency *stack_latencies;
	struct model_thread *threads;
	size_t thread_count;
	struct table table;
	bool is_of_pools;
	const struct model_pool *pools;
	size_t pool_count;
	const struct timeline_mark *fine; /* the timeline at full resolution */
	size_t fine_count;
	uint64_t fine_begin_ticks;
	uint64_t fine_span_ticks;
	struct model_timeline_span *timeline;
	size_t timeline_count;
	const struct model_stray_free *strays;
	size_t stray_count;
	struct model_usages_vec usages;	  /* without capacity: not owned by the model */
	struct model_systems_vec systems; /* likewise */
	struct model_notes_vec notes;	  /* ns fields hold ticks until the clock is sealed */
	struct model_damage_vec damage;
	struct model_quality quality;
	struct clock clock;
	const struct model_scan *scans;
	size_t scan_count;
	char *index_path; /* NULL: none */
	bool index_is_new;
	struct capture_module *own_modules; /* of an index, or NULL */
	struct model_scan *own_scans;
	struct model_scan_holder *own_holders; /* of an index, or NULL */

	/* of a built one */
	struct capture_stacks built_stacks;
	uint32_t *built_seats;
	struct model_stack_sums *built_sums;
	struct timeline_mark *built_fine;
	struct model_stray_free *built_strays;
	struct latencies *built_latencies;
	struct scans built_scans;
	struct model_pool *own_pools; /* allocated */

	const struct recent *recent; /* of a followed one, borrowed; NULL: it is none */
};

/*
 * Notes which stacks allocated, once the model's stacks and sums exist: rows have no others, so
 * callers that prepare something for each stack that allocated have it for every row's stack.
 * ERR_FORMAT: there are rows and no such stack.
 */
struct err *table_note_stacks(struct model *model);

/* Of blocks in the order of their ends; everything used of them is validated. */
void table_freed_read(const struct model *model, enum freed_column column, uint64_t first,
		      size_t count, uint64_t *values);

/* The timeline of model.h from the fine one. False: out of memory. */
bool model_timeline_join(struct model *model);

/* A model being loaded. */
struct load {
	struct model *model;
	const struct tape_header *header; /* of the tape; */
	const struct capture *capture;	  /* NULL: it is still being recorded */
	const struct model_settings *settings;
	struct replay replay;
	struct pools pools;  /* if the model is of them */
	struct image *image; /* NULL: no rows */
	struct rows rows;
	struct checkpoints checkpoints;
	struct map threads_by_tid;    /* the latest with each number */
	struct map threads_by_handle; /* the same */
	struct map creations;	      /* handle -> creator << 32 | stack, of future threads */
	uint64_t end_ticks;	      /* of the END record or the exit; 0: neither seen */
	uint64_t exec_ticks;	      /* of the last EXEC record; 0: there is none */
	uint64_t done_count;	      /* events, for progress */
	uint64_t told_count;
};

/* How far apart two events of different threads may be, as far as the clock is known now. */
void load_window(struct load *load);

/* One extended record; damaged ones are skipped. */
struct err *load_record(struct load *load, const struct capture_event *event);

/* build.c, for building.c and following.c: load is filled and the tape may be played to load_events; */
struct err *load_begin(struct load *load);
struct err *load_events(void *context, const struct capture_event *events, size_t count);
/* it was played: load->capture is the whole tape. */
struct err *load_finish(struct load *load, const struct capture_played *played);
void load_deinit(struct load *load);
/* sum_up.c: the sums of what was played, without samples, notes, scans, pools, damage and latencies. */
struct err *load_sum_up(struct load *load, const struct capture_played *played);
/* building.c: memory in use, or soon to be used, of a load without rows. */
size_t load_bytes(const struct load *load);

/* Sums alone if image is NULL; else writes an index to it and leaves *model_ret unchanged. */
struct index_identity;
struct err *model_build(const struct capture *capture, const struct model_settings *settings,
			struct image *image, const struct index_identity *identity,
			struct model **model_ret);

#endif
