#include "questions/leaks.h"

#include <assert.h>

#include "base/map.h"
#include "base/sort.h"
#include "questions/questions.h"
#include "sums/holding.h"

VEC_DEFINE(record_vec, struct loss_record);

static const struct member record_members[] = {
	MEMBER(struct loss_record, class, TEXT,
	       "definitely_lost, indirectly_lost, possibly_lost or still_reachable",
	       .words = loss_keys),
	MEMBER(struct loss_record, bytes, BYTES, NULL),
	MEMBER(struct loss_record, blocks, COUNT, NULL),
	MEMBER(struct loss_record, indirect_bytes, BYTES,
	       "of blocks that only these definitely lost ones lead to"),
	MEMBER(struct loss_record, indirect_blocks, COUNT, "blocks of these"),
	MEMBER(struct loss_record, place, FLAT, NULL, .shape = &shape_place),
	MEMBER(struct loss_record, stack, FRAMES, "that allocated them"),
};
static const struct shape shape_record = SHAPE("LossRecord", struct loss_record, record_members);

static const struct member answer_members[] = {
	MEMBER(struct leak_classes_answer, classes, FLAT, NULL, .shape = &shape_loss_classes),
	MEMBER(struct leak_classes_answer, records, ROWS,
	       "blocks of one class and stack, without suppressed ones, largest first",
	       .shape = &shape_record),
	MEMBER(struct leak_classes_answer, scan, OBJECT, "the scan", .shape = &shape_scan_facts),
	MEMBER(struct leak_classes_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_answer =
	SHAPE("LeakReport", struct leak_classes_answer, answer_members);

/* --- records ---------------------------------------------------------------------------------- */

struct recording {
	struct loss_view view;
	const uint32_t *roots; /* by block, of its chain of parents */
	struct map places;     /* by kind and stack: index of the record */
	struct record_vec records;
};

static uint64_t record_key(enum loss_kind kind, uint32_t stack)
{
	return (uint64_t)kind << 32 | stack;
}

static bool is_recorded(enum loss_kind kind)
{
	return kind != LOSS_SUPPRESSED && kind != LOSS_NOT_SCANNED;
}

static bool record_add(struct recording *recording, const struct model_scan_block *block)
{
	const enum loss_kind kind = loss_view_kind(&recording->view, block);
	bool is_new = false;
	uint64_t *place = map_put(&recording->places, record_key(kind, block->stack), &is_new);
	struct loss_record *record;

	if (!place)
		return false;
	if (is_new) {
		*place = recording->records.count;
		if (!record_vec_push(&recording->records,
				     (struct loss_record) { .class = loss_keys[kind],
							    .kind = kind,
							    .stack = block->stack }))
			return false;
	}
	record = &recording->records.items[*place];
	record->bytes += block->size_bytes;
	record->blocks++;
	return true;
}

/* What hangs on a definitely lost block, whatever the filter and the suppressions say of it. */
static void indirect_add(struct recording *recording, uint64_t index)
{
	const struct model_scan *scan = recording->view.scan;
	const struct model_scan_block *block = &scan->blocks[index], *lost;
	const uint32_t root = recording->roots[index];
	const uint64_t *place;

	if (block->class != TAPE_SCAN_INDIRECT || (block->flags & MODEL_SCAN_OFF_TAPE) ||
	    root >= scan->block_count)
		return;
	lost = &scan->blocks[root];
	if (lost->class != TAPE_SCAN_DEFINITE || !loss_view_has(&recording->view, lost))
		return;
	place = map_find(&recording->places,
			 record_key(loss_view_kind(&recording->view, lost), lost->stack));
	if (!place)
		return;
	recording->records.items[*place].indirect_bytes += block->size_bytes;
	recording->records.items[*place].indirect_blocks++;
}

static int compare_records(const void *context, const void *a, const void *b)
{
	const struct loss_record *left = a, *right = b;
	const uint64_t left_bytes = left->bytes + left->indirect_bytes;
	const uint64_t right_bytes = right->bytes + right->indirect_bytes;

	(void)context;
	if (left_bytes != right_bytes)
		return left_bytes > right_bytes ? -1 : 1;
	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	return (left->stack > right->stack) - (left->stack < right->stack);
}

static struct err *records_find(struct recording *recording, struct arena *arena)
{
	const struct model_scan *scan = recording->view.scan;
	struct record_vec *records = &recording->records;
	struct err *err = holding_roots(scan, HOLDING_PARENT, arena, &recording->roots, NULL);

	for (uint64_t i = 0; i < scan->block_count && !err; i++)
		if (loss_view_has(&recording->view, &scan->blocks[i]) &&
		    !record_add(recording, &scan->blocks[i]))
			err = err_nomem();
	for (uint64_t i = 0; i < scan->block_count && !err; i++)
		indirect_add(recording, i);
	if (!err && !sort_stable(records->items, records->count, sizeof(*records->items),
				 compare_records, NULL))
		err = err_nomem();
	return err;
}

static struct err *records_copy(const struct asked *asked, const struct record_vec *records,
				struct leak_classes_answer *answer)
{
	const uint64_t top = asked->with->top ? asked->with->top : UINT64_MAX;
	struct loss_record *items = arena_array(asked->arena, records->count + 1, sizeof(*items));
	size_t count = 0;

	if (!items)
		return err_nomem();
	for (size_t i = 0; i < records->count; i++) {
		const struct loss_record *record = &records->items[i];

		if (!is_recorded(record->kind)) {
			answer->suppressed_records += record->kind == LOSS_SUPPRESSED;
			continue;
		}
		answer->record_count++;
		if (count == top)
			continue;
		items[count] = *record;
		items[count++].place = place_of_stack(asked, record->stack);
	}
	answer->records = (struct shape_rows) { items, count };
	return NULL;
}

static struct err *ask(const struct asked *asked, void *result)
{
	struct leak_classes_answer *answer = result;
	const struct model_scan *scan = NULL;
	struct recording recording = { 0 };
	struct err *err = scan_choose(asked->model, asked->with->scan, &scan);

	assert(asked->selection->facts);
	if (!err)
		err = loss_view_find(asked, scan, &recording.view);
	if (!err)
		err = records_find(&recording, asked->arena);
	if (!err) {
		loss_view_sum(&recording.view, &answer->classes);
		err = records_copy(asked, &recording.records, answer);
	}
	map_deinit(&recording.places);
	record_vec_deinit(&recording.records);
	if (!err)
		err = scan_facts_find(scan, asked->arena, &answer->scan);
	return err ? err : quality_find(asked, &answer->quality);
}

const struct question question_leak_classes = {
	.name = "leak-classes",
	.summary = "what a leak scan found lost or still reachable, with stacks",
	.one_process = true,
	.shape = &shape_answer,
	.depth = MODEL_SUMMARY,
	.takes = TAKES(top) | TAKES(scan),
	.selects = true,
	.ask = ask,
};
