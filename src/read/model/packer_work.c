#include "model/packer_work.h"

#include <assert.h>
#include <signal.h>

enum { APPLY_AHEAD = 24 };

static inline void row_prefetch(const struct rows *rows, uint32_t row)
{
	const uintptr_t segment = (uintptr_t)rows->hot[row >> SEGMENT_BITS];

	__builtin_prefetch((const void *)(segment + row % MODEL_SEGMENT * sizeof(struct row)), 1);
}

static inline void row_end(struct row *row, const struct freed_entry *entry)
{
	row->free_time = entry->time;
	row->free_stack = entry->free_stack;
	row->free_thread = entry->free_thread;
	row->free_fn = entry->free_fn;
	row->flags = entry->flags;
}

/* A row whose free is later than the horizon gets it as a patch. */
static struct err *free_later(struct packer *packer, struct row *row, uint32_t index)
{
	const struct patch patch = { .time = row->free_time,
				     .row = index,
				     .stack = row->free_stack,
				     .thread = row->free_thread,
				     .chain = ROW_NONE,
				     .fn = row->free_fn,
				     .flags = row->flags };

	row->free_time = MODEL_NEVER;
	row->free_stack = CAPTURE_STACK_NONE;
	row->free_thread = MODEL_NO_THREAD;
	row->free_fn = TAPE_FN_EXTENDED;
	row->flags = 0;
	return patches_add(&packer->patches, patch);
}

static struct clock_piece *free_piece(struct telling *telling, uint64_t ticks)
{
	return &telling->free_pieces[(ticks >> PIECE_BITS) % PIECES];
}

void telling_keep(struct telling *telling, uint64_t row, uint32_t chain)
{
	if (telling->keeps_chains && !vec_u64_push(&telling->chains, row << 32 | chain) &&
	    !telling->err)
		telling->err = err_nomem();
}

/* Ticks -> ns, of rows in the order of the segment. */
static void tell_times(void *context, struct row *rows, size_t count)
{
	struct telling *telling = context;
	const uint64_t first = telling->first_row;

	telling->first_row += count;
	for (size_t i = 0; i < count; i++) {
		struct row *row = &rows[i];

		row->time = clock_ns_piece(telling->clock, row->time, &telling->alloc_piece);
		if (row->free_time == MODEL_NEVER) {
			if (unlikely(row->chain != ROW_NONE))
				telling_keep(telling, first + i, row->chain);
			continue;
		}
		if (row->free_time < telling->horizon)
			row->free_time = clock_ns_piece(telling->clock, row->free_time,
							free_piece(telling, row->free_time));
		else if (!telling->err)
			telling->err = free_later(telling->packer, row, (uint32_t)(first + i));
	}
}

struct err *segment_write(struct image *image, struct row *rows, uint32_t count,
			  struct telling *telling, uint8_t *out, struct segment *place)
{
	struct segment segment;
	uint64_t offset;
	size_t bytes = segment_pack(rows, count, tell_times, telling, out, &segment);
	struct err *err = telling->err ? telling->err : image_append(image, out, bytes, &offset);

	assert(count > 0 && count <= MODEL_SEGMENT);
	if (err)
		return err;
	segment_move(&segment, offset);
	*place = segment;
	return NULL;
}

struct err *freed_write(struct image *image, struct freed_entry *entries, uint32_t count,
			const struct clock *clock, uint8_t *out, struct freed_block *place)
{
	struct clock_piece piece = { 0 };
	struct freed_block block;
	uint64_t offset;
	struct err *err;
	size_t bytes;

	assert(count > 0 && count <= FREED_BLOCK);
	for (uint32_t i = 0; i < count; i++)
		entries[i].time = clock_ns_piece(clock, entries[i].time, &piece);
	bytes = freed_pack(entries, count, out, &block);
	err = image_append(image, out, bytes, &offset);
	if (err)
		return err;
	freed_move(&block, offset);
	*place = block;
	return NULL;
}

struct err *apply_ends(struct rows *rows, const struct freed_entry *entries, size_t count)
{
	struct err *err = NULL;

	assert(entries || count == 0);
	for (size_t i = 0; i < count && !err; i++) {
		const struct freed_entry *entry = &entries[i];
		const size_t segment = entry->row >> SEGMENT_BITS;
		struct row row;

		if (i + APPLY_AHEAD < count)
			row_prefetch(rows, entries[i + APPLY_AHEAD].row);
		if (likely(segment >= rows->packer.segment_count)) {
			row_end(&rows->hot[segment][entry->row % MODEL_SEGMENT], entry);
		} else {
			row_end(&row, entry);
			err = free_later(&rows->packer, &row, entry->row);
		}
	}
	return err;
}

int packer_thread_start(pthread_t *thread, void *(*function)(void *), void *context)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(thread, NULL, function, context);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}
