#include "../test.h"

#include "system/cgroup.h"

static const char v1_mounts[] =
	"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
	"32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
	"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
	"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
static const char v2_mounts[] = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
static const char docker_mounts[] =
	"35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";

static void places_are_found(void **state)
{
	static const struct {
		const char *cgroup, *mounts;
		const char *innermost, *name;
		size_t count;
		bool is_v1, is_part;
	} rows[] = {
		{ "0::/user.slice/a.scope\n", v2_mounts, "/sys/fs/cgroup/user.slice/a.scope",
		  "/user.slice/a.scope", 3, false, false },
		{ "0::/\n", v2_mounts, "/sys/fs/cgroup", "/", 1, false, false },
		{ "4:memory:/x/y\n1:cpu:/\n0::/z\n", v1_mounts, "/sys/fs/cgroup/memory/x/y", "/x/y",
		  3, true, false },
		{ "7:hugetlb,memory:/x\n", v1_mounts, "/sys/fs/cgroup/memory/x", "/x", 2, true,
		  false },
		/* The path is that of the whole machine, what is mounted a part of it. */
		{ "4:memory:/docker/abc/in\n", docker_mounts, "/sys/fs/cgroup/memory/in", "/in", 2,
		  true, true },
		{ "4:memory:/docker/abc\n", docker_mounts, "/sys/fs/cgroup/memory", "/", 1, true,
		  true },
		{ "4:memory:/docker/abcdef\n", docker_mounts, "/sys/fs/cgroup/memory", "/", 1, true,
		  true },
		{ "0::/../other\n", v2_mounts, "/sys/fs/cgroup", "/", 1, false, false },
		{ "4:memory:/x\n", v2_mounts, NULL, NULL, 0, true, false },
		{ "3:cpu:/x\n", v1_mounts, NULL, NULL, 0, false, false },
		{ "", "", NULL, NULL, 0, false, false },
		{ NULL, NULL, NULL, NULL, 0, false, false },
		{ "0:", "- cgroup2 ", NULL, NULL, 0, false, false },
	};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		CLEAN(arena_deinit) struct arena arena = { 0 };
		struct cgroup_places places;

		assert_null(cgroup_places_find(rows[i].cgroup, rows[i].mounts, &arena, &places));
		assert_int_equal(places.count, rows[i].count);
		assert_int_equal(places.is_v1, rows[i].is_v1);
		assert_int_equal(places.is_part, rows[i].is_part);
		if (places.count == 0)
			continue;
		assert_string_equal(places.items[0].directory, rows[i].innermost);
		assert_string_equal(places.items[0].name, rows[i].name);
		assert_string_equal(places.items[places.count - 1].name, "/");
	}
}

/* Deeper than we look: the outermost ones are left out. */
static void a_deep_cgroup_has_bounds(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(str_deinit) struct str path = { 0 };
	struct cgroup_places places;

	(void)state;
	str_add(&path, "0::");
	for (size_t i = 0; i < 100; i++)
		str_add(&path, "/a");
	assert_null(cgroup_places_find(str_text(&path), v2_mounts, &arena, &places));
	assert_int_equal(places.count, CGROUP_LEVELS_MAX);
}

static struct cgroup_info info_of(const char *name, const char *text, bool is_v1)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(str_deinit) struct str path = { 0 };
	struct cgroup_places places = { .items = { { "/c", "/" } }, .count = 1, .is_v1 = is_v1 };
	struct look_file file = { .text = text };
	struct look look = { .files = &file, .file_count = 1 };
	struct cgroup_info info;

	str_printf(&path, "/c/%s", name);
	file.path = str_text(&path);
	cgroup_info_read(&look, &places, 0, &info);
	return info;
}

static void limits_and_their_absence_are_read(void **state)
{
	(void)state;
	assert_int_equal(info_of("memory.max", "1048576\n", false).limit, 1 << 20);
	assert_true(info_of("memory.max", "max\n", false).limit == SYSTEM_UNKNOWN);
	assert_true(info_of("memory.limit_in_bytes", "9223372036854771712\n", true).limit ==
		    SYSTEM_UNKNOWN);
	assert_true(info_of("memory.limit_in_bytes", "9223372036854710272\n", true).limit ==
		    SYSTEM_UNKNOWN); /* pages of 64 KiB */
	assert_int_equal(info_of("memory.limit_in_bytes", "4096\n", true).limit, 4096);
	assert_int_equal(info_of("memory.limit_in_bytes", "1073741824\n", true).limit, 1 << 30);
	assert_int_equal(info_of("memory.failcnt", "38\n", true).limit_hits, 38);
	assert_int_equal(
		info_of("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", true)
			.oom_kills,
		2);
	assert_int_equal(
		info_of("memory.events", "low 0\nhigh 4\nmax 5\noom 6\noom_kill 7\n", false)
			.limit_hits,
		5);
	assert_int_equal(
		info_of("memory.events", "low 0\nhigh 4\nmax 5\noom 6\noom_kill 7\n", false)
			.oom_kills,
		7);
}

static void cache_that_is_freed_first_is_no_working_set(void **state)
{
	struct cgroup_info info = { .usage = 100, .inactive_file = 30 };

	(void)state;
	assert_int_equal(cgroup_working_set(&info), 70);
	info.inactive_file = 130;
	assert_int_equal(cgroup_working_set(&info), 0);
	info.inactive_file = SYSTEM_UNKNOWN;
	assert_int_equal(cgroup_working_set(&info), 100);
	info.usage = SYSTEM_UNKNOWN;
	assert_true(cgroup_working_set(&info) == SYSTEM_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_are_found),
		cmocka_unit_test(a_deep_cgroup_has_bounds),
		cmocka_unit_test(limits_and_their_absence_are_read),
		cmocka_unit_test(cache_that_is_freed_first_is_no_working_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
