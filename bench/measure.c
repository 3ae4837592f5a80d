/*
 * measure: run a command and say what it and everything it started cost.
 *
 *	measure RESULT TARGET TIMEOUT_S MEMORY_MIB -- COMMAND [ARG]...
 *
 * CPU is the sum over the whole tree: a profiler's pipes, interpreters and collectors count. For
 * that this process becomes the subreaper of its descendants and waits for the last of them; what
 * getrusage says then is exact. One descendant is the *target*, the process whose executable is
 * TARGET: its peak RSS and its share of the CPU are sampled from /proc, and its end is seen through
 * a pidfd, so that the time from there to the end of COMMAND can be told. With MEMORY_MIB above 0
 * every process gets that RLIMIT_AS. RESULT becomes one JSON object.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TREE_MAX = 256, SAMPLE_MS = 4, TREE_EVERY = 4 };

struct tree {
	pid_t pids[TREE_MAX];
	size_t count;
};

struct measurement {
	const char *target_exe;
	pid_t root, target;
	int target_fd, status;
	uint64_t start_ns, root_end_ns, target_end_ns, deadline_ns;
	uint64_t target_hwm_kib, other_hwm_kib, target_cpu_ns, target_threads;
	bool timed_out;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Returns the length read, 0 when the file cannot be read. The text is terminated. */
static size_t file_read(const char *path, char *text, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return 0;
	got = read(fd, text, bytes - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got > 0 ? (size_t)got : 0;
}

static void tree_add(struct tree *tree, pid_t pid)
{
	char path[64], text[4096];
	char *at = text;

	if (tree->count < TREE_MAX && pid != getpid())
		tree->pids[tree->count++] = pid;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	if (!file_read(path, text, sizeof(text)))
		return;
	for (;;) {
		char *end;
		long child = strtol(at, &end, 10);

		if (end == at || tree->count == TREE_MAX)
			return;
		tree_add(tree, (pid_t)child);
		at = end;
	}
}

static uint64_t status_field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static uint64_t pid_hwm_kib(pid_t pid, uint64_t *threads)
{
	char path[64], text[4096];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (!file_read(path, text, sizeof(text)))
		return 0;
	if (threads)
		*threads = status_field(text, "\nThreads:");
	return status_field(text, "\nVmHWM:");
}

static uint64_t pid_cpu_ns(pid_t pid)
{
	char path[64], text[1024];
	unsigned long user = 0, sys = 0;
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (!file_read(path, text, sizeof(text)))
		return 0;
	at = strrchr(text, ')');
	if (!at ||
	    sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &sys) != 2)
		return 0;
	return (user + sys) * (1000000000u / (unsigned long)sysconf(_SC_CLK_TCK));
}

static bool pid_runs(pid_t pid, const char *exe)
{
	char path[64], link[4096];
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	got = readlink(path, link, sizeof(link) - 1);
	if (got <= 0)
		return false;
	link[got] = '\0';
	return !strncmp(link, exe, strlen(exe));
}

static void sample_target(struct measurement *m)
{
	uint64_t threads = 0, hwm = pid_hwm_kib(m->target, &threads), cpu = pid_cpu_ns(m->target);

	if (hwm > m->target_hwm_kib)
		m->target_hwm_kib = hwm;
	if (cpu > m->target_cpu_ns)
		m->target_cpu_ns = cpu;
	if (threads > m->target_threads)
		m->target_threads = threads;
}

/* Only the first process seen to run TARGET counts: its forked children are others. */
static void sample_tree(struct measurement *m)
{
	struct tree tree = { 0 };

	tree_add(&tree, getpid());
	for (size_t i = 0; i < tree.count; i++) {
		pid_t pid = tree.pids[i];

		if (!m->target && pid_runs(pid, m->target_exe)) {
			m->target = pid;
			m->target_fd = (int)syscall(SYS_pidfd_open, pid, 0);
		}
		if (pid != m->target) {
			uint64_t hwm = pid_hwm_kib(pid, NULL);

			if (hwm > m->other_hwm_kib)
				m->other_hwm_kib = hwm;
		}
	}
}

static void kill_tree(void)
{
	struct tree tree = { 0 };

	tree_add(&tree, getpid());
	for (size_t i = 0; i < tree.count; i++)
		kill(tree.pids[i], SIGKILL);
}

/* Returns false once there is nobody left to wait for. */
static bool reap(struct measurement *m)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid < 0)
			return errno != ECHILD;
		if (!pid)
			return true;
		if (pid == m->root) {
			m->root_end_ns = now_ns();
			m->status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
		}
	}
}

static void target_ended(struct measurement *m)
{
	uint64_t cpu = pid_cpu_ns(m->target);

	m->target_end_ns = now_ns();
	if (cpu > m->target_cpu_ns)
		m->target_cpu_ns = cpu;
	close(m->target_fd);
	m->target_fd = -1;
}

static void watch(struct measurement *m, int signal_fd)
{
	for (unsigned int tick = 0; reap(m); tick++) {
		struct pollfd fds[2] = { { .fd = m->target_fd, .events = POLLIN },
					 { .fd = signal_fd, .events = POLLIN } };
		struct signalfd_siginfo info;

		if (m->target_fd >= 0)
			sample_target(m);
		if (tick % TREE_EVERY == 0 || !m->target)
			sample_tree(m);
		if (now_ns() > m->deadline_ns) {
			m->timed_out = true;
			kill_tree();
		}
		poll(fds, 2, SAMPLE_MS);
		if (m->target_fd >= 0 && fds[0].revents)
			target_ended(m);
		if (fds[1].revents && read(signal_fd, &info, sizeof(info)) < 0)
			continue;
	}
}

static void spawn(struct measurement *m, uint64_t memory_mib, char **argv)
{
	m->start_ns = now_ns();
	m->root = fork();
	if (m->root)
		return;
	if (memory_mib) {
		struct rlimit limit = { memory_mib << 20, memory_mib << 20 };

		setrlimit(RLIMIT_AS, &limit);
	}
	sigprocmask(SIG_SETMASK, &(sigset_t) { 0 }, NULL);
	execvp(argv[0], argv);
	_exit(127);
}

static uint64_t timeval_ns(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * 1000000000u + (uint64_t)tv.tv_usec * 1000u;
}

static int print(const struct measurement *m, const char *path)
{
	uint64_t end_ns = now_ns(), tail_ns = 0;
	struct rusage usage;
	FILE *out = fopen(path, "w");

	if (!out)
		return 1;
	getrusage(RUSAGE_CHILDREN, &usage);
	if (m->target_end_ns && m->root_end_ns > m->target_end_ns)
		tail_ns = m->root_end_ns - m->target_end_ns;
	fprintf(out,
		"{\"status\": %d, \"timed_out\": %s, \"wall_ns\": %lu, \"settle_ns\": %lu,"
		" \"user_ns\": %lu, \"system_ns\": %lu, \"target_cpu_ns\": %lu,"
		" \"target_rss_kib\": %lu, \"target_threads\": %lu, \"other_rss_kib\": %lu,"
		" \"largest_rss_kib\": %ld, \"tail_ns\": %lu}\n",
		m->status, m->timed_out ? "true" : "false", m->root_end_ns - m->start_ns,
		end_ns - m->root_end_ns, timeval_ns(usage.ru_utime), timeval_ns(usage.ru_stime),
		m->target_cpu_ns, m->target_hwm_kib, m->target_threads, m->other_hwm_kib,
		usage.ru_maxrss, tail_ns);
	return fclose(out) ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct measurement m = { .target_fd = -1 };
	int signal_fd;
	sigset_t set;

	if (argc < 7 || strcmp(argv[5], "--")) {
		fputs("usage: measure RESULT TARGET TIMEOUT_S MEMORY_MIB -- COMMAND...\n", stderr);
		return 2;
	}
	m.target_exe = argv[2];
	m.deadline_ns = now_ns() + strtoull(argv[3], NULL, 10) * 1000000000u;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	spawn(&m, strtoull(argv[4], NULL, 10), argv + 6);
	watch(&m, signal_fd);
	return print(&m, argv[1]);
}
