/*
 * Execution trees of Valgrind's tools: --xtree-memory of memcheck and others, in massif's format
 * (callgrind's: xtree_callgrind.c). Its snapshots are not moments but sums: bytes and blocks alive
 * at the end; with "full", also total allocated and total freed. Frees are attributed to the stacks
 * that freed, so they are not read but follow from the others.
 */
#include "convert/xtree.h"

#include <assert.h>

#include "convert/importer.h"
#include "convert/massif_file.h"
#include "convert/scan.h"

struct xtree {
	struct massif_file file;
	struct xtree_rows rows;
	struct err *err;
};

static void xtree_deinit(struct xtree *xtree)
{
	massif_file_deinit(&xtree->file);
	xtree_rows_deinit(&xtree->rows);
	err_destroy(xtree->err);
}

CLEAN_DEFINE_DEINIT(xtree_deinit, struct xtree);

void xtree_rows_deinit(struct xtree_rows *rows)
{
	map_deinit(&rows->index);
	xtree_row_vec_deinit(&rows->rows);
}

static enum importer_match xtree_probe(const char *bytes, size_t count)
{
	const char *at = bytes;

	(void)count;
	if (scan_text(&at, "desc: xtree"))
		return IMPORTER_YES;
	return scan_text(&at, "# callgrind format") && strstr(at, "\ncreator: xtree") ? IMPORTER_YES
										      : IMPORTER_NO;
}

static bool kind_scan(const char *text, enum xtree_kind *kind_ret)
{
	static const struct {
		const char *word;
		enum xtree_kind kind;
	} words[] = {
		{ "curB ", XTREE_LIVE_BYTES }, { "curBk ", XTREE_LIVE_BLOCKS },
		{ "totB ", XTREE_ALL_BYTES },  { "totBk ", XTREE_ALL_BLOCKS },
		{ "totFdB ", XTREE_FREED },    { "totFdBk ", XTREE_FREED },
	};

	for (size_t i = 0; i < array_size(words); i++) {
		if (scan_text(&text, words[i].word)) {
			*kind_ret = words[i].kind;
			return true;
		}
	}
	return false;
}

bool xtree_rows_add(struct xtree_rows *rows, uint32_t stack, enum xtree_kind kind, uint64_t value)
{
	const struct xtree_row fresh = { .stack = stack };
	bool is_new;
	uint64_t *place = map_put(&rows->index, stack, &is_new);

	assert((unsigned)kind < XTREE_KINDS);
	if (place && is_new)
		*place = rows->rows.count;
	if (!place || (is_new && !xtree_row_vec_push(&rows->rows, fresh)))
		return false;
	rows->rows.items[*place].sums[kind] += value;
	return true;
}

static bool tree_take(struct xtree *xtree, enum xtree_kind kind)
{
	for (size_t i = 0; i < xtree->file.shares.count; i++) {
		const struct massif_share *share = &xtree->file.shares.items[i];

		if (!xtree_rows_add(&xtree->rows, share->stack, kind, share->bytes))
			return false;
	}
	return true;
}

void xtree_rows_write(const struct xtree_rows *rows, struct composer *composer)
{
	for (size_t i = 0; i < rows->rows.count && !composer_failed(composer); i++) {
		const uint64_t *sums = rows->rows.items[i].sums;
		const uint64_t blocks = u64_max(sums[XTREE_ALL_BLOCKS], sums[XTREE_LIVE_BLOCKS]);
		const uint64_t bytes = u64_max(sums[XTREE_ALL_BYTES], sums[XTREE_LIVE_BYTES]);

		composer_sum(composer, rows->rows.items[i].stack,
			     &(struct compose_sum) {
				     .allocated_count = blocks,
				     .allocated_bytes = bytes,
				     .live_count = sums[XTREE_LIVE_BLOCKS],
				     .live_bytes = sums[XTREE_LIVE_BYTES],
			     });
	}
}

void xtree_facts_write(struct composer *composer, const bool *has)
{
	composer_missing(composer, TAPE_MISSING_TIMES | TAPE_MISSING_THREADS | TAPE_MISSING_USABLE |
					   TAPE_MISSING_FREE_STACKS | TAPE_MISSING_FUNCTIONS |
					   TAPE_MISSING_PROCESS);
	if (has[XTREE_ALL_BYTES] && has[XTREE_ALL_BLOCKS])
		return;
	composer_missing(composer, TAPE_MISSING_FREED);
	composer_note(composer, "the file has what was alive at the end only: for what was ever "
				"allocated record it with --xtree-memory=full");
}

static struct err *xtree_read(struct source *source, struct composer *composer)
{
	CLEAN(xtree_deinit) struct xtree xtree = { 0 };
	struct massif_snapshot snapshot;
	bool has[XTREE_FREED + 1] = { false };
	enum xtree_kind kind;
	const char *bytes;
	size_t count;
	struct err *err;

	source_peek(source, 1, &bytes, &count);
	if (count > 0 && *bytes == '#')
		return xtree_callgrind_read(source, composer);
	err = massif_file_begin(&xtree.file, source, composer);
	if (err)
		return err;
	while (!composer_failed(composer) && massif_file_next(&xtree.file, &snapshot, &xtree.err)) {
		if (!kind_scan(massif_file_kind(&xtree.file), &kind))
			return source_error(source,
					    "a tree of \"%.40s\": of execution trees those of "
					    "--xtree-memory can be read",
					    massif_file_kind(&xtree.file));
		has[kind] = true;
		if (kind < XTREE_KINDS && !tree_take(&xtree, kind))
			return err_nomem();
	}
	if (xtree.err)
		return steal(xtree.err);
	if (!has[XTREE_LIVE_BYTES])
		return source_error(source, "the tree of what is alive (curB) is missing: the file "
					    "is torn; record it anew with --xtree-memory=full");
	xtree_facts_write(composer, has);
	xtree_rows_write(&xtree.rows, composer);
	return NULL;
}

const struct importer importer_xtree = {
	.name = "xtree",
	.title = "Valgrind's execution trees, xtmemory.kcg.PID, xtmemory.ms.PID, xtleak.kcg.PID",
	.recipe = "valgrind --xtree-memory=full PROGRAM",
	.probe = xtree_probe,
	.read = xtree_read,
};
