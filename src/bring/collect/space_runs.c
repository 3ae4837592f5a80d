/*
 * space_runs: the pages of a range from /proc/PID/pagemap. Since Linux 6.7 an ioctl reports
 * the ranges, at a tenth of the cost of smaps; before, eight bytes must be read per page.
 */
#include "collect/space_runs.h"

#include <unistd.h>

#include "collect/pagemap_scan.h"

enum {
	PAGE_SHIFT = 12, /* of the supported architectures */
	REGIONS = 256,
	ENTRIES = 4096
};

static const uint64_t READ_PAGES_MAX = UINT64_C(1) << 20; /* 4 GiB: reads 8 MiB */
static const uint64_t ENTRY_PRESENT = UINT64_C(1) << 63;
static const uint64_t ENTRY_SWAPPED = UINT64_C(1) << 62;
static const uint64_t ENTRY_FILE = UINT64_C(1) << 61;
static const uint64_t ENTRY_EXCLUSIVE = UINT64_C(1) << 56;

enum page { PAGE_RESIDENT, PAGE_ABSENT, PAGE_SWAPPED, PAGE_ZERO };

struct runs {
	struct str text;
	size_t most;	 /* maximum bytes of text */
	uint64_t at;	 /* everything before has been written, except the open run */
	uint64_t length; /* of the open run, in pages */
	enum page kind;	 /* of the open run */
	enum page next;	 /* resident or absent: what a number without a letter means */
};

static struct runs runs_begin(uint64_t begin, size_t most)
{
	return (struct runs) { .most = most, .at = begin };
}

static bool runs_are_too_long(const struct runs *runs)
{
	return runs->text.failed || runs->text.len > runs->most;
}

static void runs_say_one(struct runs *runs, uint64_t length, const char *letter)
{
	if (!runs_are_too_long(runs))
		str_printf(&runs->text, "%s%llx%s", runs->text.len ? "," : "",
			   (unsigned long long)length, letter);
}

static void runs_say(struct runs *runs)
{
	if (runs->length == 0)
		return;
	if (runs->kind == PAGE_SWAPPED || runs->kind == PAGE_ZERO) {
		runs_say_one(runs, runs->length, runs->kind == PAGE_ZERO ? "z" : "s");
		return;
	}
	if (runs->kind != runs->next)
		runs_say_one(runs, 0, "");
	runs_say_one(runs, runs->length, "");
	runs->next = runs->kind == PAGE_RESIDENT ? PAGE_ABSENT : PAGE_RESIDENT;
}

static void runs_add(struct runs *runs, enum page kind, uint64_t pages)
{
	if (pages > 0 && kind != runs->kind) {
		runs_say(runs);
		runs->kind = kind;
		runs->length = 0;
	}
	runs->length += pages;
}

static void runs_region(struct runs *runs, uint64_t begin, uint64_t end, enum page kind)
{
	if (begin < runs->at || end <= begin)
		return;
	runs_add(runs, PAGE_ABSENT, (begin - runs->at) >> PAGE_SHIFT);
	runs_add(runs, kind, (end - begin) >> PAGE_SHIFT);
	runs->at = end;
}

/* Appends the rest to text; false: it is too long. */
static bool runs_end(struct runs *runs, struct str *text)
{
	CLEAN(str_deinit) struct str words = { 0 };

	if (runs->kind != PAGE_ABSENT)
		runs_say(runs);
	words = runs->text;
	runs->text = (struct str) { 0 };
	if (words.failed || words.len > runs->most || words.len == 0)
		return false;
	str_add(text, str_text(&words));
	return !text->failed;
}

static enum page kind_of(const struct pagemap_scan_region *region)
{
	if (region->categories & PAGEMAP_PFN_ZERO)
		return PAGE_ZERO;
	return region->categories & PAGEMAP_PRESENT ? PAGE_RESIDENT : PAGE_SWAPPED;
}

static void count(const struct pagemap_scan_region *region, struct space_found *found)
{
	const uint64_t pages = (region->end - region->begin) >> PAGE_SHIFT;
	const enum page kind = kind_of(region);

	if (kind == PAGE_ZERO)
		found->zero += pages;
	else if (kind == PAGE_SWAPPED)
		found->swapped += pages;
	else
		found->resident += pages;
	if (kind == PAGE_RESIDENT && region->categories & PAGEMAP_FILE)
		found->file += pages;
}

/* The zero page is shared by all pages only ever read: it is not part of RSS. */
static bool scan(int fd, uint64_t begin, uint64_t end, bool tells_files, struct runs *runs,
		 struct space_found *found)
{
	struct pagemap_scan_region regions[REGIONS];
	struct pagemap_scan arguments = {
		.bytes = sizeof(arguments),
		.begin = begin,
		.end = end,
		.regions = (uint64_t)(uintptr_t)regions,
		.region_count = REGIONS,
		.category_anyof_mask = PAGEMAP_PRESENT | PAGEMAP_SWAPPED,
		.return_mask = PAGEMAP_PRESENT | PAGEMAP_SWAPPED | PAGEMAP_PFN_ZERO |
			       (tells_files ? PAGEMAP_FILE : 0),
	};

	*found = (struct space_found) { 0 };
	while (arguments.begin < end) {
		const int region_count = ioctl(fd, PAGEMAP_SCAN, &arguments);

		if (region_count < 0 || arguments.walk_end <= arguments.begin)
			return false;
		for (int i = 0; i < region_count; i++) {
			count(&regions[i], found);
			runs_region(runs, regions[i].begin, regions[i].end, kind_of(&regions[i]));
		}
		arguments.begin = arguments.walk_end;
	}
	return true;
}

/* Otherwise the numbers of a mapping say it: all of it is resident, or nothing was touched. */
static bool is_worth_listing(const struct space_found *found, uint64_t begin, uint64_t end)
{
	return found->swapped > 0 || found->zero > 0 ||
	       (found->resident > 0 && found->resident < (end - begin) >> PAGE_SHIFT);
}

bool space_scan(int fd, uint64_t begin, uint64_t end, bool tells_files, size_t most,
		struct str *text, struct space_found *found)
{
	struct runs runs = runs_begin(begin, most);
	const bool ok = fd >= 0 && scan(fd, begin, end, tells_files, &runs, found);

	found->has_runs =
		ok && most > 0 && is_worth_listing(found, begin, end) && runs_end(&runs, text);
	str_deinit(&runs.text);
	return ok;
}

bool space_can_scan(int fd)
{
	struct runs runs = runs_begin(0, 0);
	struct space_found found;

	return fd >= 0 && scan(fd, 0, 1 << PAGE_SHIFT, false, &runs, &found);
}

/* --- kernels without the ioctl ------------------------------------------------------------------ */

/* Both readings of pages that look like the zero page: that they are it, and that they are not. */
struct readings {
	struct runs zero, resident;
	uint64_t present, like_zero; /* pages */
};

static void read_entry(struct readings *readings, uint64_t entry)
{
	const bool is_like_zero =
		entry & ENTRY_PRESENT && !(entry & (ENTRY_FILE | ENTRY_EXCLUSIVE));
	const enum page kind = entry & ENTRY_PRESENT   ? PAGE_RESIDENT
			       : entry & ENTRY_SWAPPED ? PAGE_SWAPPED
						       : PAGE_ABSENT;

	readings->present += kind == PAGE_RESIDENT;
	readings->like_zero += is_like_zero;
	runs_add(&readings->zero, is_like_zero ? PAGE_ZERO : kind, 1);
	runs_add(&readings->resident, kind, 1);
}

static bool read_entries(int fd, uint64_t begin, uint64_t end, struct readings *readings)
{
	uint64_t entries[ENTRIES];

	if ((end - begin) >> PAGE_SHIFT > READ_PAGES_MAX)
		return false;
	while (begin < end && !runs_are_too_long(&readings->resident)) {
		const size_t wanted = u64_min((end - begin) >> PAGE_SHIFT, ENTRIES);
		const ssize_t bytes = pread(fd, entries, wanted * sizeof(*entries),
					    (off_t)(begin >> PAGE_SHIFT) * 8);

		if (bytes < (ssize_t)sizeof(*entries))
			return false;
		for (size_t i = 0; i < (size_t)bytes / sizeof(*entries); i++)
			read_entry(readings, entries[i]);
		begin += (uint64_t)bytes / sizeof(*entries) << PAGE_SHIFT;
	}
	return begin >= end;
}

/* Pages that a forked child shares look like the zero page, too, but are among the resident. */
static bool runs_by_entries(int fd, uint64_t begin, uint64_t end, uint64_t resident, size_t most,
			    struct str *text)
{
	struct readings readings = { .zero = runs_begin(begin, most),
				     .resident = runs_begin(begin, most) };
	bool ok = read_entries(fd, begin, end, &readings);
	const bool is_zero =
		readings.like_zero > 0 && readings.present == resident + readings.like_zero;

	ok = ok && runs_end(is_zero ? &readings.zero : &readings.resident, text);
	str_deinit(&readings.zero.text);
	str_deinit(&readings.resident.text);
	return ok;
}

bool space_runs(int fd, uint64_t begin, uint64_t end, uint64_t resident, size_t most,
		struct str *text)
{
	struct space_found found;

	if (fd < 0)
		return false;
	if (space_scan(fd, begin, end, false, most, text, &found))
		return found.has_runs;
	return runs_by_entries(fd, begin, end, resident, most, text);
}

static bool scan_first(int fd, uint64_t begin, uint64_t end, uint64_t *first_ret)
{
	struct pagemap_scan_region region;
	struct pagemap_scan arguments = {
		.bytes = sizeof(arguments),
		.begin = begin,
		.end = end,
		.regions = (uint64_t)(uintptr_t)&region,
		.region_count = 1,
		.category_inverted = PAGEMAP_PFN_ZERO,
		.category_mask = PAGEMAP_PFN_ZERO,
		.category_anyof_mask = PAGEMAP_PRESENT | PAGEMAP_SWAPPED,
		.return_mask = PAGEMAP_PRESENT,
	};

	while (arguments.begin < end) {
		const int region_count = ioctl(fd, PAGEMAP_SCAN, &arguments);

		if (region_count < 0 || arguments.walk_end <= arguments.begin)
			return false;
		if (region_count > 0) {
			*first_ret = region.begin;
			return true;
		}
		arguments.begin = arguments.walk_end;
	}
	*first_ret = end;
	return true;
}

static bool read_first(int fd, uint64_t begin, uint64_t end, uint64_t *first_ret)
{
	uint64_t entries[ENTRIES];

	if ((end - begin) >> PAGE_SHIFT > READ_PAGES_MAX)
		return false;
	while (begin < end) {
		const size_t wanted = u64_min((end - begin) >> PAGE_SHIFT, ENTRIES);
		const ssize_t bytes = pread(fd, entries, wanted * sizeof(*entries),
					    (off_t)(begin >> PAGE_SHIFT) * 8);

		if (bytes < (ssize_t)sizeof(*entries))
			return false;
		for (size_t i = 0; i < (size_t)bytes / sizeof(*entries);
		     i++, begin += 1 << PAGE_SHIFT)
			if (entries[i] & (ENTRY_PRESENT | ENTRY_SWAPPED)) {
				*first_ret = begin;
				return true;
			}
	}
	*first_ret = end;
	return true;
}

bool space_first(int fd, uint64_t begin, uint64_t end, uint64_t *first_ret)
{
	return fd >= 0 &&
	       (scan_first(fd, begin, end, first_ret) || read_first(fd, begin, end, first_ret));
}
