/*
 * heap_moves: functions in whose allocations the heap's end is moved up over and over, because frees
 * move it down again.
 */
#include "findings/kernel_sites.h"

enum {
	MOVES_MIN = 1000, /* of each direction: with the page faults that follow, a hundred ms */
	RATE_MIN = 100,	  /* a second */
	TIMES_MIN = 4	  /* the heap was given back and grown again */
};

/* What was moved down, and between which addresses the end was. */
struct heap_end {
	uint64_t up_bytes, down_count, lowest, highest;
};

static struct heap_end end_find(const struct model *model)
{
	struct heap_end end = { .lowest = UINT64_MAX };

	for (size_t i = 0; i < model_note_count(model); i++) {
		const struct model_note *note = &model_notes(model)[i];
		const struct tape_kernel *event = &note->kernel;
		const bool is_down = event->flags & TAPE_KERNEL_SHRINK;

		if (note->type != TAPE_EXT_KERNEL || event->kind != TAPE_KERNEL_BRK ||
		    event->flags & TAPE_KERNEL_FAILED || event->bytes == 0)
			continue;
		end.down_count += is_down;
		end.up_bytes += is_down ? 0 : event->bytes;
		end.lowest = u64_min(end.lowest,
				     is_down ? event->address : event->address - event->bytes);
		end.highest = u64_max(end.highest,
				      is_down ? event->address + event->bytes : event->address);
	}
	return end;
}

static struct err *moves_add(struct finding_search *search, const struct finder *finder,
			     const struct kernel_site *site, const struct heap_end *end)
{
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.bytes = site->bytes,
		.count = site->count,
		.stack = site->stack,
		.link = { .page = "flame", .report = "trace", .metric = "brk" },
	};

	str_add(&evidence, "its allocations moved the heap's end up ");
	finding_add_counted(&evidence, site->count, "time");
	str_add(&evidence, ", ");
	kernel_site_add_rate(&evidence, site);
	str_add(&evidence, ", by ");
	str_add_iec(&evidence, site->bytes);
	str_add(&evidence, " in all, in a heap of at most ");
	str_add_iec(&evidence, end->highest - end->lowest);
	str_add(&evidence, "; frees moved it down ");
	finding_add_counted(&evidence, end->down_count, "time");
	return finding_add(search, finder, finding, &evidence);
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	const struct heap_end end = end_find(search->model);
	struct kernel_sites sites;
	struct err *err;

	if (end.down_count < MOVES_MIN || end.up_bytes / TIMES_MIN < end.highest - end.lowest)
		return NULL;
	err = kernel_sites_find(search, TAPE_KERNEL_BRK, &sites);
	for (size_t i = 0; !err && i <= sites.count; i++)
		if (sites.items[i].count >= MOVES_MIN &&
		    kernel_site_rate(&sites.items[i]) >= RATE_MIN)
			err = moves_add(search, finder, &sites.items[i], &end);
	return err;
}

const struct finder finder_heap_moves = {
	.type = "heap_moves",
	.title = "The heap is given back and grown again",
	.advice = "Let the allocator keep it: with glibc M_TRIM_THRESHOLD above what goes back and "
		  "forth, and M_TOP_PAD for larger steps (mallopt, MALLOC_TRIM_THRESHOLD_, "
		  "MALLOC_TOP_PAD_); or keep the buffer.",
	.what = "heaps that shrink and grow",
	.is_passing = true,
	.is_apart = true,
	.find = find,
};
