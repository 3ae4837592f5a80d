#include "space/space_course.h"

#include <assert.h>
#include <stdlib.h>

struct course {
	const struct model *model;
	const uint64_t *times;
	size_t count;
	struct space_live *changes; /* by time, and one more: what is live from then on */
	size_t next;		    /* the first time after the rows' allocation */
	/* a batch */
	uint64_t free_ns[MODEL_BATCH];
	uint64_t rows[MODEL_BATCH]; /* of those that are live at some time */
	uint64_t bytes[MODEL_BATCH];
	uint64_t usable[MODEL_BATCH];
	uint16_t kept[MODEL_BATCH]; /* their places in the batch */
};

static void change(struct space_live *change, uint64_t sign, uint64_t bytes, uint64_t usable)
{
	change->count += sign;
	change->bytes += sign * bytes;
	change->usable += sign * usable;
}

/* The first time after ns: a block freed at ns is live until then. */
static size_t time_after(const struct course *course, uint64_t ns)
{
	size_t low = course->next, high = course->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (course->times[middle] <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Sizes of the kept rows, by themselves if they are few. */
static void read_sizes(struct course *course, uint64_t first, size_t count, size_t kept)
{
	const bool are_few = kept < count / 16;

	if (are_few) {
		model_rows_gather(course->model, MODEL_SIZE, course->rows, kept, course->bytes);
		model_rows_gather(course->model, MODEL_USABLE, course->rows, kept, course->usable);
		return;
	}
	model_rows_read(course->model, MODEL_SIZE, first, count, course->bytes);
	model_rows_read(course->model, MODEL_USABLE, first, count, course->usable);
	for (size_t i = 0; i < kept; i++) {
		course->bytes[i] = course->bytes[course->kept[i]];
		course->usable[i] = course->usable[course->kept[i]];
	}
}

/* Rows of one batch, allocated between the same two times. */
static void take_batch(struct course *course, uint64_t first, size_t count)
{
	const uint64_t next_ns = course->times[course->next];
	size_t kept = 0;

	model_rows_read(course->model, MODEL_FREE_NS, first, count, course->free_ns);
	for (size_t i = 0; i < count; i++) {
		course->kept[kept] = (uint16_t)i;
		kept += course->free_ns[i] >= next_ns; /* most are gone before */
	}
	for (size_t i = 0; i < kept; i++)
		course->rows[i] = first + course->kept[i];
	read_sizes(course, first, count, kept);
	for (size_t i = 0; i < kept; i++) {
		const size_t end = time_after(course, course->free_ns[course->kept[i]]);
		const uint64_t usable = space_usable(course->bytes[i], course->usable[i]);

		change(&course->changes[course->next], 1, course->bytes[i], usable);
		change(&course->changes[end], UINT64_MAX, course->bytes[i], usable);
	}
}

static void take_all(struct course *course)
{
	uint64_t row = 0;

	for (; course->next < course->count; course->next++) {
		const uint64_t end = model_row_at(course->model, course->times[course->next]);

		while (row < end) {
			const size_t count = u64_min(end - row, MODEL_BATCH);

			take_batch(course, row, count);
			row += count;
		}
	}
}

struct err *space_course(const struct model *model, const uint64_t *times, size_t count,
			 struct space_live *live_ret)
{
	CLEAN(free) struct course *course = calloc(1, sizeof(*course));
	CLEAN(free) struct space_live *changes = calloc(count + 1, sizeof(*changes));
	struct space_live live = { 0 };

	assert(model && (times || count == 0));
	if (!course || !changes)
		return err_nomem();
	course->model = model;
	course->times = times;
	course->count = count;
	course->changes = changes;
	take_all(course);
	for (size_t i = 0; i < count; i++) {
		assert(i == 0 || times[i] >= times[i - 1]);
		live.count += changes[i].count;
		live.bytes += changes[i].bytes;
		live.usable += changes[i].usable;
		live_ret[i] = live;
	}
	return NULL;
}
