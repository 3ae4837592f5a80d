/*
 * Execution trees of Valgrind's tools in massif's form: --xtree-memory of memcheck and others. Its
 * snapshots are not moments but sums: bytes and blocks alive at the end, with "full" also those
 * ever allocated, and ever freed. What was freed is told of the stacks that did it, so it is left
 * to follow from the others.
 */
#include "base/map.h"
#include "convert/importer.h"
#include "convert/massif_file.h"
#include "convert/scan.h"

enum kind { LIVE_BYTES, LIVE_BLOCKS, ALL_BYTES, ALL_BLOCKS, KINDS, FREED };

struct stack_sums {
	uint32_t stack;
	uint64_t sums[KINDS];
};

VEC_DEFINE(stack_sums_vec, struct stack_sums);

struct xtree {
	struct massif_file file;
	struct map index; /* stack -> place in rows */
	struct stack_sums_vec rows;
	struct err *err;
};

static void xtree_deinit(struct xtree *xtree)
{
	massif_file_deinit(&xtree->file);
	map_deinit(&xtree->index);
	stack_sums_vec_deinit(&xtree->rows);
	err_destroy(xtree->err);
}

CLEAN_DEFINE_DEINIT(xtree_deinit, struct xtree);

static enum importer_match xtree_probe(const char *bytes, size_t count)
{
	(void)count;
	return scan_text(&bytes, "desc: xtree") ? IMPORTER_YES : IMPORTER_NO;
}

static bool kind_scan(const char *text, enum kind *kind_ret)
{
	static const struct {
		const char *word;
		enum kind kind;
	} words[] = {
		{ "curB ", LIVE_BYTES },  { "curBk ", LIVE_BLOCKS }, { "totB ", ALL_BYTES },
		{ "totBk ", ALL_BLOCKS }, { "totFdB ", FREED },	     { "totFdBk ", FREED },
	};

	for (size_t i = 0; i < array_size(words); i++) {
		if (scan_text(&text, words[i].word)) {
			*kind_ret = words[i].kind;
			return true;
		}
	}
	return false;
}

static bool tree_take(struct xtree *xtree, enum kind kind)
{
	for (size_t i = 0; i < xtree->file.shares.count; i++) {
		const struct massif_share *share = &xtree->file.shares.items[i];
		const struct stack_sums fresh = { .stack = share->stack };
		bool is_new;
		uint64_t *place = map_put(&xtree->index, share->stack, &is_new);

		if (place && is_new)
			*place = xtree->rows.count;
		if (!place || (is_new && !stack_sums_vec_push(&xtree->rows, fresh)))
			return false;
		xtree->rows.items[*place].sums[kind] = share->bytes;
	}
	return true;
}

static void rows_write(const struct xtree *xtree, struct composer *composer)
{
	for (size_t i = 0; i < xtree->rows.count && !composer_failed(composer); i++) {
		const uint64_t *sums = xtree->rows.items[i].sums;
		const uint64_t blocks = u64_max(sums[ALL_BLOCKS], sums[LIVE_BLOCKS]);
		const uint64_t bytes = u64_max(sums[ALL_BYTES], sums[LIVE_BYTES]);

		composer_sum(composer, xtree->rows.items[i].stack,
			     &(struct compose_sum) {
				     .allocated_count = blocks,
				     .allocated_bytes = bytes,
				     .live_count = sums[LIVE_BLOCKS],
				     .live_bytes = sums[LIVE_BYTES],
			     });
	}
}

static void facts_write(struct composer *composer, const bool *has)
{
	composer_missing(composer, TAPE_MISSING_TIMES | TAPE_MISSING_THREADS | TAPE_MISSING_USABLE |
					   TAPE_MISSING_FREE_STACKS | TAPE_MISSING_FUNCTIONS |
					   TAPE_MISSING_PROCESS);
	if (has[ALL_BYTES] && has[ALL_BLOCKS])
		return;
	composer_missing(composer, TAPE_MISSING_FREED);
	composer_note(composer, "the file has what was alive at the end only: for what was ever "
				"allocated record it with --xtree-memory=full");
}

static struct err *xtree_read(struct source *source, struct composer *composer)
{
	CLEAN(xtree_deinit) struct xtree xtree = { 0 };
	struct massif_snapshot snapshot;
	bool has[FREED + 1] = { false };
	enum kind kind;
	struct err *err = massif_file_begin(&xtree.file, source, composer);

	if (err)
		return err;
	while (!composer_failed(composer) && massif_file_next(&xtree.file, &snapshot, &xtree.err)) {
		if (!kind_scan(massif_file_kind(&xtree.file), &kind))
			return source_error(source,
					    "a tree of \"%.40s\": of execution trees those of "
					    "--xtree-memory can be read",
					    massif_file_kind(&xtree.file));
		has[kind] = true;
		if (kind < KINDS && !tree_take(&xtree, kind))
			return err_nomem();
	}
	if (xtree.err)
		return steal(xtree.err);
	if (!has[LIVE_BYTES])
		return source_error(source, "the tree of what is alive (curB) is missing: the file "
					    "is torn; record it anew with --xtree-memory=full");
	facts_write(composer, has);
	rows_write(&xtree, composer);
	return NULL;
}

const struct importer importer_xtree = {
	.name = "xtree",
	.title = "Valgrind's execution trees in massif's form, xtmemory.ms.PID",
	.recipe = "valgrind --xtree-memory=full --xtree-memory-file=x.ms PROGRAM",
	.probe = xtree_probe,
	.read = xtree_read,
};
