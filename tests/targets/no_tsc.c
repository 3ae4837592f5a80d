/*
 * no_tsc: forbids itself to read the cycle counter: by prctl, by a system call, or before anything
 * else of the program and its libraries runs (early).
 *
 * Run: prctl
 *	size 3601: 100 malloc in before, freed in before
 *	size 3602: 100000 malloc in behind, freed in behind
 *
 * Run: syscall
 *	size 3601: 100 malloc in before, freed in before
 *	size 3602: 100000 malloc in behind, freed in behind
 *
 * Run: early
 *	size 3602: 100000 malloc in behind, freed in behind
 */
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target.h"

FRAME static void before(void)
{
	for (int i = 0; i < 100; i++)
		free(need_block(malloc(3601)));
	no_tail_call();
}

FRAME static void behind(void)
{
	for (int i = 0; i < 100000; i++)
		free(need_block(malloc(3602)));
	no_tail_call();
}

static void preinit(int argc, char **argv, char **environment)
{
	(void)environment;
	if (argc > 1 && strcmp(argv[1], "early") == 0)
		syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
}

__attribute__((section(".preinit_array"),
	       used)) static void (*const preinit_entry)(int, char **, char **) = preinit;

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (strcmp(how, "early") != 0)
		before();
	if (strcmp(how, "syscall") == 0)
		NEED(syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0);
	else if (strcmp(how, "prctl") == 0)
		NEED(prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0);
	behind();
	puts("no counter");
	return 0;
}
