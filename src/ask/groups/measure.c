#include "groups/measure.h"

#include <assert.h>

#include "base/big.h"
#include "groups/stale.h"
#include "select/passes.h"
#include "select/sums_rows.h"
#include "space/fault_owners.h"
#include "sums/holding.h"
#include "sums/kernel_events.h"
#include "sums/scans.h"

bool measure_needs_rows(enum metric metric)
{
	assert((unsigned)metric < METRICS_KEYED);
	return metric == METRIC_LIVE || metric == METRIC_WASTED || metric == METRIC_STALE ||
	       metric == METRIC_OWNED_FAULTS;
}

/* --- slack --------------------------------------------------------------------------------- */

static struct model_sum slack_of(struct model_sum allocated, uint64_t usable)
{
	return (struct model_sum) { allocated.count, usable - allocated.bytes };
}

static void total_up(struct sums *sums)
{
	sums->total = (struct model_stack_sums) { 0 };
	for (size_t i = 0; i < model_stack_count(sums->model); i++)
		metric_sums_add(&sums->total, sums_of_stack(sums, i));
}

static struct err *slack_add(const struct selection *selection, struct model_stack_sums *stacks)
{
	struct pass pass = pass_begin(selection->model, selection);
	uint64_t stack[MODEL_BATCH], size[MODEL_BATCH], usable[MODEL_BATCH];
	struct err *err = NULL;

	for (uint64_t batch = 0; pass_next(&pass) && !err; batch++) {
		pass_read(&pass, MODEL_STACK, stack);
		pass_read(&pass, MODEL_SIZE, size);
		pass_read(&pass, MODEL_USABLE, usable);
		for (size_t i = 0; i < pass.count; i++) {
			stacks[stack[i]].temporary.count++;
			stacks[stack[i]].temporary.bytes += usable[i] - size[i];
		}
		if (batch % 64 == 0)
			err = sweep_check(&selection->limits);
	}
	return err;
}

static struct err *sums_of_slack(const struct selection *selection, struct model_stack_sums *stacks)
{
	const uint64_t *usables = model_stack_usables(selection->model);
	const bool is_all = selection_is_all(selection);
	struct err *err = is_all ? NULL : slack_add(selection, stacks);

	for (size_t i = 0; i < model_stack_count(selection->model); i++) {
		const struct model_stack_sums *selected = sums_of_stack(&selection->sums, i);
		const struct model_sum slack =
			is_all ? slack_of(selected->allocated, usables[i]) : stacks[i].temporary;

		stacks[i] = *selected;
		stacks[i].temporary = slack;
	}
	return err;
}

/* Whether all blocks live at this moment are exactly those live at the peak. */
static bool is_peak(const struct selection *selection, uint64_t at_ns)
{
	return selection_is_all(selection) && at_ns == model_totals(selection->model)->peak_ns &&
	       model_peak_is_moment(selection->model);
}

static struct err *sums_of_moment(const struct selection *selection, uint64_t at_ns,
				  struct model_stack_sums *stacks)
{
	struct err *err = NULL;

	if (is_peak(selection, at_ns))
		model_sums_spread(&selection->sums.stacks, model_stack_count(selection->model),
				  stacks);
	else
		err = sums_into_at(selection->model, selection, at_ns, stacks);
	for (size_t i = 0; i < model_stack_count(selection->model) && !err; i++) {
		const struct model_sum live = stacks[i].peak;

		stacks[i] = *sums_of_stack(&selection->sums, i);
		stacks[i].temporary = live;
	}
	return err;
}

/* --- retained size ------------------------------------------------------------------------- */

/*
 * outermost[block] gets 1 for selected blocks that no selected block dominates; it has room for all
 * of them.
 */
static struct err *outermost_find(const struct selection *selection, const struct model_scan *scan,
				  uint8_t *outermost)
{
	CLEAN(free) uint32_t *groups = malloc((scan->block_count + 1) * sizeof(*groups));
	uint64_t total;

	if (!groups)
		return err_nomem();
	for (uint64_t i = 0; i < scan->block_count; i++)
		groups[i] = selection_has_block(selection, &scan->blocks[i]) ? 0 : UINT32_MAX;
	return holding_retained(scan, groups, 1, &total, outermost) ? NULL : err_nomem();
}

/* Adds to temporary of stacks, which is 0. */
static struct err *retained_add(const struct selection *selection, uint64_t number,
				struct model_stack_sums *stacks)
{
	CLEAN(free) uint8_t *outermost = NULL;
	const struct model_scan *scan;
	struct err *err = scan_choose(selection->model, number, &scan);

	if (err)
		return err;
	outermost = malloc(scan->block_count + 1);
	err = outermost ? outermost_find(selection, scan, outermost) : err_nomem();
	for (uint64_t i = 0; !err && i < scan->block_count; i++) {
		const struct model_scan_block *block = &scan->blocks[i];

		if (!outermost[i])
			continue;
		stacks[block->stack].temporary.count++;
		stacks[block->stack].temporary.bytes += block->retained_bytes;
	}
	return err;
}

static struct err *sums_of_retained(const struct selection *selection, uint64_t number,
				    struct model_stack_sums *stacks)
{
	for (size_t i = 0; i < model_stack_count(selection->model); i++) {
		stacks[i] = *sums_of_stack(&selection->sums, i);
		stacks[i].temporary = (struct model_sum) { 0 };
	}
	return retained_add(selection, number, stacks);
}

/* --- stale --------------------------------------------------------------------------------- */

static struct err *sums_of_stale(const struct selection *selection, struct arena *arena,
				 struct model_stack_sums *stacks)
{
	struct stale_found found;
	struct err *err = stale_stacks(selection, arena, &found);

	if (err)
		return err;
	for (size_t i = 0; i < model_stack_count(selection->model); i++) {
		const struct stale_sums *sums = &found.groups[i].sums;

		stacks[i] = *sums_of_stack(&selection->sums, i);
		stacks[i].temporary =
			(struct model_sum) { .count = sums->stale_blocks, .bytes = sums->stale };
	}
	return NULL;
}

static struct err *split_stale(const struct selection *selection, const uint8_t *part_of,
			       uint64_t *values)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct stale_found found;
	struct err *err = stale_stacks(selection, &arena, &found);

	if (err && err_code_of(err) == ERR_NOT_FOUND) {
		err_destroy(err);
		return NULL;
	}
	for (size_t i = 0; !err && i < model_stack_count(selection->model); i++)
		values[part_of[i]] += found.groups[i].sums.stale;
	return err;
}

/* --- events of the kernel ------------------------------------------------------------------ */

static struct err *sums_of_events(const struct selection *selection, enum metric metric,
				  struct model_stack_sums *stacks)
{
	const enum tape_kernel_kind kind = (enum tape_kernel_kind)(metric - METRIC_BRK);

	if (!kernel_events_exist(selection->model, kind))
		return err_new(ERR_NOT_FOUND,
			       "the tape has no %s: `memtape trace` records events of the kernel",
			       metric_title(metric));
	if (selection->has_filter)
		return err_new(ERR_USAGE,
			       "a filter selects allocations, and %s are none: --from "
			       "and --until select them by time",
			       metric_title(metric));
	kernel_events_add(selection->model, kind, selection->from_ns, selection->until_ns, stacks);
	return NULL;
}

/* Whether it is in a block that is selected. */
static bool is_owned(const struct selection *selection, const struct owned_fault *fault)
{
	return fault->row != MODEL_NO_ROW && pass_has(selection, fault->row);
}

static struct err *sums_of_owned(const struct selection *selection, struct arena *arena,
				 struct model_stack_sums *stacks)
{
	const uint64_t page_bytes = model_process(selection->model)->page_bytes;
	struct fault_owners found;
	struct err *err;

	if (!fault_owners_exist(selection->model, TAPE_KERNEL_FAULT))
		return err_new(ERR_NOT_FOUND,
			       "the tape has no %s: `memtape record --trace=faults` records them",
			       metric_title(METRIC_OWNED_FAULTS));
	err = fault_owners_find(selection->model, TAPE_KERNEL_FAULT, selection->from_ns,
				selection->until_ns, &selection->limits, arena, &found);
	for (size_t i = 0; !err && i < model_stack_count(selection->model); i++) {
		stacks[i] = *sums_of_stack(&selection->sums, i);
		stacks[i].temporary = (struct model_sum) { 0 };
	}
	for (size_t i = 0; !err && i < found.count; i++) {
		if (!is_owned(selection, &found.faults[i]))
			continue;
		stacks[found.faults[i].owner].temporary.count++;
		stacks[found.faults[i].owner].temporary.bytes += page_bytes;
	}
	return err;
}

static struct err *split_owned(const struct selection *selection, const uint8_t *part_of,
			       uint64_t *values)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct fault_owners found;
	struct err *err;

	if (!fault_owners_exist(selection->model, TAPE_KERNEL_FAULT))
		return NULL;
	err = fault_owners_find(selection->model, TAPE_KERNEL_FAULT, selection->from_ns,
				selection->until_ns, &selection->limits, &arena, &found);
	for (size_t i = 0; !err && i < found.count; i++)
		if (is_owned(selection, &found.faults[i]))
			values[part_of[found.faults[i].owner]]++;
	return err;
}

/* --- sums ---------------------------------------------------------------------------------- */

static struct err *stacks_measure(const struct selection *selection, const struct measure *measure,
				  struct arena *arena, struct model_stack_sums *stacks)
{
	if (measure->metric == METRIC_STALE)
		return sums_of_stale(selection, arena, stacks);
	if (measure->metric == METRIC_OWNED_FAULTS)
		return sums_of_owned(selection, arena, stacks);
	if (metric_is_of_kernel(measure->metric))
		return sums_of_events(selection, measure->metric, stacks);
	if (measure->metric == METRIC_RETAINED)
		return sums_of_retained(selection, measure->scan, stacks);
	return measure->metric == METRIC_LIVE ? sums_of_moment(selection, measure->at_ns, stacks)
					      : sums_of_slack(selection, stacks);
}

struct err *measure_sums(const struct selection *selection, const struct measure *measure,
			 struct arena *arena, struct sums *sums_ret)
{
	struct sums sums = { .model = selection->model };
	struct model_stack_sums *stacks;
	struct err *err;

	assert((unsigned)measure->metric < METRICS_KEYED);
	assert(selection->sums.model == selection->model);
	if (metric_is_member(measure->metric)) {
		*sums_ret = selection->sums;
		return NULL;
	}
	stacks = arena_array(arena, model_stack_count(selection->model), sizeof(*stacks));
	if (!stacks)
		return err_nomem();
	err = stacks_measure(selection, measure, arena, stacks);
	if (err)
		return err;
	sums.stacks = sums_by_id(selection->model, stacks);
	total_up(&sums);
	*sums_ret = sums;
	return NULL;
}

/* --- every metric -------------------------------------------------------------------------- */

static void split_sums(const struct selection *selection, const uint8_t *part_of,
		       uint64_t (*values)[MEASURE_PARTS])
{
	struct model_stack_sums sums[MEASURE_PARTS] = { 0 };

	for (size_t i = 0; i < model_stack_count(selection->model); i++)
		metric_sums_add(&sums[part_of[i]], sums_of_stack(&selection->sums, i));
	for (unsigned i = 0; i < METRICS_NAMED; i++) {
		for (unsigned part = 0; part < MEASURE_PARTS; part++)
			values[i][part] = metric_is_member(i) ? metric_value(i, &sums[part]) : 0;
	}
}

static void split_events(const struct selection *selection, const uint8_t *part_of,
			 uint64_t (*values)[MEASURE_PARTS])
{
	for (size_t i = 0; i < model_note_count(selection->model); i++) {
		const struct model_note *note = &model_notes(selection->model)[i];
		const struct tape_kernel *event = &note->kernel;
		enum metric metric;

		if (note->type != TAPE_EXT_KERNEL || event->kind >= TAPE_KERNEL_OOM ||
		    note->ns < selection->from_ns || note->ns > selection->until_ns)
			continue;
		metric = kernel_events_metric((enum tape_kernel_kind)event->kind);
		values[metric][part_of[note->stack]] +=
			metric_is_bytes(metric) ? kernel_event_bytes(event) : 1;
	}
}

static void split_slack(const struct model *model, const uint8_t *part_of, uint64_t *values)
{
	const uint64_t *usables = model_stack_usables(model);

	for (size_t i = 0; i < model_stack_count(model); i++)
		values[part_of[i]] += usables[i] - model_stack_sums(model, i)->allocated.bytes;
}

static struct err *split_moment(const struct model *model, uint64_t at_ns, const uint8_t *part_of,
				uint64_t *values)
{
	const size_t count = model_stack_count(model);
	CLEAN(free) struct model_stack_moment *moments = big_calloc(count + 1, sizeof(*moments));

	if (!moments)
		return err_nomem();
	model_stack_moments(model, at_ns == UINT64_MAX ? at_ns : at_ns + 1, moments);
	for (size_t i = 0; i < count; i++)
		values[part_of[i]] += moments[i].allocated.bytes - moments[i].freed.bytes;
	return NULL;
}

static struct err *split_rows(const struct selection *selection, uint64_t at_ns,
			      const uint8_t *part_of, uint64_t (*values)[MEASURE_PARTS])
{
	CLEAN(free) struct pass_rows *read = malloc(sizeof(*read));
	struct pass pass = pass_begin(selection->model, selection);
	uint64_t usable[MODEL_BATCH];
	struct err *err = NULL;

	if (!read)
		return err_nomem();
	for (uint64_t batch = 0; pass_next(&pass) && !err; batch++) {
		pass_rows_read(&pass, read);
		pass_read(&pass, MODEL_USABLE, usable);
		for (size_t i = 0; i < pass.count; i++) {
			const uint8_t part = part_of[read->stack[i]];
			const bool is_live = read->alloc_ns[i] <= at_ns && read->free_ns[i] > at_ns;

			values[METRIC_LIVE][part] += is_live ? read->size[i] : 0;
			values[METRIC_WASTED][part] += usable[i] - read->size[i];
		}
		if (batch % 64 == 0)
			err = sweep_check(&selection->limits);
	}
	return err;
}

static struct err *split_retained(const struct selection *selection, uint64_t number,
				  const uint8_t *part_of, uint64_t *values)
{
	const size_t count = model_stack_count(selection->model);
	CLEAN(free) struct model_stack_sums *stacks = big_calloc(count + 1, sizeof(*stacks));
	struct err *err = stacks ? retained_add(selection, number, stacks) : err_nomem();

	if (err && err_code_of(err) == ERR_NOT_FOUND) {
		err_destroy(err);
		return NULL;
	}
	for (size_t i = 0; !err && i < count; i++)
		values[part_of[i]] += stacks[i].temporary.bytes;
	return err;
}

struct err *measure_split(const struct selection *selection, const struct measure *measure,
			  const uint8_t *part_of, uint64_t (*values)[MEASURE_PARTS])
{
	const uint64_t at_ns = measure->at_ns;
	struct err *err;

	assert(part_of);
	split_sums(selection, part_of, values);
	split_events(selection, part_of, values);
	err = split_retained(selection, measure->scan, part_of, values[METRIC_RETAINED]);
	if (!err)
		err = split_stale(selection, part_of, values[METRIC_STALE]);
	if (!err)
		err = split_owned(selection, part_of, values[METRIC_OWNED_FAULTS]);
	if (err)
		return err;
	if (!selection_is_all(selection))
		return split_rows(selection, at_ns, part_of, values);
	split_slack(selection->model, part_of, values[METRIC_WASTED]);
	if (!is_peak(selection, at_ns))
		return split_moment(selection->model, at_ns, part_of, values[METRIC_LIVE]);
	memcpy(values[METRIC_LIVE], values[METRIC_PEAK], sizeof(values[METRIC_LIVE]));
	return NULL;
}
