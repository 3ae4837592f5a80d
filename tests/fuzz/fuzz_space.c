/*
 * Snapshots of the address space, and looks at what was touched, on any text: what is read is
 * ascending and apart, residence stays inside, and reading ends.
 */
#include <stdlib.h>

#include "space/mappings_image.h"
#include "space/touches.h"

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_extent(const struct mappings_extent *extent)
{
	struct mappings_runs runs = mappings_runs_begin(extent);
	uint64_t begin, end, last = extent->begin;

	check(extent->begin < extent->end && extent->rss_bytes <= extent->end - extent->begin);
	while (mappings_runs_next(&runs, &begin, &end)) {
		check(last <= begin && begin < end && end <= extent->end);
		last = end;
	}
	check(mappings_extent_resident(extent, 0, UINT64_MAX) <= extent->end - extent->begin);
}

/* Two looks, the second upon the first. */
static void check_touches(const char *first, const char *second)
{
	CLEAN(touches_state_deinit) struct touches_state before = { 0 };
	CLEAN(touches_state_deinit) struct touches_state after = { 0 };
	struct touches_applying applying = { .before = &after, .ns = 1 };

	check(touches_apply(&applying, first));
	before.runs = applying.runs;
	applying = (struct touches_applying) { .before = &before, .ns = 2 };
	check(touches_apply(&applying, second));
	after.runs = applying.runs;
	for (size_t i = 0; i < after.runs.count; i++) {
		const struct touches_run *run = &after.runs.items[i];

		check(run->begin < run->end && (i == 0 || run[-1].end <= run->begin));
		check(run->ns == 1 || run->ns == 2 || run->ns == TOUCHES_NEVER);
		check(touches_run_at(&after, run->begin) == i);
		check(touches_run_at(&after, run->end) == i + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEAN(mappings_image_deinit) struct mappings_image image = { 0 };
	CLEAN(free) char *text = malloc(size + 1);

	check(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	/* a NUL in the middle: two records, the second on top of the first */
	check(mappings_image_apply(&image, text, true));
	check(mappings_image_apply(&image, text + u64_min(strlen(text) + 1, size), false));
	for (size_t i = 0; i < image.all.count; i++) {
		check(i == 0 || image.all.items[i - 1].end <= image.all.items[i].begin);
		check_extent(&image.all.items[i]);
		check(mappings_image_name(&image, &image.all.items[i]) != NULL);
	}
	check_touches(text, text + u64_min(strlen(text) + 1, size));
	return 0;
}
