#include "http/text_counts.h"

#include <assert.h>
#include <strings.h>

enum { CHECK_EVERY = 4096 /* stacks; batches are larger */ };

void text_counts_destroy(struct text_counts *counts)
{
	if (!counts)
		return;
	interner_deinit(&counts->texts);
	free(counts->counts);
	free(counts);
}

struct counting {
	const struct field *field;
	const struct model *model;
	struct names *names;
	const struct sweep_limits *limits;
	struct facts facts;
	struct arena arena;
	struct text_counts *counts;
	size_t count_room;
};

static struct err *add(struct counting *counting, const char *text, uint64_t count)
{
	struct text_counts *counts = counting->counts;
	const uint32_t id = interner_put(&counts->texts, text, strlen(text));
	uint64_t *grown;
	size_t room;

	if (id == UINT32_MAX)
		return err_nomem();
	if (id >= counting->count_room) {
		room = u64_max(2 * counting->count_room, id + 64);
		grown = realloc(counts->counts, room * sizeof(*grown));
		if (!grown)
			return err_nomem();
		memset(grown + counting->count_room, 0,
		       (room - counting->count_room) * sizeof(*grown));
		counts->counts = grown;
		counting->count_room = room;
	}
	counts->counts[id] += count;
	return NULL;
}

/* --- counting by row ----------------------------------------------------------------------- */

struct worker {
	const struct counting *counting;
	struct batch *batch;
	uint64_t *by_id; /* id_count of them */
	size_t id_count;
};

/* Counts the values of the field, or the column of free stacks. */
static struct err *count_segment(void *context, uint64_t segment)
{
	const struct worker *worker = context;
	const struct counting *counting = worker->counting;
	const uint64_t end =
		u64_min((segment + 1) * MODEL_SEGMENT, model_row_count(counting->model));
	uint64_t values[MODEL_BATCH];

	for (uint64_t at = segment * MODEL_SEGMENT; at < end; at += MODEL_BATCH) {
		const size_t count = u64_min(MODEL_BATCH, end - at);

		if (counting->field->scope == FIELD_OF_FREE_STACK) {
			model_rows_read(counting->model, MODEL_FREE_STACK, at, count, values);
		} else {
			batch_rows(worker->batch, &counting->facts, at, count);
			field_read(counting->field, worker->batch, values);
		}
		for (size_t i = 0; i < count; i++) {
			if (values[i] < worker->id_count)
				worker->by_id[values[i]]++;
		}
	}
	return NULL;
}

/* Number of rows per id, in the arena. */
static struct err *count_ids(struct counting *counting, size_t id_count, uint64_t **by_id_ret)
{
	const uint64_t segment_count = div_up(model_row_count(counting->model), MODEL_SEGMENT);
	const size_t worker_count =
		u64_min(sweep_workers(counting->limits, segment_count),
			u64_max(((size_t)64 << 20) / (id_count + 1) / sizeof(uint64_t), 1));
	struct worker workers[SWEEP_WORKERS_MAX];
	CLEAN(free) struct batch *batches = calloc(worker_count, sizeof(*batches));
	CLEAN(free) uint64_t *parts = calloc(worker_count * (id_count + 1), sizeof(*parts));
	uint64_t *by_id = arena_array(&counting->arena, id_count + 1, sizeof(*by_id));
	struct err *err;

	if (!batches || !parts || !by_id)
		return err_nomem();
	for (size_t i = 0; i < worker_count; i++)
		workers[i] = (struct worker) { counting, &batches[i], parts + i * (id_count + 1),
					       id_count };
	err = sweep_run(counting->limits, segment_count, count_segment, workers, sizeof(*workers),
			worker_count);
	for (size_t i = 0; !err && i < worker_count * (id_count + 1); i++)
		by_id[i % (id_count + 1)] += parts[i];
	*by_id_ret = by_id;
	return err;
}

static struct err *count_row_texts(struct counting *counting)
{
	const struct field *field = counting->field;
	const size_t id_count = field->id_count ? field->id_count(&counting->facts) : 0;
	uint64_t *by_id = NULL;
	struct err *err = count_ids(counting, id_count, &by_id);

	for (size_t i = 0; !err && i < id_count; i++) {
		const char *text = by_id[i] ? field_text(field, &counting->facts, i) : NULL;

		if (text)
			err = add(counting, text, by_id[i]);
	}
	return err;
}

/* --- counting by stack --------------------------------------------------------------------- */

static struct err *counting_check(const struct counting *counting, size_t at)
{
	return at % CHECK_EVERY == 0 ? sweep_check(counting->limits) : NULL;
}

/* One text per stack. */
static struct err *count_stack_texts(struct counting *counting)
{
	struct err *err = facts_prepare(&counting->facts, counting->field->facts);

	for (size_t i = 0; !err && i < model_stack_count(counting->model); i++) {
		const uint64_t count = model_stack_sums(counting->model, i)->allocated.count;
		const char *text = NULL;

		if (count)
			text = field_text(counting->field, &counting->facts,
					  counting->field->of_stack(&counting->facts, (uint32_t)i));
		if (text)
			err = add(counting, text, count);
		if (!err)
			err = counting_check(counting, i);
	}
	return err;
}

/* The texts of the frames of one code address: their ids begin at `first`. */
struct texts_of {
	uint32_t first;
	uint32_t count;
};

struct frame_texts {
	struct map known;	 /* name_frame pointer -> index in texts_of, plus 1 */
	struct vec_u64 texts_of; /* struct texts_of as first << 32 | count */
	struct vec_u32 ids;
};

static struct err *frame_texts_add(struct counting *counting, struct frame_texts *texts,
				   struct name_frames frames, uint64_t *index_ret)
{
	const uint64_t first = texts->ids.count;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < frames.count; i++) {
		const char *text = counting->field->of_frame(&counting->facts, &frames.frames[i]);
		uint32_t id;

		if (!text || !*text)
			continue;
		err = add(counting, text, 0);
		id = interner_find(&counting->counts->texts, text, strlen(text));
		if (!err && !vec_u32_push(&texts->ids, id))
			err = err_nomem();
	}
	*index_ret = texts->texts_of.count;
	if (!err && !vec_u64_push(&texts->texts_of, first << 32 | (texts->ids.count - first)))
		err = err_nomem();
	return err;
}

/* By stack: index of the texts of its innermost address; in the arena. */
static struct err *frame_texts_find(struct counting *counting, struct frame_texts *texts,
				    uint32_t **by_stack_ret)
{
	const size_t stack_count = model_stack_count(counting->model);
	uint32_t *by_stack = arena_array(&counting->arena, stack_count, sizeof(*by_stack));
	struct err *err = by_stack ? NULL : err_nomem();

	for (uint32_t i = CAPTURE_STACK_FIRST; !err && i < stack_count; i++) {
		const struct name_frames frames = names_frames(counting->names, i);
		bool is_new = false;
		uint64_t *place = map_put(&texts->known, (uintptr_t)frames.frames, &is_new);

		if (!place)
			return err_nomem();
		if (is_new)
			err = frame_texts_add(counting, texts, frames, place);
		by_stack[i] = (uint32_t)*place;
		if (!err)
			err = counting_check(counting, i);
	}
	*by_stack_ret = by_stack;
	return err;
}

/* Counts each text once per stack, however often it occurs. */
static void count_frames(struct counting *counting, const struct frame_texts *texts,
			 const uint32_t *by_stack, uint32_t stack, uint64_t count,
			 uint32_t *seen_in)
{
	const struct capture_stack *stacks = model_stacks(counting->model);

	for (uint32_t at = stack; at >= CAPTURE_STACK_FIRST; at = stacks[at].parent) {
		const uint64_t range = texts->texts_of.items[by_stack[at]];
		const uint32_t *ids = texts->ids.items + (range >> 32);

		for (uint32_t i = 0; i < (uint32_t)range; i++) {
			if (seen_in[ids[i]] == stack)
				continue;
			seen_in[ids[i]] = stack;
			counting->counts->counts[ids[i]] += count;
		}
	}
}

static uint64_t allocations_of(const struct counting *counting, const uint64_t *by_stack,
			       uint32_t stack)
{
	return by_stack ? by_stack[stack]
			: model_stack_sums(counting->model, stack)->allocated.count;
}

/* Many texts per stack: those of all its frames. */
static struct err *count_texts_of_frames(struct counting *counting, struct frame_texts *texts)
{
	const size_t stack_count = model_stack_count(counting->model);
	uint64_t *frees = NULL;
	uint32_t *by_stack = NULL, *seen_in = NULL;
	struct err *err = NULL;

	if (counting->field->scope == FIELD_OF_FREE_STACK)
		err = count_ids(counting, stack_count, &frees);
	if (!err)
		err = frame_texts_find(counting, texts, &by_stack);
	if (err)
		return err;
	seen_in =
		arena_array(&counting->arena, counting->counts->texts.count + 1, sizeof(*seen_in));
	if (!seen_in)
		return err_nomem();
	for (uint32_t i = CAPTURE_STACK_FIRST; !err && i < stack_count; i++) {
		const uint64_t count = allocations_of(counting, frees, i);

		if (count)
			count_frames(counting, texts, by_stack, i, count, seen_in);
		err = counting_check(counting, i);
	}
	return err;
}

static struct err *count_all_frames(struct counting *counting)
{
	struct frame_texts texts = { 0 };
	struct err *err = count_texts_of_frames(counting, &texts);

	map_deinit(&texts.known);
	vec_u64_deinit(&texts.texts_of);
	vec_u32_deinit(&texts.ids);
	return err;
}

static struct err *count(struct counting *counting)
{
	const struct field *field = counting->field;
	struct err *err =
		facts_init(&counting->facts, counting->model, counting->names, &counting->arena);

	if (err)
		return err;
	counting->facts.limits = counting->limits;
	if (field->type == FIELD_TEXTS)
		return count_all_frames(counting);
	if (field->type != FIELD_TEXT || (!field->of_stack && !field->id_count))
		return err_new(ERR_USAGE, "%s has no text values", field->name);
	return field->of_stack ? count_stack_texts(counting) : count_row_texts(counting);
}

struct err *text_counts_create(const struct field *field, const struct model *model,
			       struct names *names, const struct sweep_limits *limits,
			       struct text_counts **counts_ret)
{
	CLEAN(text_counts_destroy) struct text_counts *counts = calloc(1, sizeof(*counts));
	struct counting counting = {
		.field = field,
		.model = model,
		.names = names,
		.limits = limits,
		.counts = counts,
	};
	struct err *err = counts ? count(&counting) : err_nomem();

	arena_deinit(&counting.arena);
	if (!err)
		*counts_ret = steal(counts);
	return err;
}

/* --- lookup -------------------------------------------------------------------------------- */

static bool is_before(struct text_count a, bool a_begins, struct text_count b, bool b_begins)
{
	if (a_begins != b_begins)
		return a_begins;
	return a.count != b.count ? a.count > b.count : strcmp(a.text, b.text) < 0;
}

static bool begins(const char *text, const char *prefix)
{
	return strncasecmp(text, prefix, strlen(prefix)) == 0;
}

size_t text_counts_find(const struct text_counts *counts, const char *prefix,
			struct text_count *found, size_t max)
{
	size_t count = 0, at;

	assert(found || max == 0);
	for (uint32_t i = 0; i < counts->texts.count; i++) {
		const struct text_count one = { counts->texts.texts[i], counts->counts[i] };
		const bool is_first = begins(one.text, prefix);

		if (one.count == 0 || (!is_first && !strcasestr(one.text, prefix)))
			continue;
		for (at = count; at > 0 && is_before(one, is_first, found[at - 1],
						     begins(found[at - 1].text, prefix));
		     at--) {
			if (at < max)
				found[at] = found[at - 1];
		}
		if (at < max)
			found[at] = one;
		count += at < max && count < max;
	}
	assert(count <= max);
	return count;
}
