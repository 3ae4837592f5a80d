/*
 * invisible: prints everything about its process a program can see and may depend on. The
 * transcript with a recorder must be that without, but for what starts the recorder: LD_PRELOAD
 * and MEMTAPE_* in the environment are left out of it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "target.h"

extern char **environ;

static void show_environment(void)
{
	for (char **line = environ; *line; line++)
		if (strncmp(*line, "LD_PRELOAD=", 11) && strncmp(*line, "MEMTAPE_", 8))
			printf("env %s\n", *line);
}

static void show_descriptors(void)
{
	int fd;

	for (fd = 0; fd < 32; fd++)
		printf("fd %d flags %x\n", fd, fcntl(fd, F_GETFD));
	fd = open("/dev/null", O_RDONLY);
	printf("open gives %d\n", fd);
	close(fd);
	printf("umask %o\n", umask(022));
}

static unsigned count_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned count = 0;

	NEED(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void show_signals(void)
{
	struct sigaction action;
	stack_t stack;
	sigset_t mask;

	NEED(!sigprocmask(SIG_SETMASK, NULL, &mask));
	for (int i = 1; i < 65; i++) {
		if (i == 32 || i == 33)
			continue; /* glibc's own */
		memset(&action, 0, sizeof(action));
		NEED(!sigaction(i, NULL, &action));
		printf("signal %d blocked %d default %d ignored %d flags %x\n", i,
		       sigismember(&mask, i), action.sa_handler == SIG_DFL,
		       action.sa_handler == SIG_IGN, (unsigned)action.sa_flags);
	}
	NEED(!sigaltstack(NULL, &stack));
	printf("altstack %x\n", (unsigned)stack.ss_flags);
}

static void show_limits(void)
{
	struct rlimit both;
	struct itimerval timer;

	for (int i = 0; i < RLIMIT_NLIMITS; i++) {
		NEED(!getrlimit(i, &both));
		printf("limit %d %llx %llx\n", i, (unsigned long long)both.rlim_cur,
		       (unsigned long long)both.rlim_max);
	}
	for (int i = 0; i < 3; i++) {
		NEED(!getitimer(i, &timer));
		printf("timer %d %ld %ld\n", i, timer.it_value.tv_sec, timer.it_interval.tv_usec);
	}
	printf("priority %d\n", getpriority(PRIO_PROCESS, 0));
}

static void show_heap(void)
{
	struct mallinfo2 info = mallinfo2();

	printf("arena %zu mapped %zu in use %zu free %zu chunks %zu\n", info.arena, info.hblkhd,
	       info.uordblks, info.fordblks, info.ordblks);
}

static void show_self(char **argv)
{
	unsigned control = 0;
	char name[17] = "";
	cpu_set_t cpus;

	prctl(PR_GET_NAME, name);
	NEED(!sched_getaffinity(0, sizeof(cpus), &cpus));
	__asm__ volatile("stmxcsr %0" : "=m"(control));
	printf("name %s argv0 %s cpus %d mxcsr %x\n", name, argv[0], CPU_COUNT(&cpus), control);
	printf("dumpable %d death signal by prctl %d\n", prctl(PR_GET_DUMPABLE),
	       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
}

int main(int argc, char **argv)
{
	int first_errno = errno;

	show_heap();
	printf("argc %d errno %d\n", argc, first_errno);
	show_self(argv);
	show_environment();
	show_descriptors();
	show_signals();
	show_limits();
	printf("threads %u\n", count_entries("/proc/self/task") - 2);
	printf("descriptors %u\n", count_entries("/proc/self/fd") - 3);
	return 0;
}
