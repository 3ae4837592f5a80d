/*
 * claims: a signal handler forks while the program allocates, anywhere in it, the recorder too, by a
 * system call of its own. The child maps memory, by system calls of its own, until that fills what
 * its parent's tape left free, writes to all of it, and only then allocates. All that it wrote must
 * still be there; it returns from the handler, allocates some more and ends.
 *
 * Must be found:
 *	size 3401: 20000 malloc in main_work, freed in main_work
 */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

enum {
	ROUNDS = 20000,
	CHILDREN = 60,
	DEPTH = 24,
	PAGE = 4096,
	AREAS = 64,
	AREA_BYTES = 256 << 10,
	SINGLES = 300,
	STRAY_BYTES = 256 /* of the record that was being written when the handler came */
};

static volatile sig_atomic_t is_child, child_count, bad_count, bad_status;
static struct {
	uint64_t *words;
	size_t bytes;
} claims[AREAS + SINGLES];

/* No hook of anybody sees it. */
static long raw(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#endif
}

static void end_now(int status)
{
	for (;;)
		raw(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

static void claim(size_t index, size_t bytes)
{
	const long place = raw(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (place < 0 && place > -PAGE)
		end_now(98);
	claims[index].words = (uint64_t *)place;
	claims[index].bytes = bytes;
	for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
		claims[index].words[i] = (uint64_t)place + i;
}

static size_t changed_bytes(void)
{
	size_t count = 0;

	for (size_t k = 0; k < AREAS + SINGLES; k++)
		for (size_t i = 0; i < claims[k].bytes / sizeof(uint64_t); i++)
			if (claims[k].words[i] != (uint64_t)claims[k].words + i)
				count += sizeof(uint64_t);
	return count;
}

static void child_begin(void)
{
	is_child = 1;
	for (size_t k = 0; k < AREAS; k++)
		claim(k, AREA_BYTES);
	for (size_t k = 0; k < SINGLES; k++)
		claim(AREAS + k, PAGE);
	munmap(mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE); /* a hook */
	if (changed_bytes() > 0)
		end_now(3);
}

static void handler(int number)
{
	const int saved = errno;
	int status = 0;
	pid_t pid;

	(void)number;
	if (is_child || child_count >= CHILDREN)
		return;
	pid = (pid_t)raw(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
	if (pid == 0) {
		child_begin();
		errno = saved;
		return;
	}
	child_count++;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) {
		bad_count++;
		bad_status = status;
	}
	errno = saved;
}

FRAME static void *descend(int depth, size_t size)
{
	void *block = depth > 0 ? descend(depth - 1, size) : need_block(malloc(size));

	no_tail_call();
	return block;
}

static void child_end_if(void)
{
	if (!is_child)
		return;
	for (int i = 0; i < 40; i++)
		free(descend(i % DEPTH, 3402));
	_exit(changed_bytes() <= STRAY_BYTES ? 7 : 4);
}

FRAME static void main_work(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		free(descend(i % DEPTH, 3401));
		child_end_if();
	}
}

int main(void)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 150 }, { 0, 150 } }, never = { { 0, 0 }, { 0, 0 } };

	NEED(!sigaction(SIGALRM, &action, NULL));
	NEED(!setitimer(ITIMER_REAL, &every, NULL));
	main_work();
	NEED(!setitimer(ITIMER_REAL, &never, NULL));
	child_end_if();
	if (bad_count)
		fprintf(stderr, "%d of %d children were harmed, one has status %x\n", bad_count,
			child_count, bad_status);
	need(child_count > 0, "a child");
	return bad_count > 0;
}
