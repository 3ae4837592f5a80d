/* Two leak scans of a tape, compared. */
#include "base/map.h"
#include "base/sort.h"
#include "questions/leaks.h"

VEC_DEFINE(change_vec, struct scan_change);

static const struct member change_members[] = {
	MEMBER(struct scan_change, class, TEXT,
	       "definitely_lost, indirectly_lost, possibly_lost or still_reachable",
	       .words = loss_keys),
	MEMBER(struct scan_change, bytes_more, SIGNED, "bytes in the later scan than before",
	       .title = "more"),
	MEMBER(struct scan_change, bytes, BYTES, "in the later scan"),
	MEMBER(struct scan_change, blocks, COUNT, "in the later scan"),
	MEMBER(struct scan_change, bytes_before, BYTES, "in the earlier scan"),
	MEMBER(struct scan_change, blocks_before, COUNT, "in the earlier scan"),
	MEMBER(struct scan_change, place, FLAT, NULL, .shape = &shape_place),
	MEMBER(struct scan_change, stack, FRAMES, "that allocated them"),
};
static const struct shape shape_change = SHAPE("ScanChange", struct scan_change, change_members);

static const struct member compared_members[] = {
	MEMBER(struct scans_compared, before, PLAIN, "number of the earlier scan"),
	MEMBER(struct scans_compared, after, PLAIN, "number of the later scan"),
	MEMBER(struct scans_compared, before_ns, NS, "when the earlier one was"),
	MEMBER(struct scans_compared, after_ns, NS, "when the later one was"),
	MEMBER(struct scans_compared, classes_before, OBJECT, "of the earlier scan",
	       .shape = &shape_loss_classes),
	MEMBER(struct scans_compared, classes, OBJECT, "of the later scan",
	       .shape = &shape_loss_classes),
	MEMBER(struct scans_compared, records, ROWS,
	       "blocks of one class and stack that are more or fewer, what grew most first",
	       .shape = &shape_change),
};
const struct shape shape_scans_compared =
	SHAPE("ScansCompared", struct scans_compared, compared_members);

struct comparing {
	struct map places; /* by kind and stack: index of the record */
	struct change_vec records;
};

static bool is_compared(enum loss_kind kind)
{
	return kind != LOSS_SUPPRESSED && kind != LOSS_NOT_SCANNED;
}

static bool block_add(struct comparing *comparing, const struct loss_view *view,
		      const struct model_scan_block *block, bool is_before)
{
	const enum loss_kind kind = loss_view_kind(view, block);
	bool is_new = false;
	struct scan_change *record;
	uint64_t *place;

	if (!is_compared(kind))
		return true;
	place = map_put(&comparing->places, (uint64_t)kind << 32 | block->stack, &is_new);
	if (!place)
		return false;
	if (is_new) {
		*place = comparing->records.count;
		if (!change_vec_push(&comparing->records,
				     (struct scan_change) { .class = loss_keys[kind],
							    .stack = block->stack }))
			return false;
	}
	record = &comparing->records.items[*place];
	*(is_before ? &record->bytes_before : &record->bytes) += block->size_bytes;
	*(is_before ? &record->blocks_before : &record->blocks) += 1;
	return true;
}

static struct err *scan_add(struct comparing *comparing, const struct asked *asked,
			    const struct model_scan *scan, bool is_before,
			    struct loss_classes *classes)
{
	struct loss_view view;
	struct err *err = loss_view_find(asked, scan, &view);

	if (err)
		return err;
	loss_view_sum(&view, classes);
	for (uint64_t i = 0; i < scan->block_count; i++)
		if (loss_view_has(&view, &scan->blocks[i]) &&
		    !block_add(comparing, &view, &scan->blocks[i], is_before))
			return err_nomem();
	return NULL;
}

static int compare_changes(const void *context, const void *a, const void *b)
{
	const struct scan_change *left = a, *right = b;

	(void)context;
	if (left->bytes_more != right->bytes_more)
		return left->bytes_more > right->bytes_more ? -1 : 1;
	return (left->stack > right->stack) - (left->stack < right->stack);
}

static struct err *records_copy(const struct asked *asked, const struct change_vec *records,
				struct shape_rows *rows)
{
	struct scan_change *items = arena_array(asked->arena, records->count + 1, sizeof(*items));
	const uint64_t top = asked->with->top ? asked->with->top : UINT64_MAX;
	size_t count = 0;

	if (!items)
		return err_nomem();
	for (size_t i = 0; i < records->count; i++) {
		items[count] = records->items[i];
		items[count].bytes_more = (int64_t)(items[count].bytes - items[count].bytes_before);
		count += items[count].bytes_more != 0;
	}
	if (!sort_stable(items, count, sizeof(*items), compare_changes, NULL))
		return err_nomem();
	count = u64_min(count, top);
	for (size_t i = 0; i < count; i++)
		items[i].place = place_of_stack(asked, items[i].stack);
	*rows = (struct shape_rows) { items, count };
	return NULL;
}

/* The first scan with a result before this one; NULL: none. */
static const struct model_scan *scan_before(const struct model *model,
					    const struct model_scan *after)
{
	for (size_t i = 0; i < model_scan_count(model); i++) {
		const struct model_scan *scan = model_scan_get(model, i);

		if (!scan->trouble[0])
			return scan->id < after->id ? scan : NULL;
	}
	return NULL;
}

static struct err *choose(const struct asked *asked, const struct model_scan **before_ret,
			  const struct model_scan **after_ret)
{
	const struct model *model = asked->model;
	const struct parameters *with = asked->with;
	const struct model_scan *last = scan_last(model);
	struct err *err = NULL;

	*before_ret = *after_ret = NULL;
	if ((!last || last->trouble[0]) && with->scan == 0 && with->since_scan == 0)
		return NULL;
	err = scan_choose(model, with->scan, after_ret);
	if (!err && with->since_scan != 0)
		err = scan_choose(model, with->since_scan, before_ret);
	if (err)
		return err;
	if (with->since_scan == 0)
		*before_ret = scan_before(model, *after_ret);
	else if ((*before_ret)->id >= (*after_ret)->id)
		return err_new(ERR_USAGE, "scan %u is not before scan %u", (*before_ret)->id,
			       (*after_ret)->id);
	return NULL;
}

struct err *growth_scans_compare(const struct asked *asked, const struct scans_compared **scans_ret)
{
	struct scans_compared *scans = arena_new(asked->arena, struct scans_compared);
	const struct model_scan *before, *after;
	struct comparing comparing = { 0 };
	struct err *err = scans ? choose(asked, &before, &after) : err_nomem();

	*scans_ret = NULL;
	if (err || !before)
		return err;
	*scans = (struct scans_compared) {
		.before = before->id,
		.after = after->id,
		.before_ns = before->ns,
		.after_ns = after->ns,
	};
	err = scan_add(&comparing, asked, before, true, &scans->classes_before);
	if (!err)
		err = scan_add(&comparing, asked, after, false, &scans->classes);
	if (!err)
		err = records_copy(asked, &comparing.records, &scans->records);
	map_deinit(&comparing.places);
	change_vec_deinit(&comparing.records);
	*scans_ret = err ? NULL : scans;
	return err;
}
