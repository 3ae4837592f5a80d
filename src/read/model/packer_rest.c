/* Packs the rest once the clock is sealed: raw segments, and those still in memory. */
#include <assert.h>

#include "model/packer_work.h"

enum { REST_THREADS_MAX = 8 };

/* Jobs: raw segments, then segments in memory, then the last blocks of frees. */
struct rest {
	struct rows *rows;
	size_t raw_count;
	size_t job_count;
	size_t next; /* atomic */
};

static struct err *rest_rows(struct rows *rows, struct row *from, size_t number, uint8_t *out)
{
	const uint64_t count =
		u64_min(rows->count - ((uint64_t)number << SEGMENT_BITS), MODEL_SEGMENT);
	/* no free is later than the end of time: no patches, which only one thread may make */
	struct telling telling = { .clock = rows->clock, .horizon = UINT64_MAX };

	return segment_write(rows->image, from, (uint32_t)count, &telling, out,
			     &rows->segments.items[number]);
}

static struct err *rest_freed(struct rows *rows, struct freed_entry *from, size_t number,
			      uint8_t *out)
{
	const uint64_t count =
		u64_min(rows->freed_count - (uint64_t)number * FREED_BLOCK, FREED_BLOCK);

	return freed_write(rows->image, from, (uint32_t)count, rows->clock, out,
			   &rows->freed_blocks.items[number]);
}

static struct err *rest_raw(struct rows *rows, const struct raw_part *raw, uint8_t *out, void *buf)
{
	struct err *err =
		image_read(&rows->packer.raw, buf,
			   raw->is_freed ? PACKER_FREED_BYTES : PACKER_ROWS_BYTES, raw->offset);

	if (err)
		return err;
	return raw->is_freed ? rest_freed(rows, buf, raw->number, out)
			     : rest_rows(rows, buf, raw->number, out);
}

static struct err *rest_job(struct rest *rest, size_t job, uint8_t *out, void *buf)
{
	struct rows *rows = rest->rows;
	size_t segment = rows->cold_count + (job - rest->raw_count), waiting;

	if (job < rest->raw_count)
		return rest_raw(rows, &rows->packer.raw_parts.items[job], out, buf);
	if (segment < rows->segment_count)
		return rest_rows(rows, rows->hot[segment], segment, out);
	waiting = segment - rows->segment_count; /* the one after them is the unfinished block */
	if (waiting < rows->packer.waiting_count)
		return rest_freed(rows, rows->packer.waiting[waiting].items,
				  rows->packer.waiting[waiting].number, out);
	return rest_freed(rows, rows->freed, rows->freed_blocks.count - 1, out);
}

static struct err *rest_run(struct rest *rest)
{
	CLEAN(free) uint8_t *out = malloc(segment_room(MODEL_SEGMENT));
	CLEAN(free) void *buf = rest->raw_count ? malloc(PACKER_ROWS_BYTES) : NULL;
	struct err *err = NULL;

	if (!out || (rest->raw_count && !buf))
		return err_nomem();
	while (!err) {
		size_t job = __atomic_fetch_add(&rest->next, 1, __ATOMIC_RELAXED);

		if (job >= rest->job_count)
			break;
		err = rest_job(rest, job, out, buf);
	}
	return err;
}

struct rest_thread {
	struct rest *rest;
	struct err *err;
	pthread_t thread;
};

static void *rest_thread(void *context)
{
	struct rest_thread *thread = context;

	thread->err = rest_run(thread->rest);
	return NULL;
}

struct err *packer_pack_rest(struct rows *rows)
{
	struct rest rest = { .rows = rows, .raw_count = rows->packer.raw_parts.count };
	struct rest_thread threads[REST_THREADS_MAX];
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned started = 0;
	struct err *err = NULL;

	assert(!rows->packer.is_running);
	if (rows->freed)
		err = apply_ends(rows, rows->freed,
				 rows->freed_count - (rows->freed_blocks.count - 1) * FREED_BLOCK);
	if (err)
		return err;
	rest.job_count = rest.raw_count + rows->segment_count - rows->cold_count +
			 rows->packer.waiting_count + (rows->freed != NULL);
	while (started + 1 <
	       u64_min(u64_min((uint64_t)processors, REST_THREADS_MAX), rest.job_count)) {
		threads[started] = (struct rest_thread) { .rest = &rest };
		if (packer_thread_start(&threads[started].thread, rest_thread, &threads[started]) !=
		    0)
			break;
		started++;
	}
	err = rest_run(&rest);
	for (unsigned i = 0; i < started; i++) {
		pthread_join(threads[i].thread, NULL);
		if (err)
			err_destroy(threads[i].err);
		else
			err = threads[i].err;
	}
	return err;
}
