/*
 * exec_hooks: the functions by which a process becomes another program. May run in a child of vfork
 * or in a signal handler, too.
 */
#include "rec/exec.h"
#include "rec/other.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#include "core/poison.h"

static int missing(void)
{
	errno = ENOSYS;
	return -1;
}

static int exec_path(const char *path, char *const *argv, char *const *envp,
		     const struct rec_frame *caller)
{
	int (*real)(const char *, char *const[], char *const[]) = REAL(execve);
	struct exec exec = { .path = path, .fd = -1, .envp = envp };
	int result;

	if (unlikely(!real))
		return missing();
	rec_exec_begin(&exec, caller);
	REC_EXEC_SWAP(&exec);
	result = real(path, argv, exec.next ? exec.next : envp);
	rec_exec_end(&exec);
	return result;
}

static int exec_file(const char *file, char *const *argv, char *const *envp,
		     const struct rec_frame *caller)
{
	int (*real)(const char *, char *const[], char *const[]) = REAL(execvpe);
	struct exec exec = { .path = file, .fd = -1, .is_searched = true, .envp = envp };
	int result;

	if (unlikely(!real))
		return missing();
	rec_exec_begin(&exec, caller);
	REC_EXEC_SWAP(&exec);
	result = real(file, argv, exec.next ? exec.next : envp);
	rec_exec_end(&exec);
	return result;
}

REC_EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	struct rec_frame caller = REC_CALLER();

	return exec_path(path, argv, envp, &caller);
}

REC_EXPORT int execv(const char *path, char *const argv[])
{
	struct rec_frame caller = REC_CALLER();

	return exec_path(path, argv, environ, &caller);
}

REC_EXPORT int execvp(const char *file, char *const argv[])
{
	struct rec_frame caller = REC_CALLER();

	return exec_file(file, argv, environ, &caller);
}

REC_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	struct rec_frame caller = REC_CALLER();

	return exec_file(file, argv, envp, &caller);
}

REC_EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	struct rec_frame caller = REC_CALLER();
	int (*real)(int, char *const[], char *const[]) = REAL(fexecve);
	struct exec exec = { .path = "", .fd = fd, .envp = envp };
	int result;

	if (unlikely(!real))
		return missing();
	rec_exec_begin(&exec, &caller);
	REC_EXEC_SWAP(&exec);
	result = real(fd, argv, exec.next ? exec.next : (char **)envp);
	rec_exec_end(&exec);
	return result;
}

/* Number of pointers in an argv of these, including its NULL. */
static size_t arguments_count(const char *first, va_list *list)
{
	size_t count = 1;

	for (; first; count++)
		first = va_arg(*list, const char *);
	return count;
}

static void arguments_take(char **argv, const char *first, va_list *list)
{
	for (; first; first = va_arg(*list, const char *))
		*argv++ = (char *)first;
	*argv = NULL;
}

/* Copies to an argv on the hook's own stack, as libc does. `list` is past the NULL afterwards. */
#define ARGUMENTS(argv, first, list)                                                               \
	do {                                                                                       \
		va_start(list, first);                                                             \
		(argv) = __builtin_alloca(arguments_count(first, &(list)) * sizeof(*(argv)));      \
		va_end(list);                                                                      \
		va_start(list, first);                                                             \
		arguments_take(argv, first, &(list));                                              \
	} while (0)

REC_EXPORT int execl(const char *path, const char *first, ...)
{
	struct rec_frame caller = REC_CALLER();
	char **argv;
	va_list list;

	ARGUMENTS(argv, first, list);
	va_end(list);
	return exec_path(path, argv, environ, &caller);
}

REC_EXPORT int execlp(const char *file, const char *first, ...)
{
	struct rec_frame caller = REC_CALLER();
	char **argv;
	va_list list;

	ARGUMENTS(argv, first, list);
	va_end(list);
	return exec_file(file, argv, environ, &caller);
}

REC_EXPORT int execle(const char *path, const char *first, ...)
{
	struct rec_frame caller = REC_CALLER();
	char *const *envp;
	char **argv;
	va_list list;

	ARGUMENTS(argv, first, list);
	envp = va_arg(list, char *const *);
	va_end(list);
	return exec_path(path, argv, envp, &caller);
}
