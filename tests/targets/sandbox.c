/*
 * sandbox: a program that forbids itself all system calls but a few that its C library makes,
 * with a filter that kills, or strict mode; then it allocates a lot, at many depths, in threads
 * that were there before and, where a filter lets them, in new ones, and ends. It must get there.
 *
 * Run: prctl
 *	size 3501: 30000 malloc in work, freed in work
 * Run: syscall
 *	size 3501: 30000 malloc in work, freed in work
 * Run: threads
 *	size 3501: 120000 malloc in work, freed in work
 * Run: newborn
 *	size 3501: 60000 malloc in work, freed in work
 * Run: strict
 *	size 3501: 30000 malloc in work, freed in work
 * Run: fork
 *	size 3501: 30000 malloc in work, freed in work
 *
 * With one more argument a filter is installed by system calls in its own assembly, and then it
 * waits for so many milliseconds: see test_sandbox.py.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "target.h"

enum { ROUNDS = 30000, THREADS = 3, DEPTH = 200 };

static atomic_int gate, passed;
static long unseen_ms = -1;

#define ALLOW(name)                                                                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                                     \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* What the program itself needs, and no more. */
static struct sock_filter few[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	ALLOW(read),
	ALLOW(write),
	ALLOW(exit),
	ALLOW(exit_group),
	ALLOW(futex),
	ALLOW(mmap),
	ALLOW(munmap),
	ALLOW(brk),
	ALLOW(rt_sigreturn),
	ALLOW(clock_gettime),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

/* What libc does besides when it makes and ends threads, or forks. */
static struct sock_filter more[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	ALLOW(read),
	ALLOW(write),
	ALLOW(exit),
	ALLOW(exit_group),
	ALLOW(futex),
	ALLOW(mmap),
	ALLOW(munmap),
	ALLOW(brk),
	ALLOW(rt_sigreturn),
	ALLOW(clock_gettime),
	ALLOW(mprotect),
	ALLOW(clone),
	ALLOW(clone3),
	ALLOW(rseq),
	ALLOW(set_robust_list),
	ALLOW(rt_sigprocmask),
	ALLOW(rt_sigaction),
	ALLOW(madvise),
	ALLOW(wait4),
	ALLOW(sched_getaffinity),
	ALLOW(getrandom),
	ALLOW(openat),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

/* What one thread needs, or a program without any: not even a futex. */
static struct sock_filter fewest[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	ALLOW(write),
	ALLOW(exit),
	ALLOW(exit_group),
	ALLOW(mmap),
	ALLOW(munmap),
	ALLOW(mprotect),
	ALLOW(brk),
	ALLOW(madvise),
	ALLOW(rt_sigprocmask),
	ALLOW(clock_gettime),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static void pass_ms(long ms)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static long own_syscall(long number, long a, long b, long c)
{
#if defined(__x86_64__)
	register long d __asm__("r10") = 0;
	register long e __asm__("r8") = 0;
	long result = number;

	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(a), "S"(b), "d"(c), "r"(d), "r"(e)
			 : "rcx", "r11", "memory");
	return result;
#else
	return syscall(number, a, b, c, 0, 0);
#endif
}

static void lock_in_unseen(struct sock_filter *filter, unsigned short count)
{
	struct sock_fprog program = { count, filter };

	NEED(!own_syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0));
	NEED(!own_syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program));
	pass_ms(unseen_ms);
}

static void lock_in(struct sock_filter *filter, unsigned short count, int by_syscall)
{
	struct sock_fprog program = { count, filter };

	if (unseen_ms >= 0) {
		lock_in_unseen(filter, count);
		return;
	}
	NEED(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (by_syscall)
		NEED(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
			      &program));
	else
		NEED(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

#define LOCK_IN(filter, by_syscall) lock_in(filter, sizeof(filter) / sizeof(*(filter)), by_syscall)

FRAME static void descend(int depth)
{
	volatile char room[300];

	room[0] = (char)depth;
	if (depth > 0)
		descend(depth - 1);
	else
		free(need_block(malloc(3502)));
	no_tail_call();
	(void)room;
}

FRAME static void work(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		free(need_block(malloc(3501)));
		if (i % 100 == 0)
			descend(i / 100 % DEPTH);
	}
	no_tail_call();
}

static void *wait_and_work(void *arg)
{
	free(need_block(malloc(3503)));
	atomic_fetch_add(&passed, 1);
	while (!atomic_load(&gate))
		;
	work();
	return arg;
}

static void *only_work(void *arg)
{
	if (arg)
		LOCK_IN(fewest, 0);
	work();
	return arg;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		NEED(!pthread_create(&threads[i], NULL, wait_and_work, NULL));
	while (atomic_load(&passed) < THREADS)
		;
	LOCK_IN(more, 1);
	atomic_store(&gate, 1);
	work();
	for (int i = 0; i < THREADS; i++)
		NEED(!pthread_join(threads[i], NULL));
}

static void run_one_thread(void)
{
	pthread_t thread;

	NEED(!pthread_create(&thread, NULL, only_work, &gate));
	work();
	NEED(!pthread_join(thread, NULL));
}

static void run_newborn(void)
{
	pthread_t thread;

	LOCK_IN(more, 1);
	NEED(!pthread_create(&thread, NULL, only_work, NULL));
	work();
	NEED(!pthread_join(thread, NULL));
}

static void run_fork(void)
{
	int status = 0;
	pid_t pid;

	LOCK_IN(more, 0);
	pid = fork();
	if (pid == 0) {
		work();
		_exit(7);
	}
	work();
	NEED(wait4(pid, &status, 0, NULL) == pid);
	NEED(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "prctl";

	if (argc > 2)
		unseen_ms = atol(argv[2]);
	free(need_block(malloc(600 << 10))); /* libc's heap, and its threshold */
	if (!strcmp(how, "threads"))
		run_threads();
	if (!strcmp(how, "newborn"))
		run_newborn();
	if (!strcmp(how, "fork"))
		run_fork();
	if (!strcmp(how, "one_thread"))
		run_one_thread();
	if (!strcmp(how, "alone")) {
		LOCK_IN(fewest, 0);
		work();
	}
	if (!strcmp(how, "prctl"))
		LOCK_IN(few, 0);
	if (!strcmp(how, "syscall"))
		LOCK_IN(few, 1);
	if (!strcmp(how, "strict"))
		NEED(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
	if (!strcmp(how, "prctl") || !strcmp(how, "syscall") || !strcmp(how, "strict"))
		work();
	if (!strcmp(how, "strict"))
		syscall(SYS_exit, 0);
	return 0;
}
