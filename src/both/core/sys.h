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

#define SYS_CALL0(n)		 arch_syscall5(n, 0, 0, 0, 0, 0)
#define SYS_CALL1(n, a)		 arch_syscall5(n, (long)(a), 0, 0, 0, 0)
#define SYS_CALL2(n, a, b)	 arch_syscall5(n, (long)(a), (long)(b), 0, 0, 0)
#define SYS_CALL3(n, a, b, c)	 arch_syscall5(n, (long)(a), (long)(b), (long)(c), 0, 0)
#define SYS_CALL4(n, a, b, c, d) arch_syscall5(n, (long)(a), (long)(b), (long)(c), (long)(d), 0)
#define SYS_CALL5(n, a, b, c, d, e)                                                                \
	arch_syscall5(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))

/* mmap and friends: a result in [-4095, -1] is an error. */
static inline bool sys_failed(long result)
{
	return (unsigned long)result > -4096UL;
}

/* What the unit of the system call cannot say is refused as the C libraries do: -EINVAL. */
static inline long sys_mmap(void *hint, size_t bytes, int prot, int flags, int fd, uint64_t offset)
{
	enum { INVALID = -22 };

	if (offset % ARCH_MMAP_UNIT || offset / ARCH_MMAP_UNIT > ~0UL)
		return INVALID;
	return sys_call6(ARCH_CALL_MMAP, (long)hint, (long)bytes, prot, flags, fd,
			 (long)(offset / ARCH_MMAP_UNIT));
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

/* Halves of a number of 64 bits, as system calls of 32-bit processors take it: the low one first. */
static inline long sys_low(uint64_t value)
{
	return (long)(uint32_t)value;
}

static inline long sys_high(uint64_t value)
{
	return (long)(uint32_t)(value >> 32);
}

/* number: SYS_pread64 or SYS_pwrite64 */
static inline long sys_at(long number, int fd, const void *buf, size_t bytes, uint64_t offset)
{
	if (ARCH_WORD_BYTES == 8)
		return SYS_CALL4(number, fd, buf, bytes, offset);
	if (ARCH_PAIRS_EVEN)
		return sys_call6(number, fd, (long)buf, (long)bytes, 0, sys_low(offset),
				 sys_high(offset));
	return SYS_CALL5(number, fd, buf, bytes, sys_low(offset), sys_high(offset));
}

static inline long sys_pread(int fd, void *buf, size_t bytes, uint64_t offset)
{
	return sys_at(SYS_pread64, fd, buf, bytes, offset);
}

static inline long sys_pwrite(int fd, const void *buf, size_t bytes, uint64_t offset)
{
	return sys_at(SYS_pwrite64, fd, buf, bytes, offset);
}

static inline long sys_ftruncate(int fd, uint64_t bytes)
{
	if (ARCH_WORD_BYTES == 8)
		return SYS_CALL2(ARCH_CALL_FTRUNCATE, fd, bytes);
	if (ARCH_PAIRS_EVEN)
		return SYS_CALL4(ARCH_CALL_FTRUNCATE, fd, 0, sys_low(bytes), sys_high(bytes));
	return SYS_CALL3(ARCH_CALL_FTRUNCATE, fd, sys_low(bytes), sys_high(bytes));
}

static inline long sys_fallocate(int fd, int mode, uint64_t offset, uint64_t bytes)
{
	if (ARCH_WORD_BYTES == 8)
		return SYS_CALL4(SYS_fallocate, fd, mode, offset, bytes);
	return sys_call6(SYS_fallocate, fd, mode, sys_low(offset), sys_high(offset), sys_low(bytes),
			 sys_high(bytes));
}

static inline long sys_fstat(int fd, ARCH_STAT *ret)
{
	return SYS_CALL2(ARCH_CALL_FSTAT, fd, ret);
}

/* A path from the working directory. */
static inline long sys_stat(const char *path, ARCH_STAT *ret, int flags)
{
	return SYS_CALL4(ARCH_CALL_FSTATAT, -100 /* AT_FDCWD */, path, ret, flags);
}

/* How long a system call may wait. (A libc's struct timespec need not be the kernel's.) */
struct sys_timeout {
	long seconds, nanoseconds;
};

struct sys_time {
	int64_t seconds, nanoseconds;
};

/* What a clock says; an old kernel of a 32-bit processor counts its seconds in 32 bits. */
static inline long sys_clock(int clock, struct sys_time *ret)
{
	enum { NO_SUCH_CALL = -38 };
	struct sys_timeout now = { 0 };
	long result = SYS_CALL2(ARCH_CALL_CLOCK, clock, ret);

	if (ARCH_WORD_BYTES == 8 || result != NO_SUCH_CALL)
		return result;
	result = SYS_CALL2(ARCH_CALL_CLOCK_SHORT, clock, &now);
	*ret = (struct sys_time) { now.seconds, now.nanoseconds };
	return result;
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
	const struct sys_timeout now = { 0 };

	SYS_CALL4(SYS_rt_sigtimedwait, which, NULL, &now, ARCH_SIGSET_BYTES);
}

/*
 * Whether the eight bytes there can be read: the kernel reads a set there for a system call that
 * then refuses its other argument and changes nothing. (mincore() would accept a guard page.) Address 0
 * would be no set.
 */
static inline bool sys_can_read(const volatile void *address)
{
	enum { NO_SUCH_HOW = -1, FAULT = -14 };
	const uint64_t set = (uintptr_t)address & -(uint64_t)ARCH_SIGSET_BYTES;

	return set != 0 &&
	       SYS_CALL4(SYS_rt_sigprocmask, NO_SUCH_HOW, set, NULL, ARCH_SIGSET_BYTES) != FAULT;
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
