/* The end of building rows: rows in memory are packed, and late updates are sorted. */
#include <assert.h>

#include "base/big.h"
#include "base/sort.h"
#include "model/packer.h"

enum { CHAIN_ONLY = 1 /* in patch.reserved[0]: of the first row of a chain */ };

static int by_row(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(((const struct patch *)a)->row, ((const struct patch *)b)->row);
}

/* All patches of a group in the order of rows, those of one row in the order they were made. */
static struct err *group_gather(struct rows *rows, uint32_t group, struct patches_vec *all)
{
	struct err *err = patches_take(&rows->packer.patches, group, all);

	if (!err)
		err = patches_take(&rows->patches, group, all);
	if (err)
		return err;
	for (size_t i = 0; i < rows->chain_patches.count; i++) {
		const uint64_t item = rows->chain_patches.items[i];
		const struct patch patch = { .row = (uint32_t)(item >> 32),
					     .chain = (uint32_t)item,
					     .reserved = { CHAIN_ONLY } };

		if (patch.row >> PATCH_GROUP_BITS == group && !patches_vec_push(all, patch))
			return err_nomem();
	}
	if (!sort_stable(all->items, all->count, sizeof(*all->items), by_row, NULL))
		return err_nomem();
	return NULL;
}

/* The end a row was packed with, for a row that only gets its chain. */
static struct patch patch_of_packed(const struct segment *segment, const uint8_t *file,
				    uint32_t row)
{
	return (struct patch) {
		.time = segment_get(segment, file, MODEL_FREE_NS, row),
		.stack = (uint32_t)segment_get(segment, file, MODEL_FREE_STACK, row),
		.thread = (uint32_t)segment_get(segment, file, MODEL_FREE_THREAD, row),
		.chain = ROW_NONE,
		.fn = (uint8_t)segment_get(segment, file, MODEL_FREE_FN, row),
		.flags = (uint8_t)segment_get(segment, file, MODEL_FLAGS, row),
	};
}

/* Merges the patches of one row into one, with its time in ns; returns their number. */
static size_t patch_join(const struct rows *rows, const uint8_t *file, const struct patch *patches,
			 size_t count, struct clock_piece *piece, struct patch *joined_ret)
{
	const uint32_t row = patches[0].row, in_segment = row % MODEL_SEGMENT;
	uint32_t chain = ROW_NONE;
	struct patch joined;
	bool has_end = false;
	size_t used = 0;

	for (; used < count && patches[used].row == row; used++) {
		if (patches[used].reserved[0] == CHAIN_ONLY) {
			chain = patches[used].chain;
			continue;
		}
		joined = patches[used];
		has_end = true;
	}
	if (has_end)
		joined.time = clock_ns_piece(rows->clock, joined.time, piece);
	else
		joined = patch_of_packed(&rows->segments.items[row >> SEGMENT_BITS], file,
					 in_segment);
	joined.row = in_segment;
	joined.chain = chain;
	*joined_ret = joined;
	return used;
}

static struct err *patches_store(struct rows *rows, const uint8_t *file,
				 struct patches_vec *patches)
{
	struct clock_piece piece = { 0 };
	size_t at = 0;

	while (at < patches->count) {
		const uint32_t number = patches->items[at].row >> SEGMENT_BITS;
		struct segment *segment = &rows->segments.items[number];
		struct patch *out = &patches->items[at]; /* merged in place */
		uint8_t patched[PATCHED_BYTES];
		uint32_t count = 0;
		struct err *err;

		while (at < patches->count && patches->items[at].row >> SEGMENT_BITS == number) {
			struct patch joined;

			at += patch_join(rows, file, &patches->items[at], patches->count - at,
					 &piece, &joined);
			out[count++] = joined;
		}
		err = image_append(rows->image, out, count * sizeof(*out),
				   &segment->patches_offset);
		if (err)
			return err;
		segment->patch_count = count;
		segment_bound_patches(segment, out, patched);
		err = image_append(rows->image, patched, sizeof(patched), &segment->patched_offset);
		if (err)
			return err;
	}
	return NULL;
}

static struct err *patches_seal(struct rows *rows)
{
	const uint32_t group_count =
		(uint32_t)((rows->count + (UINT64_C(1) << PATCH_GROUP_BITS) - 1) >>
			   PATCH_GROUP_BITS);
	const uint64_t bytes = rows->image->end;
	const uint8_t *file = image_map(rows->image);
	struct err *err = file ? NULL : err_errno("map the index");

	for (uint32_t group = 0; group < group_count && !err; group++) {
		CLEAN(patches_vec_deinit) struct patches_vec all = { 0 };

		err = group_gather(rows, group, &all);
		if (!err)
			err = patches_store(rows, file, &all);
	}
	if (file)
		image_unmap(file, bytes);
	return err;
}

static void hot_release(struct rows *rows)
{
	for (size_t i = rows->cold_count; i < rows->segment_count; i++) {
		big_free(rows->hot[i], sizeof(struct row) * MODEL_SEGMENT);
	}
	rows->cold_count = rows->segment_count;
}

struct err *rows_seal(struct rows *rows)
{
	struct err *err = packer_finish(&rows->packer);

	assert(rows->image->fd >= 0);
	if (!err)
		err = packer_pack_rest(rows);
	if (err)
		return err;
	hot_release(rows);
	map_deinit(&rows->packer.chain_of);
	return patches_seal(rows);
}
