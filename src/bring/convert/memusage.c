/*
 * Data files of glibc's memusage: heap size after each call, and nothing else about the call. A
 * rise is a block of that size, a fall frees the youngest block of exactly that size; so for a
 * program without realloc sizes and counts are correct. After a fall by a size that no block has
 * (caused by realloc), the youngest blocks are freed and the rest of the last one is a new block.
 */
#include <inttypes.h>

#include "memusage/memusage.h"

#include "base/file.h"
#include "base/map.h"
#include "base/vec.h"
#include "convert/importer.h"

struct curve {
	struct composer *composer;
	uint64_t begin_ticks;
	uint64_t heap;
	struct vec_u64 sizes; /* of blocks in order of allocation; some are freed */
	struct map alive;     /* size -> number of live blocks */
	uint64_t alive_count;
	uint64_t broken_count;	 /* falls by a size that no block had */
	uint64_t negative_count; /* records with a negative heap size */
	uint64_t back_count;	 /* times that went back */
	uint64_t last_ticks;
	bool failed;
};

static void curve_deinit(struct curve *curve)
{
	vec_u64_deinit(&curve->sizes);
	map_deinit(&curve->alive);
}

CLEAN_DEFINE_DEINIT(curve_deinit, struct curve);

/* Matches a record with no time, and an end not before the start. */
static enum importer_match memusage_probe(const char *bytes, size_t count)
{
	const size_t stack_at = 8, low_at = 16, high_at = 20;
	uint64_t begin, end;

	if (count < 2 * MEMUSAGE_RECORD_BYTES || load_u64(bytes) != 0)
		return IMPORTER_NO;
	begin = (uint64_t)load_u32(bytes + high_at) << 32 | load_u32(bytes + low_at);
	bytes += MEMUSAGE_RECORD_BYTES;
	end = (uint64_t)load_u32(bytes + high_at) << 32 | load_u32(bytes + low_at);
	/* no stack has 2^40 bytes */
	return begin > 0 && end >= begin && load_u64(bytes + stack_at) >> 40 == 0 ? IMPORTER_MAYBE
										  : IMPORTER_NO;
}

static void block_made(struct curve *curve, uint64_t size)
{
	uint64_t *alive = map_put(&curve->alive, size, NULL);

	if (!alive || !vec_u64_push(&curve->sizes, size)) {
		curve->failed = true;
		return;
	}
	++*alive;
	curve->alive_count++;
	composer_made(curve->composer, size, size, COMPOSE_NO_STACK);
}

/* False: no live block has this size. */
static bool block_gone(struct curve *curve, uint64_t size)
{
	uint64_t *alive = map_find(&curve->alive, size);

	if (!alive || *alive == 0)
		return false;
	--*alive;
	curve->alive_count--;
	composer_gone(curve->composer, size);
	return true;
}

static void fall(struct curve *curve, uint64_t bytes)
{
	if (block_gone(curve, bytes))
		return;
	curve->broken_count++;
	while (bytes > 0 && curve->sizes.count > 0) {
		const uint64_t size = curve->sizes.items[--curve->sizes.count];

		if (!block_gone(curve, size))
			continue;
		if (size > bytes)
			block_made(curve, size - bytes);
		bytes -= u64_min(bytes, size);
	}
}

/* Drops sizes of freed blocks: keeps as many of each size as are alive. */
static void sizes_tidy(struct curve *curve)
{
	CLEAN(map_deinit) struct map kept = { 0 };
	size_t to = curve->sizes.count;

	if (curve->sizes.count < 2 * curve->alive_count + 4096)
		return;
	for (size_t from = curve->sizes.count; from-- > 0;) {
		const uint64_t size = curve->sizes.items[from];
		const uint64_t *alive = map_find(&curve->alive, size);
		uint64_t *count = alive && *alive ? map_put(&kept, size, NULL) : NULL;

		if (alive && *alive && !count)
			curve->failed = true;
		else if (count && ++*count <= *alive)
			curve->sizes.items[--to] = size;
	}
	curve->sizes.count -= to;
	memmove(curve->sizes.items, curve->sizes.items + to,
		curve->sizes.count * sizeof(*curve->sizes.items));
}

static void records_take(void *context, const struct memusage_record *records, size_t count)
{
	struct curve *curve = context;

	for (size_t i = 0; i < count && !curve->failed && !composer_failed(curve->composer); i++) {
		const struct memusage_record *record = &records[i];
		/* memusage subtracts blocks it never added; that wraps around */
		const bool is_negative = record->heap >> 56 != 0;
		const uint64_t heap = is_negative ? 0 : record->heap;

		curve->negative_count += is_negative;
		curve->back_count += record->ticks < curve->last_ticks;
		curve->last_ticks = u64_max(curve->last_ticks, record->ticks);
		composer_time(curve->composer, curve->last_ticks - curve->begin_ticks);
		if (heap > curve->heap)
			block_made(curve, heap - curve->heap);
		else if (heap < curve->heap)
			fall(curve, curve->heap - heap);
		curve->heap = heap;
	}
	sizes_tidy(curve);
}

static void facts_write(const struct curve *curve, const struct memusage_head *head)
{
	struct composer *composer = curve->composer;

	composer_missing(composer, TAPE_MISSING_TIMES | TAPE_MISSING_THREADS |
					   TAPE_MISSING_ADDRESSES | TAPE_MISSING_USABLE |
					   TAPE_MISSING_FREE_STACKS | TAPE_MISSING_FUNCTIONS |
					   TAPE_MISSING_LIFETIMES | TAPE_MISSING_STACKS |
					   TAPE_MISSING_PROCESS);
	composer_note(composer, "times are ticks of a clock that the file does not name, each "
				"taken for a nanosecond");
	composer_note(composer, "the stack was at most %" PRIu64 " bytes deep", head->stack_max);
	if (curve->broken_count > 0)
		composer_note(composer,
			      "%" PRIu64 " times the heap fell by what no block had: reallocs show "
			      "as blocks that come and go",
			      curve->broken_count);
	if (curve->negative_count > 0)
		composer_note(composer,
			      "%" PRIu64 " records have less than nothing alive (memory was freed "
			      "that memusage had not counted): taken for nothing",
			      curve->negative_count);
	if (curve->back_count > 0)
		composer_note(composer, "%" PRIu64 " times went back: threads wrote at once",
			      curve->back_count);
	if (head->was_repaired)
		composer_note(composer, "the file's header is empty: the program was killed or "
					"still running, and its last calls are missing");
	if (head->trailing_bytes > 0)
		composer_note(composer, "the last record is cut off after %u bytes",
			      head->trailing_bytes);
}

/* Reading backwards requires a regular file. */
static struct err *copy_open(struct source *source, struct memusage **memusage_ret)
{
	CLEAN(close) int fd = file_create_in_memory("memusage");
	size_t count = 1;

	if (fd < 0)
		return err_errno("keep %s", source_name(source));
	while (count > 0) {
		const char *bytes;
		size_t done = 0;

		source_peek(source, 1, &bytes, &count);
		while (done < count) {
			const ssize_t put = write(fd, bytes + done, count - done);

			if (put < 0)
				return err_errno("keep %s", source_name(source));
			done += (size_t)put;
		}
		source_skip(source, count);
	}
	return memusage_open_fd(steal_fd(&fd), source_name(source), memusage_ret);
}

static struct err *memusage_read(struct source *source, struct composer *composer)
{
	CLEAN(memusage_close) struct memusage *memusage = NULL;
	CLEAN(curve_deinit) struct curve curve = { .composer = composer };
	const struct memusage_head *head;
	struct err *err = copy_open(source, &memusage);

	if (err)
		return err;
	head = memusage_head(memusage);
	curve.begin_ticks = curve.last_ticks = head->begin_ticks;
	err = memusage_each(memusage, records_take, &curve);
	if (err)
		return err;
	if (curve.failed)
		return err_nomem();
	composer_time(composer, u64_max(curve.last_ticks, head->end_ticks) - head->begin_ticks);
	facts_write(&curve, head);
	return NULL;
}

const struct importer importer_memusage = {
	.name = "memusage",
	.title = "data files of glibc's memusage",
	.recipe = "memusage -d x.dat PROGRAM",
	.probe = memusage_probe,
	.read = memusage_read,
};
