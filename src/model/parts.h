/*
 * parts: what a model is made of. Internal to model; others see model.h.
 */
#ifndef MEMTAPE_MODEL_PARTS_H
#define MEMTAPE_MODEL_PARTS_H

#include "base/arena.h"
#include "base/map.h"
#include "model/clock.h"
#include "model/model.h"
#include "model/replay.h"
#include "model/rows.h"

VEC_DEFINE(model_usages_vec, struct model_usage);
VEC_DEFINE(model_notes_vec, struct model_note);
VEC_DEFINE(model_damage_vec, struct capture_damage);

struct model {
	struct arena arena; /* texts */
	struct capture_stacks stacks;
	struct model_process process;
	struct model_totals totals;
	struct model_function functions[TAPE_FN_COUNT];
	struct model_size_bucket sizes[MODEL_SIZE_BUCKETS];
	struct model_stack_sums *stack_sums;
	size_t stack_sums_bytes;
	size_t stack_count;
	struct model_thread *threads;
	size_t thread_count;
	struct rows rows;
	struct model_allocations allocations;
	struct model_timeline_span timeline[MODEL_TIMELINE_MAX];
	size_t timeline_count;
	struct model_usages_vec usages;
	struct model_notes_vec notes; /* ns fields hold ticks until the clock is sealed */
	struct model_damage_vec damage;
	struct model_quality quality;
	struct clock clock;
};

/* A model being loaded. */
struct load {
	struct model *model;
	const struct capture *capture;
	struct replay replay;
	struct map threads_by_tid; /* the latest of each number */
	uint64_t end_ticks;	   /* of the END record or the exit; 0: neither seen */
};

/* One extended record; damaged ones are passed over. */
struct err *load_record(struct load *load, const struct capture_event *event);

#endif
