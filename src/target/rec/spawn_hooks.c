/*
 * spawn_hooks: libc's functions that make a process and exec a program in it without our hooks of
 * exec. With children followed, the program is given the library for words of its size (exec.h).
 *
 * system() and popen() exec the shell with `environ` as it is. Where the shell's words have the other
 * size - a system of 64 bits runs a program of 32 - LD_PRELOAD there names its library while they
 * run. Other threads that look meanwhile see that.
 */
#include "rec/exec.h"
#include "rec/other.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/poison.h"

enum {
	SHELL_TEXT_BYTES = 8 << 10,
	FUTEX_WAKE_OP = 5,     /* of <linux/futex.h>, which musl installations lack */
	FUTEX_OP_ADD = 1 << 28 /* to the second word; its operands are 0 */
};

/*
 * Under its lock: the numbers of the process (the upper half) and of the thread in it, 0: nobody. A fork
 * may leave it to a thread that is not in the child, which so finds that it is another process's.
 */
static struct {
	_Atomic uint64_t lock;
	uint32_t users;
	char *before; /* the entry that was in environ */
	char text[SHELL_TEXT_BYTES];
} shell;

static void shell_restore(void)
{
	shell.users = 0;
	for (char **entry = environ; entry && *entry; entry++)
		if (*entry == shell.text)
			*entry = shell.before;
}

/* False: a signal came while this thread has it, or the kernel may not be asked who asks. */
static bool shell_lock(void)
{
	uint64_t process, self, seen;

	if (!rec_may_call())
		return false;
	process = (uint64_t)sys_getpid() << 32;
	self = process | (uint32_t)sys_gettid();
	for (seen = atomic_load(&shell.lock); seen != self; seen = atomic_load(&shell.lock)) {
		const bool is_others = seen >> 32 != process >> 32;

		if (!is_others && (uint32_t)seen != 0) {
			rec_yield();
			continue;
		}
		if (!atomic_compare_exchange_strong(&shell.lock, &seen, self))
			continue;
		if (is_others) /* whoever was in a shell is not here */
			shell_restore();
		return true;
	}
	return false;
}

static void shell_unlock(void)
{
	atomic_store(&shell.lock, atomic_load(&shell.lock) >> 32 << 32);
}

/* An environment may be a constant of the program: the kernel adds 0 there. */
static bool can_write(char **entry)
{
	uint32_t nobody = 0;

	return rec_may_call() &&
	       !sys_failed(sys_call6(SYS_futex, (long)(uintptr_t)&nobody, FUTEX_WAKE_OP, 0, 0,
				     (long)(uintptr_t)entry, FUTEX_OP_ADD));
}

/* Under the lock. */
static void shell_swap(const struct exec *exec)
{
	char **entry = environ + exec->swap.preload;
	const char *text = exec->next[exec->swap.preload];
	const size_t bytes = strlen(text) + 1;

	if (bytes > sizeof(shell.text) || !can_write(entry))
		return;
	memcpy(shell.text, text, bytes);
	shell.before = *entry;
	*entry = shell.text;
	shell.users = 1;
}

/* True: shell_end() is due. */
static __attribute__((noinline)) bool shell_begin(void)
{
	struct exec exec = { .path = "/bin/sh", .fd = -1, .is_environ = true, .envp = environ };
	bool is_swapped;

	if (!shell_lock())
		return false;
	if (shell.users > 0)
		shell.users++;
	else
		REC_EXEC_SWAP(&exec);
	if (exec.next)
		shell_swap(&exec);
	is_swapped = shell.users > 0;
	shell_unlock();
	return is_swapped;
}

/* The program may have another environ by now. */
static void shell_end(void)
{
	if (!shell_lock())
		return;
	if (shell.users > 0 && --shell.users == 0)
		shell_restore();
	shell_unlock();
}

/* As without us - a call that leaves no frame of ours - where there is nothing to do. */
REC_EXPORT int system(const char *command)
{
	int (*real)(const char *) = REAL(system);
	int result;

	if (unlikely(!real)) {
		errno = ENOSYS;
		return -1;
	}
	if (!command || !rec.options.follow || !shell_begin())
		return real(command);
	result = real(command);
	shell_end();
	return result;
}

REC_EXPORT void *popen(const char *command, const char *how)
{
	void *(*real)(const char *, const char *) = REAL(popen);
	void *result;

	if (unlikely(!real)) {
		errno = ENOSYS;
		return NULL;
	}
	if (!rec.options.follow || !shell_begin())
		return real(command, how);
	result = real(command, how);
	shell_end();
	return result;
}

typedef int spawn_function(int *, const char *, const void *, const void *, char *const[],
			   char *const[]);

REC_EXPORT int posix_spawn(int *pid, const char *path, const void *actions, const void *attributes,
			   char *const argv[], char *const envp[])
{
	spawn_function *real = REAL(posix_spawn);
	struct exec exec = { .path = path, .fd = -1, .envp = envp };
	int result;

	if (unlikely(!real))
		return ENOSYS;
	REC_EXEC_SWAP(&exec);
	result = real(pid, path, actions, attributes, argv, exec.next ? exec.next : envp);
	if (result != 0)
		rec_exec_uncount(&exec);
	return result;
}

REC_EXPORT int posix_spawnp(int *pid, const char *file, const void *actions, const void *attributes,
			    char *const argv[], char *const envp[])
{
	spawn_function *real = REAL(posix_spawnp);
	struct exec exec = { .path = file, .fd = -1, .is_searched = true, .envp = envp };
	int result;

	if (unlikely(!real))
		return ENOSYS;
	REC_EXEC_SWAP(&exec);
	result = real(pid, file, actions, attributes, argv, exec.next ? exec.next : envp);
	if (result != 0)
		rec_exec_uncount(&exec);
	return result;
}
