#include "../test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/space.h"
#include "collect/space_runs.h"

enum { PAGE = 4096, PAGES = 64 };

struct parts {
	struct str text;
	uint32_t count;
	uint32_t flags; /* of the last */
};

static void take_part(void *context, uint32_t part, uint32_t flags, const char *text)
{
	struct parts *parts = context;

	assert_int_equal(part, parts->count);
	assert_true(strlen(text) + TAPE_EXTENDED_BYTES + sizeof(struct tape_space) <=
		    TAPE_RECORD_BYTES_MAX);
	parts->count++;
	parts->flags = flags;
	str_add(&parts->text, text);
}

/* The line about the range that begins at ptr, without its address; "" when there is none. */
static void find_line(const struct str *text, const void *ptr, char *line, size_t bytes)
{
	char begin[32];
	const char *at;

	str_format(begin, sizeof(begin), "%llx ", (unsigned long long)(uintptr_t)ptr);
	line[0] = '\0';
	for (at = str_text(text); *at; at = strchr(at, '\n') + 1)
		if (strncmp(at, begin, strlen(begin)) == 0)
			str_format(line, bytes, "%.*s", (int)strcspn(at + strlen(begin), "\n"),
				   at + strlen(begin));
}

static uint8_t *map_pages(size_t count)
{
	/* no-reserve: so that it is not one mapping with a neighbour of malloc's */
	uint8_t *pages = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_true(pages != MAP_FAILED);
	/* and no neighbour at all */
	assert_int_equal(mprotect(pages, PAGE, PROT_NONE), 0);
	assert_int_equal(mprotect(pages + (count - 1) * PAGE, PAGE, PROT_NONE), 0);
	madvise(pages, count * PAGE, MADV_NOHUGEPAGE);
	return pages + PAGE;
}

static void read_and_write(struct space *space, struct parts *parts)
{
	str_clear(&parts->text);
	parts->count = 0;
	assert_true(space_read(space, getpid(), SPACE_FULL));
	space_write(space, take_part, parts);
	assert_true(parts->flags & TAPE_SPACE_LAST);
}

static void the_first_snapshot_is_whole_and_the_next_says_what_changed(void **state)
{
	uint8_t *pages = map_pages(PAGES);
	struct parts parts = { 0 };
	struct space space = { 0 };
	char line[256];

	(void)state;
	read_and_write(&space, &parts);
	assert_true(parts.flags & TAPE_SPACE_WHOLE);
	assert_non_null(strstr(str_text(&parts.text), "[stack]\n"));
	find_line(&parts.text, pages, line, sizeof(line));
	assert_non_null(strstr(line, " rw-p n 0 0 0 - "));
	memset(pages + 2 * PAGE, 1, 3 * PAGE);
	memset(pages + 10 * PAGE, 1, PAGE);
	read_and_write(&space, &parts);
	assert_false(parts.flags & TAPE_SPACE_WHOLE);
	find_line(&parts.text, pages, line, sizeof(line));
	assert_non_null(strstr(line, " rw-p n 16 16 0 0,2,3,5,1 "));
	assert_null(strstr(str_text(&parts.text), "[vdso]"));
	munmap(pages - PAGE, PAGES * PAGE);
	read_and_write(&space, &parts);
	find_line(&parts.text, pages, line, sizeof(line));
	assert_int_equal(line[strlen(line) - 1], '-');
	space_deinit(&space);
	str_deinit(&parts.text);
}

static void all_mappings_together_are_what_the_process_has(void **state)
{
	struct space space = { 0 };
	unsigned long long pages = 0;
	FILE *file;

	(void)state;
	assert_true(space_read(&space, getpid(), SPACE_FULL));
	file = fopen("/proc/self/statm", "re");
	assert_int_equal(fscanf(file, "%*u %llu", &pages), 1);
	fclose(file);
	assert_in_range(space_rss_bytes(&space), pages * PAGE * 8 / 10, pages * PAGE * 12 / 10);
	assert_in_range(space_pss_bytes(&space), 1, space_rss_bytes(&space));
	space_deinit(&space);
}

static const struct space_extent *extent_at(const struct space *space, const void *ptr)
{
	for (size_t i = 0; i < space->now.extents.count; i++)
		if (space->now.extents.items[i].begin == (uintptr_t)ptr)
			return &space->now.extents.items[i];
	return NULL;
}

/* Where nothing changes in between, both depths say the same of every mapping. */
static void a_quick_look_sees_what_a_full_one_sees(void **state)
{
	uint8_t *pages = map_pages(PAGES);
	struct space full = { 0 }, quick = { 0 };
	size_t differ = 0;

	(void)state;
	memset(pages + 2 * PAGE, 1, 3 * PAGE);
	assert_int_equal(pages[20 * PAGE], 0); /* the zero page: not resident */
	assert_true(space_read(&full, getpid(), SPACE_FULL));
	if (!space_read(&quick, getpid(), SPACE_QUICK)) {
		assert_true(quick.cannot_scan);
		skip();
	}
	for (size_t i = 0; i < full.now.extents.count; i++) {
		const struct space_extent *a = &full.now.extents.items[i];
		const struct space_extent *b = extent_at(&quick, (void *)(uintptr_t)a->begin);

		differ += !b || a->end != b->end || a->rss_kib != b->rss_kib ||
			  a->anonymous_kib != b->anonymous_kib;
	}
	/* our own heap and stack move on, and what a sanitizer keeps about them */
	assert_true(differ <= 3 + full.now.extents.count / 8);
	assert_int_equal(extent_at(&quick, pages)->rss_kib, 12);
	assert_string_equal(quick.now.texts.ptr + extent_at(&quick, pages)->runs, "0,2,3,f,1z");
	assert_string_equal(full.now.texts.ptr + extent_at(&full, pages)->runs, "0,2,3,f,1z");
	munmap(pages - PAGE, PAGES * PAGE);
	space_deinit(&full);
	space_deinit(&quick);
}

static void runs_that_would_be_too_long_are_not_said(void **state)
{
	uint8_t *pages = map_pages(PAGES);
	struct str text = { 0 };
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	(void)state;
	for (size_t i = 0; i < PAGES - 2; i += 2)
		pages[i * PAGE] = 1;
	assert_false(space_runs(fd, (uintptr_t)pages, (uintptr_t)pages + 62 * PAGE, 31, 20, &text));
	assert_int_equal(text.len, 0);
	assert_true(space_runs(fd, (uintptr_t)pages, (uintptr_t)pages + 62 * PAGE, 31, 200, &text));
	assert_int_equal(strncmp(str_text(&text), "1,1,1,1,1", 9), 0);
	assert_int_equal(text.len, 121);
	assert_false(space_runs(-1, 0, PAGE, 0, 200, &text));
	close(fd);
	str_deinit(&text);
}

/* A file in place of the pagemap: it knows no ioctl, as the pagemap of an older kernel. */
static void an_older_kernel_is_asked_page_by_page(void **state)
{
	const uint64_t present = UINT64_C(1) << 63, swapped = UINT64_C(1) << 62;
	const uint64_t exclusive = UINT64_C(1) << 56;
	uint64_t entries[8200] = { 0 };
	struct space_found found;
	struct str text = { 0 };
	FILE *file = tmpfile();

	(void)state;
	entries[10] = entries[11] = entries[13] = entries[8190] = present | exclusive | 77;
	entries[12] = swapped;
	assert_int_equal(fwrite(entries, sizeof(entries), 1, file), 1);
	fflush(file);
	assert_false(space_can_scan(fileno(file)));
	assert_false(space_scan(fileno(file), 10 * PAGE, 20 * PAGE, false, 100, &text, &found));
	assert_true(space_runs(fileno(file), 10 * PAGE, 20 * PAGE, 3, 100, &text));
	assert_string_equal(str_text(&text), "2,1s,0,1");
	str_clear(&text);
	assert_true(space_runs(fileno(file), 0, 8200 * PAGE, 4, 100, &text));
	assert_string_equal(str_text(&text), "0,a,2,1s,0,1,1ff0,1");
	str_clear(&text);
	assert_false(space_runs(fileno(file), 0, 9000 * PAGE, 4, 100, &text)); /* beyond its end */
	assert_false(space_runs(fileno(file), 0, 8200 * PAGE, 4, 10, &text));
	assert_false(space_runs(fileno(file), 14 * PAGE, 99 * PAGE, 0, 100, &text)); /* none */
	assert_int_equal(text.len, 0);
	fclose(file);
	str_deinit(&text);
}

/* The zero page and one that a child shares look the same: how many are resident says which it is. */
static void an_older_kernel_does_not_name_the_zero_page(void **state)
{
	const uint64_t present = UINT64_C(1) << 63, file_page = UINT64_C(1) << 61;
	const uint64_t exclusive = UINT64_C(1) << 56;
	const uint64_t entries[] = {
		present | exclusive, present, present, 0, UINT64_C(1) << 62, present,
		present | file_page
	};
	static const struct {
		uint64_t resident;
		const char *runs;
	} rows[] = { { 2, "1,2z,1,1s,1z,1" }, { 5, "3,1,1s,2" }, { 4, "3,1,1s,2" } };
	struct str text = { 0 };
	FILE *file = tmpfile();

	(void)state;
	assert_int_equal(fwrite(entries, sizeof(entries), 1, file), 1);
	fflush(file);
	for (size_t i = 0; i < array_size(rows); i++) {
		str_clear(&text);
		assert_true(space_runs(fileno(file), 0, 7 * PAGE, rows[i].resident, 100, &text));
		assert_string_equal(str_text(&text), rows[i].runs);
	}
	fclose(file);
	str_deinit(&text);
}

static void of_no_process_there_is_no_snapshot(void **state)
{
	struct space space = { 0 };

	(void)state;
	assert_false(space_read(&space, 0x7fffffff, SPACE_FULL));
	assert_int_equal(space_rss_bytes(&space), 0);
	space_deinit(&space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_snapshot_is_whole_and_the_next_says_what_changed),
		cmocka_unit_test(all_mappings_together_are_what_the_process_has),
		cmocka_unit_test(a_quick_look_sees_what_a_full_one_sees),
		cmocka_unit_test(runs_that_would_be_too_long_are_not_said),
		cmocka_unit_test(an_older_kernel_is_asked_page_by_page),
		cmocka_unit_test(an_older_kernel_does_not_name_the_zero_page),
		cmocka_unit_test(of_no_process_there_is_no_snapshot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
