/*
 * exec_self: replaces itself five times; the tape of the first image must be whole and not
 * overwritten by the later ones. Or once, by one of the functions that take a list of arguments,
 * which must all arrive, and what is said after their end.
 *
 * Run: often
 *	size 2201: 10 malloc in first_image, freed in first_image
 *	size 2202: 0 malloc in later_image
 * Run: execl
 *	size 2201: 10 malloc in first_image, freed in first_image
 * Run: execlp
 *	size 2201: 10 malloc in first_image, freed in first_image
 * Run: execle
 *	size 2201: 10 malloc in first_image, freed in first_image
 */
#include <string.h>
#include <unistd.h>

#include "target.h"

FRAME static void first_image(void)
{
	for (int i = 0; i < 10; i++)
		free(need_block(malloc(2201)));
	no_tail_call();
}

FRAME static void later_image(void)
{
	for (int i = 0; i < 10; i++)
		free(need_block(malloc(2202)));
	no_tail_call();
}

/* More than registers hold; then none but a name. */
#define MANY "then", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", (char *)NULL

static int exec_by(const char *function, char *self)
{
	char word[] = "WORD=given";
	char *const environment[] = { word, NULL };

	NEED(!setenv("WORD", "inherited", 1));
	NEED(execl("/proc/self/nothing", self, (char *)NULL) == -1);
	if (!strcmp(function, "execl"))
		execl("/proc/self/exe", self, MANY);
	else if (!strcmp(function, "execlp"))
		execlp("/proc/self/exe", self, MANY);
	else
		execle("/proc/self/exe", self, MANY, environment);
	return 1;
}

static int told(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		printf("%s ", argv[i]);
	printf("with %s\n", getenv("WORD"));
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "often";
	int round = atoi(how);
	char next[16];

	if (!strcmp(how, "then"))
		return told(argc, argv);
	if (round)
		later_image();
	else
		first_image();
	if (!strncmp(how, "exec", 4))
		return exec_by(how, argv[0]);
	if (round == 5) {
		puts("image 5");
		return 0;
	}
	snprintf(next, sizeof(next), "%d", round + 1);
	execl("/proc/self/exe", argv[0], next, NULL);
	return 1;
}
