/*
 * Runs in the virtual machine of run.py.
 *
 *	split: 40 huge pages, of each of which a part is made read-only: 40 splits.
 *	slowly: the same, with time for looks at the mappings before and after, which are dear here.
 *	misplaced: 96 MiB on node 1 and 32 MiB on node 0, by a thread that stays on node 0.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noipa))
enum { HUGE_BYTES = 2 << 20, HUGE_PAGES = 40, MIB = 1 << 20, BIND = 2, SECONDS = 40 };

NOINLINE static char *huge_pages(void)
{
	const size_t bytes = (size_t)HUGE_PAGES * HUGE_BYTES;
	char *memory = aligned_alloc(HUGE_BYTES, bytes);

	if (!memory || madvise(memory, bytes, MADV_HUGEPAGE) < 0)
		exit(3);
	memset(memory, 1, bytes);
	return memory;
}

NOINLINE static void split(char *memory)
{
	for (size_t i = 0; i < HUGE_PAGES; i++)
		mprotect(memory + i * HUGE_BYTES + 4096, 4096, PROT_READ);
}

NOINLINE static char *on_node(unsigned node, size_t bytes)
{
	const unsigned long nodes = 1UL << node;
	char *memory = malloc(bytes);

	if (!memory || syscall(SYS_set_mempolicy, BIND, &nodes, 8 * sizeof(nodes)) < 0)
		exit(3);
	memset(memory, 1, bytes);
	syscall(SYS_set_mempolicy, 0, NULL, 0);
	return memory;
}

static void spin(char *memory, size_t bytes)
{
	struct timespec now, begin;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		memset(memory, 2, bytes);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec < SECONDS);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	if (strcmp(what, "split") == 0 || strcmp(what, "slowly") == 0) {
		const unsigned seconds = what[1] == 'l' ? SECONDS : 0;
		char *memory = huge_pages();

		sleep(seconds);
		split(memory);
		sleep(seconds);
	} else if (strcmp(what, "misplaced") == 0) {
		sched_setaffinity(0, sizeof(first), &first);
		char *far = on_node(1, (size_t)96 * MIB), *near = on_node(0, (size_t)32 * MIB);

		spin(far, MIB);
		return far[0] + near[0] == 3 ? 0 : 1;
	}
	return 0;
}
