#include "select/tags.h"

#include <assert.h>

#include "base/map.h"

static bool is_change(const struct model *model, const struct model_note *note)
{
	return note->type == TAPE_EXT_TAG && note->thread < model_thread_count(model);
}

/* How many changes each thread has, as offsets of where they begin. */
static struct err *count_changes(const struct model *model, struct arena *arena, struct tags *tags,
				 size_t *count_ret)
{
	const size_t thread_count = model_thread_count(model);

	tags->first = arena_array(arena, thread_count + 1, sizeof(*tags->first));
	if (!tags->first)
		return err_nomem();
	for (size_t i = 0; i < model_note_count(model); i++)
		if (is_change(model, &model_notes(model)[i]))
			tags->first[model_notes(model)[i].thread + 1]++;
	for (size_t i = 0; i < thread_count; i++)
		tags->first[i + 1] += tags->first[i];
	*count_ret = tags->first[thread_count];
	return NULL;
}

static struct err *text_number(struct tags *tags, struct map *known, const char *text,
			       uint32_t *tag_ret)
{
	uint64_t key = hash_bytes(text, strlen(text), 0);
	uint64_t *place;
	bool is_new;

	for (;; key++) { /* texts of the same hash take the next number */
		place = map_put(known, key, &is_new);
		if (!place)
			return err_nomem();
		if (is_new || strcmp(tags->texts[*place], text) == 0)
			break;
	}
	if (is_new) {
		*place = tags->count;
		tags->texts[tags->count++] = text;
	}
	*tag_ret = (uint32_t)*place;
	return NULL;
}

static struct err *fill(const struct model *model, struct tags *tags, size_t *next)
{
	CLEAN(map_deinit) struct map known = { 0 };
	struct err *err = NULL;

	for (size_t i = 0; i < model_note_count(model) && !err; i++) {
		const struct model_note *note = &model_notes(model)[i];
		struct tag_change *change;

		if (!is_change(model, note))
			continue;
		change = &tags->changes[next[note->thread]++];
		*change = (struct tag_change) { note->ns, TAG_NONE };
		if (note->tag.is_set)
			err = text_number(tags, &known, note->text, &change->tag);
	}
	return err;
}

struct err *tags_find(const struct model *model, struct arena *arena, struct tags *tags)
{
	const size_t thread_count = model_thread_count(model);
	CLEAN(free) size_t *next = NULL;
	size_t count = 0;
	struct err *err;

	*tags = (struct tags) { 0 };
	err = count_changes(model, arena, tags, &count);
	if (err || count == 0)
		return err;
	tags->changes = arena_array(arena, count, sizeof(*tags->changes));
	tags->texts = arena_array(arena, count, sizeof(*tags->texts));
	next = malloc((thread_count + 1) * sizeof(*next));
	if (!tags->changes || !tags->texts || !next)
		return err_nomem();
	memcpy(next, tags->first, (thread_count + 1) * sizeof(*next));
	return fill(model, tags, next);
}

uint32_t tags_at(const struct tags *tags, uint32_t thread, uint64_t ns)
{
	size_t low, high;

	if (tags->count == 0)
		return TAG_NONE;
	low = tags->first[thread];
	high = tags->first[thread + 1];
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (tags->changes[middle].ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low > tags->first[thread] ? tags->changes[low - 1].tag : TAG_NONE;
}
