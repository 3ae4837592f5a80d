/*
 * sys: system calls without libc: no errno, no cancellation point, no hook in between. Each returns
 * the kernel's result: a value, or a negative errno. Async-signal-safe.
 */
#ifndef MEMTAPE_CORE_SYS_H
#define MEMTAPE_CORE_SYS_H

#include <signal.h>
#include <sys/syscall.h>

#include "arch/native.h"
#include "core/core.h"

static inline long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
	return arch_syscall6(number, a, b, c, d, e, f);
}

#define SYS_CALL0(n)		 sys_call6(n, 0, 0, 0, 0, 0, 0)
#define SYS_CALL1(n, a)		 sys_call6(n, (long)(a), 0, 0, 0, 0, 0)
#define SYS_CALL2(n, a, b)	 sys_call6(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define SYS_CALL3(n, a, b, c)	 sys_call6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define SYS_CALL4(n, a, b, c, d) sys_call6(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define SYS_CALL5(n, a, b, c, d, e)                                                                \
	sys_call6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

/* mmap and friends: a result in [-4095, -1] is an error. */
static inline bool sys_failed(long result)
{
	return (unsigned long)result > -4096UL;
}

static inline long sys_mmap(void *hint, size_t bytes, int prot, int flags, int fd, uint64_t offset)
{
	return sys_call6(SYS_mmap, (long)hint, (long)bytes, prot, flags, fd, (long)offset);
}

static inline long sys_munmap(void *ptr, size_t bytes)
{
	return SYS_CALL2(SYS_munmap, ptr, bytes);
}

static inline long sys_madvise(void *ptr, size_t bytes, int advice)
{
	return SYS_CALL3(SYS_madvise, ptr, bytes, advice);
}

static inline int sys_open(const char *path, int flags, unsigned mode)
{
	return (int)SYS_CALL4(SYS_openat, -100 /* AT_FDCWD */, path, flags, mode);
}

static inline int sys_close(int fd)
{
	return (int)SYS_CALL1(SYS_close, fd);
}

static inline long sys_read(int fd, void *buf, size_t bytes)
{
	return SYS_CALL3(SYS_read, fd, buf, bytes);
}

static inline long sys_write(int fd, const void *buf, size_t bytes)
{
	return SYS_CALL3(SYS_write, fd, buf, bytes);
}

static inline int sys_gettid(void)
{
	return (int)SYS_CALL0(SYS_gettid);
}

static inline int sys_getpid(void)
{
	return (int)SYS_CALL0(SYS_getpid);
}

/* A set of signals as the kernel takes it; signal n is bit n - 1 of the first word or the next. */
struct sys_signals {
	uint64_t word[ARCH_SIGSET_BYTES / 8];
};

static inline struct sys_signals sys_signal(int number)
{
	CHECK(number >= 1 && number <= 64);
	return (struct sys_signals) { { UINT64_C(1) << (number - 1) } };
}

/* Blocks them for this thread, and says which were blocked before, for sys_signals_restore(). */
static inline void sys_signals_block(const struct sys_signals *which,
				     struct sys_signals *before_ret)
{
	SYS_CALL4(SYS_rt_sigprocmask, SIG_BLOCK, which, before_ret, ARCH_SIGSET_BYTES);
}

static inline void sys_signals_block_all(struct sys_signals *before_ret)
{
	struct sys_signals all;

	memset(&all, 0xff, sizeof(all));
	sys_signals_block(&all, before_ret);
}

static inline void sys_signals_restore(const struct sys_signals *before)
{
	SYS_CALL4(SYS_rt_sigprocmask, SIG_SETMASK, before, NULL, ARCH_SIGSET_BYTES);
}

/* Takes a blocked one that is pending, if there is one. */
static inline void sys_signals_swallow(const struct sys_signals *which)
{
	const int64_t now[2] = { 0 }; /* struct timespec */

	SYS_CALL4(SYS_rt_sigtimedwait, which, NULL, now, ARCH_SIGSET_BYTES);
}

/*
 * Whether the eight bytes there can be read: the kernel reads a set there for a system call that
 * then refuses its other argument and changes nothing. (mincore() would accept a guard page.)
 */
static inline bool sys_can_read(const volatile void *address)
{
	enum { NO_SUCH_HOW = -1, FAULT = -14 };
	const uint64_t set = (uint64_t)address & -(uint64_t)ARCH_SIGSET_BYTES;

	return SYS_CALL4(SYS_rt_sigprocmask, NO_SUCH_HOW, set, NULL, ARCH_SIGSET_BYTES) != FAULT;
}

/*
 * Zeroed private memory, or NULL. Freed with sys_munmap. It is excluded from core dumps, and that
 * flag distinguishes it from the program's own memory in /proc/PID/smaps.
 */
static inline void *sys_map_private(size_t bytes)
{
	enum { READ_WRITE = 3, PRIVATE = 2, DONT_DUMP = 16 };
	long result = sys_mmap(NULL, bytes, READ_WRITE,
			       PRIVATE | ARCH_MAP_ANONYMOUS | ARCH_MAP_NORESERVE, -1, 0);

	CHECK(bytes > 0);
	if (sys_failed(result))
		return NULL;
	SYS_CALL3(SYS_madvise, result, bytes, DONT_DUMP);
	return (void *)result;
}

#endif
