#include "../test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "collect/clock.h"
#include "collect/system_usage.h"
#include "collect/usage.h"

enum { BLOCK_BYTES = 32 << 20 };

static const struct tape_system machine = { .cgroup_bytes = 12345, .cgroup_limit_bytes = 1 << 30 };

static void touched_memory_shows_in_the_next_sample(void **state)
{
	struct tape_usage before;
	struct usage usage;
	void *block;

	(void)state;
	usage_open(&usage, getpid());
	assert_true(usage_sample(&usage, monotonic_ns(), &machine));
	before = usage.last;
	assert_true(before.rss_bytes != USAGE_UNKNOWN && before.rss_bytes > 0);
	assert_true(before.virtual_bytes >= before.rss_bytes);
	assert_int_equal(before.cgroup_bytes, machine.cgroup_bytes);
	assert_int_equal(before.cgroup_limit_bytes, machine.cgroup_limit_bytes);
	block = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	assert_true(block != MAP_FAILED);
	assert_true(usage_sample(&usage, monotonic_ns(), &machine));
	assert_in_range(usage.last.rss_bytes - before.rss_bytes, BLOCK_BYTES * 9 / 10,
			BLOCK_BYTES * 2);
	assert_true(usage.last.virtual_bytes >= before.virtual_bytes + BLOCK_BYTES);
	munmap(block, BLOCK_BYTES);
	usage_close(&usage);
}

/* PSS is dear: within half a second the last one is said again. */
static void the_dear_numbers_are_read_seldom(void **state)
{
	uint64_t now_ns = monotonic_ns();
	struct usage usage;
	uint64_t pss_bytes;
	void *block;

	(void)state;
	usage_open(&usage, getpid());
	usage_sample(&usage, now_ns, &machine);
	pss_bytes = usage.last.pss_bytes;
	block = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	assert_true(block != MAP_FAILED);
	usage_sample(&usage, now_ns + 100000000, &machine);
	assert_true(usage.has_snapshot || usage.space.cannot_scan);
	assert_int_equal(usage.last.pss_bytes, pss_bytes);
	usage_sample(&usage, usage.full_next_ns, &machine);
	assert_true(usage.last.pss_bytes >= pss_bytes + BLOCK_BYTES * 9 / 10);
	munmap(block, BLOCK_BYTES);
	usage_close(&usage);
}

static void of_a_dead_process_nothing_is_known(void **state)
{
	struct usage usage;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	usage_open(&usage, pid);
	waitpid(pid, NULL, 0);
	usage_sample(&usage, monotonic_ns(), &machine);
	assert_true(usage.last.rss_bytes == USAGE_UNKNOWN);
	assert_true(usage.last.pss_bytes == USAGE_UNKNOWN);
	assert_true(usage.last.minor_faults == USAGE_UNKNOWN);
	usage_close(&usage);
}

/* Of one that waits for its parent the kernel says that it is at the top: version 1 does. */
static void a_process_that_has_ended_stays_in_its_cgroup(void **state)
{
	struct system_usage usage;
	siginfo_t info;
	char name[4096];
	int fds[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		close(fds[1]);
		_exit((int)read(fds[0], name, 1));
	}
	system_usage_open(&usage, pid);
	assert_true(system_usage_sample(&usage, monotonic_ns()));
	assert_true(usage.has_moved);
	assert_true(usage.last.memory_bytes != SYSTEM_UNKNOWN);
	assert_true(usage.last.available_bytes < usage.last.memory_bytes);
	strcpy(name, usage.cgroup);
	close(fds[1]);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	usage.next_ns = 0;
	system_usage_sample(&usage, monotonic_ns());
	assert_false(usage.has_moved);
	assert_string_equal(usage.cgroup, name);
	waitpid(pid, NULL, 0);
	close(fds[0]);
	system_usage_close(&usage);
}

/* It is not looked at more often than it may cost. */
static void the_system_is_looked_at_now_and_then(void **state)
{
	const uint64_t now_ns = monotonic_ns();
	struct system_usage usage;

	(void)state;
	system_usage_open(&usage, getpid());
	assert_true(system_usage_sample(&usage, now_ns));
	assert_true(usage.next_ns > now_ns);
	assert_false(system_usage_sample(&usage, usage.next_ns - 1));
	system_usage_close(&usage);
}

/* Version 1 of cgroups has a number for it: the largest multiple of a page. */
/* The least of what the machine and the cgroup have; neither may be known, or limited. */
static void what_is_free_is_the_least_that_is_known(void **state)
{
	struct system_usage usage = { .last = { .available_bytes = 1000,
						.cgroup_bytes = 300,
						.cgroup_limit_bytes = 500,
						.cgroup_high_bytes = UINT64_MAX } };

	(void)state;
	assert_int_equal(system_usage_free(&usage), 200);
	usage.last.cgroup_high_bytes = 400;
	assert_int_equal(system_usage_free(&usage), 100);
	usage.last.cgroup_bytes = 450;
	assert_int_equal(system_usage_free(&usage), 0);
	usage.last.cgroup_limit_bytes = usage.last.cgroup_high_bytes = UINT64_MAX;
	assert_int_equal(system_usage_free(&usage), 1000);
	usage.last.cgroup_bytes = UINT64_MAX;
	assert_int_equal(system_usage_free(&usage), 1000);
	usage.last.available_bytes = UINT64_MAX;
	assert_int_equal(system_usage_free(&usage), UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(touched_memory_shows_in_the_next_sample),
		cmocka_unit_test(the_dear_numbers_are_read_seldom),
		cmocka_unit_test(of_a_dead_process_nothing_is_known),
		cmocka_unit_test(a_process_that_has_ended_stays_in_its_cgroup),
		cmocka_unit_test(the_system_is_looked_at_now_and_then),
		cmocka_unit_test(what_is_free_is_the_least_that_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
