#include "../test.h"

#include "system/kernel_log.h"

#define CAUSE                                                                                      \
	"6,100,5000000,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,"           \
	"mems_allowed=0,oom_memcg=/jobs,task_memcg=/jobs/a,task=eater,pid=77,uid=0\n"
#define SIZES "total-vm:2048kB, anon-rss:1024kB, file-rss:4kB, shmem-rss:0kB, UID:0 pgtables:64kB\n"

static struct oom_kills kills_of(const char *text, struct arena *arena)
{
	struct oom_kills kills = { 0 };

	assert_null(kernel_log_read(text, arena, &kills));
	return kills;
}

static void a_kill_in_a_cgroup_has_the_cgroup_whose_limit_it_was(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(oom_kills_deinit)
	struct oom_kills kills = kills_of(
		CAUSE
		"3,101,5000900,-;Memory cgroup out of memory: Killed process 77 (eater) " SIZES,
		&arena);

	(void)state;
	assert_int_equal(kills.count, 1);
	assert_int_equal(kills.items[0].pid, 77);
	assert_string_equal(kills.items[0].name, "eater");
	assert_string_equal(kills.items[0].cgroup, "/jobs");
	assert_true(kills.items[0].is_cgroup);
	assert_int_equal(kills.items[0].uptime_ns, 5000900000);
	assert_int_equal(kills.items[0].address_space, 2048 << 10);
	assert_int_equal(kills.items[0].rss_anonymous, 1024 << 10);
	assert_int_equal(kills.items[0].rss_file, 4 << 10);
	assert_int_equal(kills.items[0].rss_shared, 0);
}

static void a_cause_is_of_its_own_process_only(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(oom_kills_deinit)
	struct oom_kills kills = kills_of(
		CAUSE "3,101,1,-;Memory cgroup out of memory: Killed process 78 (other) " SIZES
		      "3,102,2,-;Out of memory: Killed process 79 (global) " SIZES,
		&arena);

	(void)state;
	assert_int_equal(kills.count, 2);
	assert_null(kills.items[0].cgroup);
	assert_true(kills.items[0].is_cgroup);
	assert_null(kills.items[1].cgroup);
	assert_false(kills.items[1].is_cgroup);
}

static void a_name_may_have_anything_in_it(void **state)
{
	static const struct {
		const char *text, *name;
	} rows[] = {
		{ "3,1,1,-;Out of memory: Killed process 1 (a) total-vm:9kB, b) " SIZES,
		  "a) total-vm:9kB, b" },
		{ "3,1,1,-;Out of memory: Killed process 1 ((sd-pam)) " SIZES, "(sd-pam)" },
		{ "3,1,1,-;Out of memory: Killed process 1 () " SIZES, "" },
		{ "3,1,1,-;Out of memory: Killed process 1 (a, " SIZES, NULL },
		{ "3,1,1,-;Out of memory: Killed process 1\n", NULL },
	};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		CLEAN(arena_deinit) struct arena arena = { 0 };
		CLEAN(oom_kills_deinit) struct oom_kills kills = kills_of(rows[i].text, &arena);

		assert_int_equal(kills.count, 1);
		if (rows[i].name)
			assert_string_equal(kills.items[0].name, rows[i].name);
		else
			assert_null(kills.items[0].name);
	}
}

/* Whoever may write to /dev/kmsg could pretend: what programs write has a facility. */
static void what_programs_write_is_no_kill(void **state)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(oom_kills_deinit)
	struct oom_kills kills = kills_of("12,1,1,-;Out of memory: Killed process 1 (a) " SIZES
					  "Out of memory: Killed process 1 (a) " SIZES
					  "3;Killed process 1 (a)\n;\n3,1\n",
					  &arena);

	(void)state;
	assert_int_equal(kills.count, 0);
}

static void only_records_about_memory_are_kept(void **state)
{
	(void)state;
	assert_true(kernel_log_is_wanted("3,1,1,-;Out of memory: Killed process 1 (a) "));
	assert_true(kernel_log_is_wanted(CAUSE));
	assert_false(kernel_log_is_wanted("6,0,0,-;Linux version 6.18"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kill_in_a_cgroup_has_the_cgroup_whose_limit_it_was),
		cmocka_unit_test(a_cause_is_of_its_own_process_only),
		cmocka_unit_test(a_name_may_have_anything_in_it),
		cmocka_unit_test(what_programs_write_is_no_kill),
		cmocka_unit_test(only_records_about_memory_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
