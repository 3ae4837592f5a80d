/*
 * Valgrind's massif: snapshots of live bytes, some of them with a tree of their call stacks.
 *
 * Between two trees only the total is known. There the stacks are assumed to be those of whichever
 * tree has the closer total, if at most a tenth of it is gone: each in proportion. Bytes beyond the
 * tree, or all if no tree is close, are shown as "[no call stacks at this snapshot]". So a snapshot
 * slightly higher than the peak, by less than massif's precision, looks like the peak, and one far
 * below it is not taken for a small peak.
 */
#include <inttypes.h>

#include "convert/importer.h"
#include "base/number.h"
#include "convert/massif_file.h"
#include "convert/scan.h"

VEC_DEFINE(snapshot_vec, struct massif_snapshot);

struct massif {
	struct massif_file file;
	struct massif_share_vec before; /* the last tree */
	struct snapshot_vec waiting;	/* snapshots since then, without trees */
	uint32_t unknown;		/* the stack for bytes without one */
	uint64_t snapshot_count;
	uint64_t tree_count;
	uint64_t scaled_count;	/* snapshots whose shares are estimates */
	uint64_t unknown_count; /* snapshots without any */
	uint64_t extra_max;
	uint64_t stacks_max;
	struct err *err;
};

static void massif_deinit(struct massif *massif)
{
	massif_file_deinit(&massif->file);
	massif_share_vec_deinit(&massif->before);
	snapshot_vec_deinit(&massif->waiting);
	err_destroy(massif->err);
}

CLEAN_DEFINE_DEINIT(massif_deinit, struct massif);

static enum importer_match massif_probe(const char *bytes, size_t count)
{
	const char *at = bytes;

	(void)count;
	if (!scan_text(&at, "desc:"))
		return IMPORTER_NO;
	return strncmp(at, " xtree", 6) == 0 ? IMPORTER_NO : IMPORTER_YES;
}

static uint32_t unknown_stack(struct composer *composer)
{
	const struct compose_name name = { .function = "[no call stacks at this snapshot]" };
	const struct compose_frame frame = { .names = &name, .name_count = 1 };

	return composer_stack(composer, COMPOSE_TRUNCATED, composer_frame(composer, &frame));
}

static void time_set(struct massif *massif, uint64_t time)
{
	const bool is_real = massif->file.unit == MASSIF_MILLISECONDS;

	composer_time(massif->file.composer,
		      is_real ? u64_min(time, UINT64_MAX / 1000000) * 1000000 : time);
}

static uint64_t shares_bytes(const struct massif_share_vec *shares)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < shares->count; i++)
		bytes += shares->items[i].bytes;
	return bytes;
}

/* A snapshot with only a total: divided as in this tree, as far as it goes. */
static void waiting_write(struct massif *massif, const struct massif_snapshot *snapshot,
			  const struct massif_share_vec *tree, uint64_t tree_bytes)
{
	const bool is_close = snapshot->heap_bytes >= tree_bytes - tree_bytes / 10;
	const uint64_t known = is_close ? u64_min(tree_bytes, snapshot->heap_bytes) : 0;
	struct composer *composer = massif->file.composer;
	uint64_t sum = 0, given = 0;

	massif->unknown_count += snapshot->heap_bytes > 0 && known == 0;
	massif->scaled_count += snapshot->heap_bytes > 0 && known > 0;
	time_set(massif, snapshot->time);
	for (size_t i = 0; i < tree->count && known > 0; i++) {
		uint64_t upto;

		sum += tree->items[i].bytes;
		upto = u64_mul_div(sum, known, tree_bytes);
		if (upto > given)
			composer_level(composer, tree->items[i].stack, 0, upto - given);
		given = upto;
	}
	if (snapshot->heap_bytes > given)
		composer_level(composer, massif->unknown, 0, snapshot->heap_bytes - given);
	composer_moment(composer);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Snapshots since the last tree; next may be the same tree if there is no other. */
static void waiting_flush(struct massif *massif, const struct massif_share_vec *next)
{
	const uint64_t before_bytes = shares_bytes(&massif->before);
	const uint64_t next_bytes = shares_bytes(next);

	for (size_t i = 0; i < massif->waiting.count; i++) {
		const struct massif_snapshot *snapshot = &massif->waiting.items[i];
		const uint64_t bytes = snapshot->heap_bytes;

		if (distance(bytes, next_bytes) < distance(bytes, before_bytes))
			waiting_write(massif, snapshot, next, next_bytes);
		else
			waiting_write(massif, snapshot, &massif->before, before_bytes);
	}
	massif->waiting.count = 0;
}

/* A snapshot with a tree. Its total is the heap's; bytes missing from the tree have no stack. */
static void tree_write(struct massif *massif, const struct massif_snapshot *snapshot)
{
	struct massif_share_vec *shares = &massif->file.shares;
	struct composer *composer = massif->file.composer;
	uint64_t given = 0;
	struct massif_share_vec spare;

	waiting_flush(massif, shares);
	time_set(massif, snapshot->time);
	for (size_t i = 0; i < shares->count; i++) {
		composer_level(composer, shares->items[i].stack, 0, shares->items[i].bytes);
		given += shares->items[i].bytes;
	}
	if (snapshot->heap_bytes > given)
		composer_level(composer, massif->unknown, 0, snapshot->heap_bytes - given);
	composer_moment(composer);
	massif->tree_count++;
	spare = massif->before;
	massif->before = *shares;
	*shares = spare;
}

static void notes_write(const struct massif *massif)
{
	struct composer *composer = massif->file.composer;

	composer_missing(composer, TAPE_MISSING_THREADS | TAPE_MISSING_USABLE |
					   TAPE_MISSING_FREE_STACKS | TAPE_MISSING_FUNCTIONS |
					   TAPE_MISSING_COUNTS | TAPE_MISSING_PROCESS);
	composer_note(composer,
		      "%" PRIu64 " snapshots, %" PRIu64
		      " of them with call stacks: what came and went between two is not known",
		      massif->snapshot_count, massif->tree_count);
	if (massif->file.unit != MASSIF_MILLISECONDS) {
		composer_missing(composer, TAPE_MISSING_TIMES);
		composer_note(composer, "times are %s, each taken for a nanosecond",
			      massif->file.unit == MASSIF_BYTES ? "bytes allocated and freed"
								: "instructions");
	}
	if (massif->file.is_pages)
		composer_note(composer, "recorded with --pages-as-heap=yes: sizes are of mappings, "
					"not of blocks");
	if (massif->extra_max > 0)
		composer_note(composer,
			      "the allocator's own bytes (mem_heap_extra_B, at most %" PRIu64
			      ") are not on the tape",
			      massif->extra_max);
	if (massif->stacks_max > 0)
		composer_note(composer,
			      "stacks (mem_stacks_B, at most %" PRIu64 ") are not on the tape",
			      massif->stacks_max);
	if (massif->scaled_count > 0 || massif->unknown_count > 0)
		composer_note(
			composer,
			"%" PRIu64 " snapshots without call stacks are shown as the nearest one "
			"with, %" PRIu64 " as \"[no call stacks at this snapshot]\": record with "
			"--detailed-freq=1 to have them all",
			massif->scaled_count, massif->unknown_count);
}

static bool snapshot_take(struct massif *massif, const struct massif_snapshot *snapshot)
{
	massif->snapshot_count++;
	massif->extra_max = u64_max(massif->extra_max, snapshot->extra_bytes);
	massif->stacks_max = u64_max(massif->stacks_max, snapshot->stacks_bytes);
	if (!snapshot->has_tree)
		return snapshot_vec_push(&massif->waiting, *snapshot);
	tree_write(massif, snapshot);
	return true;
}

static struct err *massif_read(struct source *source, struct composer *composer)
{
	CLEAN(massif_deinit) struct massif massif = { 0 };
	struct massif_snapshot snapshot;
	struct err *err = massif_file_begin(&massif.file, source, composer);

	if (err)
		return err;
	massif.unknown = unknown_stack(composer);
	while (!composer_failed(composer) &&
	       massif_file_next(&massif.file, &snapshot, &massif.err)) {
		if (!snapshot_take(&massif, &snapshot))
			return err_nomem();
	}
	if (massif.err)
		return steal(massif.err);
	if (massif.snapshot_count == 0)
		return source_error(source, "the file has no snapshot: the program still ran, or "
					    "valgrind was killed before it could write them");
	waiting_flush(&massif, &massif.before);
	notes_write(&massif);
	return NULL;
}

const struct importer importer_massif = {
	.name = "massif",
	.title = "Valgrind's massif, massif.out.PID",
	.recipe = "valgrind --tool=massif PROGRAM",
	.probe = massif_probe,
	.read = massif_read,
};
