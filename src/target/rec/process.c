/*
 * process: hooks of loading, threads, fork and exit, and of JIT compilers' frames. System headers
 * that declare these functions with other types are not included.
 */
#include "rec/allocators.h"
#include "rec/birth.h"
#include "rec/other.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/poison.h"

/* The hooks' own declarations, as the ABI has them. */
void *dlopen(const char *path, int flags);
void *dlmopen(long space, const char *path, int flags);
int dlclose(void *handle);
int pthread_create(void *thread, const void *attributes, void *(*start)(void *), void *argument);
int pthread_setname_np(unsigned long thread, const char *name);
void _Exit(int status) __attribute__((noreturn));
void quick_exit(int status) __attribute__((noreturn));
void __register_frame(const void *frames);
void __deregister_frame(const void *frames);

REC_COLD void rec_note_path(enum tape_extended type, uint32_t pid, const char *path,
			    const struct rec_frame *caller)
{
	const int saved_errno = errno;
	struct other other = other_begin(caller);
	struct tape_fork record = { .pid = pid };

	if (other.lane) {
		record.node = other_stack(&other, caller);
		rec_note(other.lane, type, &record, sizeof(record), path, path ? strlen(path) : 0);
	}
	other_end(&other);
	errno = saved_errno;
}

/* Result of a hook of an undefined function: like a kernel that does not know it. */
static REC_COLD int missing(void)
{
	errno = ENOSYS;
	return -1;
}

/* If nothing reports a new object when a pc in it is first seen, list them now. */
static REC_COLD void scan_modules(const struct rec_frame *caller)
{
	const int saved_errno = errno;
	struct other other = other_begin(caller);

	if (other.lane)
		rec_modules_scan(other.lane);
	other_end(&other);
	errno = saved_errno;
}

enum { DEEPBIND = ARCH_DLOPEN_DEEPBIND }; /* RTLD_DEEPBIND of glibc */

/*
 * glibc inspects the caller of dlopen (RUNPATH, namespace): the real one must see our caller's
 * return address, so it is jumped to and nothing can be done after it. Objects it loads are found
 * later, through _dl_find_object.
 */
REC_EXPORT void *dlopen(const char *path, int flags)
{
	struct rec_frame caller = REC_CALLER();
	void *(*real)(const char *, int) = REAL(dlopen);
	void *handle;

	if (unlikely(!real))
		return NULL;
	rec_note_path(TAPE_EXT_DLOPEN, 0, path, &caller);
	if (flags & DEEPBIND)
		rec_allocators_doubt();
	if (likely(REAL(_dl_find_object)))
		return real(path, flags);
	handle = real(path, flags);
	scan_modules(&caller);
	return handle;
}

REC_EXPORT void *dlmopen(long space, const char *path, int flags)
{
	struct rec_frame caller = REC_CALLER();
	void *(*real)(long, const char *, int) = REAL(dlmopen);

	if (unlikely(!real))
		return NULL;
	rec_note_path(TAPE_EXT_DLOPEN, 0, path, &caller);
	if (flags & DEEPBIND)
		rec_allocators_doubt();
	return real(space, path, flags);
}

REC_EXPORT int dlclose(void *handle)
{
	struct rec_frame caller = REC_CALLER();
	int (*real)(void *) = REAL(dlclose);
	int result;

	if (unlikely(!real))
		return missing();
	rec_real_forget_late();
	result = real(handle);
	rec_real_forget_late(); /* destructors may have requested them */
	scan_modules(&caller);
	return result;
}

/* The program's value at `thread` is not read: birth.c. */
REC_EXPORT int pthread_create(void *thread, const void *attributes, void *(*start)(void *),
			      void *argument)
{
	struct rec_frame caller = REC_CALLER();
	int (*real)(void *, const void *, void *(*)(void *), void *) = REAL(pthread_create);
	struct tape_thread_create record = { .is_birth = 1 };
	struct other other;
	int result;

	if (unlikely(!real))
		return EAGAIN;
	if (likely(atomic_load(&rec.state) == REC_ON))
		record.handle = rec_birth_begin(&start, &argument);
	result = real(thread, attributes, start, argument);
	if (result != 0 && record.handle)
		rec_birth_cancel(argument);
	if (result != 0 || !record.handle)
		return result;
	other = other_begin(&caller);
	if (other.lane) {
		record.node = other_stack(&other, &caller);
		rec_note(other.lane, TAPE_EXT_THREAD_CREATE, &record, sizeof(record), NULL, 0);
	}
	other_end(&other);
	return result;
}

REC_EXPORT int pthread_setname_np(unsigned long thread, const char *name)
{
	struct rec_frame caller = REC_CALLER();
	int (*real)(unsigned long, const char *) = REAL(pthread_setname_np);
	int result = likely(real) ? real(thread, name) : ENOSYS;
	struct tape_thread record = { .handle = thread };
	struct other other = other_begin(&caller);

	if (other.lane && result == 0) {
		rec_note(other.lane, TAPE_EXT_THREAD_NAME, &record, sizeof(record), name,
			 strlen(name));
		rec_thread_name_given(thread, name);
	}
	other_end(&other);
	return result;
}

REC_EXPORT int fork(void)
{
	struct rec_frame caller = REC_CALLER();
	int (*real)(void) = REAL(fork);
	int pid;

	if (unlikely(!real))
		return missing();
	rec_fork_begin();
	pid = real();
	if (pid > 0)
		rec_note_path(TAPE_EXT_FORK, (uint32_t)pid, NULL, &caller);
	else if (pid == 0 && rec_forked(rec_is_interrupted(&rec_tls)) &&
		 !rec_is_interrupted(&rec_tls))
		rec_child();
	return pid;
}

/* A signal handler may call this: the rest is done at the child's first event. */
REC_EXPORT int _Fork(void)
{
	int (*real)(void) = REAL(_Fork);
	int pid;

	rec_fork_begin();
	if (!real)
		real = REAL(fork); /* never called for a libc without it */
	pid = real ? real() : missing();
	if (pid == 0)
		rec_forked(rec_is_interrupted(&rec_tls));
	return pid;
}

static void exit_now(int status) __attribute__((noreturn));
static void exit_now(int status)
{
	for (;;)
		SYS_CALL1(SYS_exit_group, status);
}

REC_EXPORT void _exit(int status)
{
	rec_end(status);
	rec_board_scan(REC_CALLER_SP());
	exit_now(status);
}

REC_EXPORT void _Exit(int status)
{
	rec_end(status);
	rec_board_scan(REC_CALLER_SP());
	exit_now(status);
}

REC_EXPORT void quick_exit(int status)
{
	void (*real)(int) = REAL(quick_exit);

	rec_end(status);
	if (!rec_scans_at_quick_exit())
		rec_board_scan(REC_CALLER_SP());
	if (real)
		real(status);
	exit_now(status);
}

/*
 * Of a followed process nobody but its parent sees the exit code. glibc tells it to handlers of this
 * kind, of which it has 32 places; musl has none. Ours runs after library_end(), for it is older.
 */
extern int on_exit(void (*handler)(int status, void *context), void *context) __attribute__((weak));

static void note_exit(int status, void *context)
{
	struct rec_frame here = { .sp = REC_CALLER_SP(),
				  .pc = (uintptr_t)__builtin_return_address(0) };
	const struct tape_end end = { .kind = TAPE_END_EXIT, .status = status & 0xff };
	struct rec_tls *tls = &rec_tls;
	struct rec_lane *lane;
	uint32_t phase;

	(void)context;
	if (atomic_load(&rec.state) != REC_ON || atomic_load(&rec.shared->epoch) == 0 ||
	    !rec_is_own_process())
		return;
	lane = rec_other_enter(tls, &here, &phase);
	if (!lane)
		return;
	rec_note(lane, TAPE_EXT_END, &end, sizeof(end), NULL, 0);
	rec_lane_leave(tls, lane, phase);
}

void rec_exit_watch(void)
{
	if (rec.options.follow && !rec_is_memusage && &on_exit)
		on_exit(note_exit, NULL);
}

/* libgcc's; a program that links it statically bypasses this. */
REC_EXPORT void __register_frame(const void *frames)
{
	void (*real)(const void *) = REAL(__register_frame);

	if (!real)
		real = (void (*)(const void *))rec_real_find_late("__register_frame",
								  __builtin_return_address(0));
	rec_jit_add(frames);
	if (real)
		real(frames);
}

REC_EXPORT void __deregister_frame(const void *frames)
{
	void (*real)(const void *) = REAL(__deregister_frame);

	if (!real)
		real = (void (*)(const void *))rec_real_find_late("__deregister_frame",
								  __builtin_return_address(0));
	rec_jit_remove(frames);
	if (real)
		real(frames);
}
