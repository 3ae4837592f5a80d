/*
 * starts: runs the program that its second word names, with the words behind that one, in a child
 * process made in the way that its first word names, and waits for it.
 * Allocates three times 2232 bytes first, and prints at the end what LD_PRELOAD is then.
 */
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

FRAME static void each_way(void)
{
	for (int i = 0; i < 3; i++)
		free(need_block(malloc(2232)));
	no_tail_call();
}

static int by_shell(char **argv, int is_popen)
{
	char command[4096] = "";
	FILE *pipe;

	for (; *argv; argv++) {
		strcat(command, *argv);
		strcat(command, argv[1] ? " " : "");
	}
	if (!is_popen)
		return system(command);
	pipe = popen(command, "r");
	while (fgets(command, sizeof(command), pipe))
		fputs(command, stdout);
	return pclose(pipe);
}

static pid_t child_of(const char *way, char **argv)
{
	pid_t pid = -1;

	if (strcmp(way, "spawn") == 0)
		return posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) ? -1 : pid;
	if (strcmp(way, "spawnp") == 0)
		return posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) ? -1 : pid;
	pid = strcmp(way, "vfork") == 0 ? vfork() : fork();
	if (pid == 0) {
		execv(argv[0], argv);
		_exit(127);
	}
	return pid;
}

int main(int argc, char **argv)
{
	int status = -1;

	if (argc < 3)
		return 2;
	each_way();
	if (strcmp(argv[1], "system") == 0 || strcmp(argv[1], "popen") == 0)
		status = by_shell(argv + 2, argv[1][0] == 'p');
	else
		waitpid(child_of(argv[1], argv + 2), &status, 0);
	for (char **entry = environ; *entry; entry++)
		if (strncmp(*entry, "LD_PRELOAD=", 11) == 0)
			printf("%s\n", *entry);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
