/*
 * touched: how deep a stack went between calls, seen from the pages that were ever touched below
 * the deepest call: asked of the kernel once when a thread begins and once when it ends, so that no
 * timer is needed.
 *
 * Pages are large, allocators and this recorder have their own frames, and a huge page is present
 * as a whole: a depth less than MARGIN_BYTES beyond the deepest call, or ending where a huge page
 * may, is not reported. Pages that were swapped out end the search: the reported depth is never too
 * large.
 */
#include "rec/rec.h"

#include "core/poison.h"

enum { HUGE_PAGE = 2 << 20, PAGES = 64, ROUNDS_MAX = 1 << 13, MARGIN_BYTES = 16 << 10 };

/* All pages from there up to `from` have been touched. */
static uint64_t touched_until(uint64_t from)
{
	uint64_t at = from & -rec.page_bytes;
	uint8_t pages[PAGES];
	unsigned count = (unsigned)rec_pages_at_once(PAGES);

	for (unsigned round = 0; round < ROUNDS_MAX; round++) {
		const uint64_t begin = at - (uint64_t)count * rec.page_bytes;

		if (SYS_CALL3(SYS_mincore, begin, (uint64_t)count * rec.page_bytes, pages) < 0) {
			if (count == 1) /* nothing is mapped there */
				return at;
			count = 1;
			continue;
		}
		for (unsigned i = count; i-- > 0; at -= rec.page_bytes)
			if (!(pages[i] & 1))
				return at;
	}
	return at;
}

void rec_touched_begin(struct rec_lane *lane)
{
	lane->touched_at_begin = rec.options.calls && rec_may_ask_itself()
					 ? touched_until((uintptr_t)__builtin_frame_address(0))
					 : 0;
}

void rec_touched_end(struct rec_lane *lane)
{
	const struct rec_depth *depth = &lane->depth;
	struct tape_stack_depth record;
	uint64_t low;

	CHECK(depth->low <= depth->base);
	if (!lane->touched_at_begin || !rec_may_ask_itself() || depth->tid != lane->tid ||
	    depth->is_guess)
		return;
	low = touched_until(depth->low);
	record.bytes = depth->base - low;
	if (low >= lane->touched_at_begin || low % HUGE_PAGE == 0 ||
	    record.bytes < depth->max_bytes + MARGIN_BYTES)
		return;
	if (lane->calls) {
		lane->calls->stack_peak = u64_max(lane->calls->stack_peak, record.bytes);
		return;
	}
	rec_note(lane, TAPE_EXT_STACK_DEPTH, &record, sizeof(record), NULL, 0);
	record.bytes = depth->told_bytes; /* of later events */
	rec_note(lane, TAPE_EXT_STACK_DEPTH, &record, sizeof(record), NULL, 0);
}
