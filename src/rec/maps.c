/*
 * maps: hooks that are not allocations: mappings, the allocator's settings, loading of objects,
 * threads, fork and end. Recorded with their stack as extended records; none of them is hot.
 *
 * A mapping is recorded after it was made and an unmapping before, like allocations and frees.
 * System headers that declare these functions with other types are not included.
 */
#include "rec/rec.h"

#include <errno.h>
#include <stdatomic.h>

#include "core/poison.h"

/* The hooks' own declarations, as the ABI has them. */
void *mmap(void *hint, size_t bytes, int prot, int flags, int fd, int64_t offset);
void *mmap64(void *hint, size_t bytes, int prot, int flags, int fd, int64_t offset);
int munmap(void *ptr, size_t bytes);
void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, void *hint);
int mprotect(void *ptr, size_t bytes, int prot);
int madvise(void *ptr, size_t bytes, int advice);
int brk(void *end);
void *sbrk(intptr_t increment);
int mallopt(int key, int value);
int malloc_trim(size_t pad);
void *dlopen(const char *path, int flags);
void *dlmopen(long space, const char *path, int flags);
int dlclose(void *handle);
int pthread_create(void *thread, const void *attributes, void *(*start)(void *), void *argument);
int pthread_setname_np(unsigned long thread, const char *name);
int fork(void);
void _exit(int status) __attribute__((noreturn));
void _Exit(int status) __attribute__((noreturn));
void quick_exit(int status) __attribute__((noreturn));
void __register_frame(const void *frames);
void __deregister_frame(const void *frames);

/* A hook of this file while it records; lane NULL: it does not. */
struct other {
	struct rec_tls *tls;
	struct rec_lane *lane;
	uint32_t phase;
};

static struct other other_begin(const struct rec_frame *caller)
{
	struct other other = { .tls = &rec_tls };

	other.lane = rec_other_enter(other.tls, caller, &other.phase);
	if (other.lane && !rec_lane_sync(other.lane)) {
		if (other.tls->own)
			rec_lane_leave(other.tls, other.lane, other.phase);
		other.lane = NULL;
	}
	return other;
}

static void other_end(struct other *other)
{
	if (other->lane)
		rec_lane_leave(other->tls, other->lane, other->phase);
}

static uint32_t other_stack(const struct other *other, const struct rec_frame *caller)
{
	return rec.options.stacks ? rec_stack_take(other->lane, caller) : TAPE_NODE_NONE;
}

static REC_COLD void note_map(enum tape_extended type, struct tape_map map,
			      const struct rec_frame *caller)
{
	const int saved_errno = errno;
	struct other other = other_begin(caller);

	if (other.lane) {
		map.node = other_stack(&other, caller);
		rec_note(other.lane, type, &map, sizeof(map), NULL, 0);
	}
	other_end(&other);
	errno = saved_errno;
}

static REC_COLD void note_setting(enum tape_extended type, struct tape_setting setting,
				  const struct rec_frame *caller)
{
	const int saved_errno = errno;
	struct other other = other_begin(caller);

	if (other.lane) {
		setting.node = other_stack(&other, caller);
		rec_note(other.lane, type, &setting, sizeof(setting), NULL, 0);
	}
	other_end(&other);
	errno = saved_errno;
}

static REC_COLD void note_path(enum tape_extended type, uint32_t pid, const char *path,
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

/* Before the first hook of the allocation kind has been called, the real functions are not known.
 */
#define REAL(name) (likely(rec_real.name) ? 0 : (int)rec_start(), rec_real.name)

static void *mmap_hook(void *hint, size_t bytes, int prot, int flags, int fd, int64_t offset,
		       const struct rec_frame *caller)
{
	void *(*real)(void *, size_t, int, int, int, int64_t) = REAL(mmap);
	void *ptr;

	if (!real) {
		long result = sys_mmap(hint, bytes, prot, flags, fd, (uint64_t)offset);

		if (sys_failed(result))
			errno = (int)-result;
		return sys_failed(result) ? (void *)-1 : (void *)result;
	}
	ptr = real(hint, bytes, prot, flags, fd, offset);
	note_map(TAPE_EXT_MMAP,
		 (struct tape_map) { .address = (uint64_t)ptr,
				     .bytes = bytes,
				     .prot = prot,
				     .flags = flags,
				     .fd = fd,
				     .offset = (uint64_t)offset },
		 caller);
	return ptr;
}

REC_EXPORT void *mmap(void *hint, size_t bytes, int prot, int flags, int fd, int64_t offset)
{
	struct rec_frame caller = REC_CALLER();

	return mmap_hook(hint, bytes, prot, flags, fd, offset, &caller);
}

REC_EXPORT void *mmap64(void *hint, size_t bytes, int prot, int flags, int fd, int64_t offset)
{
	struct rec_frame caller = REC_CALLER();

	return mmap_hook(hint, bytes, prot, flags, fd, offset, &caller);
}

REC_EXPORT int munmap(void *ptr, size_t bytes)
{
	struct rec_frame caller = REC_CALLER();
	int (*real)(void *, size_t) = REAL(munmap);

	note_map(TAPE_EXT_MUNMAP, (struct tape_map) { .address = (uint64_t)ptr, .bytes = bytes },
		 &caller);
	return real ? real(ptr, bytes) : (int)sys_munmap(ptr, bytes);
}

REC_EXPORT void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, void *hint)
{
	struct rec_frame caller = REC_CALLER();
	void *(*real)(void *, size_t, size_t, int, void *) = REAL(mremap);
	void *ptr = real(old, old_bytes, bytes, flags, hint);

	note_map(TAPE_EXT_MREMAP,
		 (struct tape_map) { .address = (uint64_t)ptr,
				     .bytes = bytes,
				     .old_address = (uint64_t)old,
				     .old_bytes = old_bytes,
				     .flags = flags },
		 &caller);
	return ptr;
}

REC_EXPORT int mprotect(void *ptr, size_t bytes, int prot)
{
	struct rec_frame caller = REC_CALLER();
	int (*real)(void *, size_t, int) = REAL(mprotect);

	note_map(TAPE_EXT_MPROTECT,
		 (struct tape_map) { .address = (uint64_t)ptr, .bytes = bytes, .prot = prot },
		 &caller);
	return real(ptr, bytes, prot);
}

REC_EXPORT int madvise(void *ptr, size_t bytes, int advice)
{
	struct rec_frame caller = REC_CALLER();
	int (*real)(void *, size_t, int) = REAL(madvise);

	note_map(TAPE_EXT_MADVISE,
		 (struct tape_map) { .address = (uint64_t)ptr, .bytes = bytes, .flags = advice },
		 &caller);
	return real(ptr, bytes, advice);
}

REC_EXPORT int brk(void *end)
{
	struct rec_frame caller = REC_CALLER();
	int (*real)(void *) = REAL(brk);
	void *old = rec_real.sbrk ? rec_real.sbrk(0) : NULL;
	int result = real(end);

	note_map(TAPE_EXT_BRK,
		 (struct tape_map) { .address = result == 0 ? (uint64_t)end : UINT64_MAX,
				     .old_address = (uint64_t)old },
		 &caller);
	return result;
}

REC_EXPORT void *sbrk(intptr_t increment)
{
	struct rec_frame caller = REC_CALLER();
	void *(*real)(intptr_t) = REAL(sbrk);
	void *old = real(increment);

	if (increment != 0)
		note_map(TAPE_EXT_BRK,
			 (struct tape_map) {
				 .address = old == (void *)-1 ? UINT64_MAX
							      : (uint64_t)old + (uint64_t)increment,
				 .old_address = (uint64_t)old },
			 &caller);
	return old;
}

REC_EXPORT int mallopt(int key, int value)
{
	struct rec_frame caller = REC_CALLER();
	int (*real)(int, int) = REAL(mallopt);
	int result = real ? real(key, value) : 0;

	note_setting(TAPE_EXT_MALLOPT,
		     (struct tape_setting) { .key = key, .value = value, .result = result },
		     &caller);
	return result;
}

REC_EXPORT int malloc_trim(size_t pad)
{
	struct rec_frame caller = REC_CALLER();
	int (*real)(size_t) = REAL(malloc_trim);
	int result = real ? real(pad) : 0;

	note_setting(TAPE_EXT_MALLOC_TRIM,
		     (struct tape_setting) { .value = (int64_t)pad, .result = result }, &caller);
	return result;
}

/* Where nothing tells of a new object when a pc in it is met, list them now. */
static REC_COLD void scan_modules(const struct rec_frame *caller)
{
	const int saved_errno = errno;
	struct other other = other_begin(caller);

	if (other.lane)
		rec_modules_scan(other.lane);
	other_end(&other);
	errno = saved_errno;
}

/*
 * glibc looks at who called dlopen (RUNPATH, namespace): the real one must see our caller's return
 * address, so it is jumped to and nothing can be done after it. The objects it loads are met later,
 * through _dl_find_object.
 */
REC_EXPORT void *dlopen(const char *path, int flags)
{
	struct rec_frame caller = REC_CALLER();
	void *(*real)(const char *, int) = REAL(dlopen);
	void *handle;

	note_path(TAPE_EXT_DLOPEN, 0, path, &caller);
	if (likely(rec_real.find_object))
		return real(path, flags);
	handle = real(path, flags);
	scan_modules(&caller);
	return handle;
}

REC_EXPORT void *dlmopen(long space, const char *path, int flags)
{
	struct rec_frame caller = REC_CALLER();
	void *(*real)(long, const char *, int) = REAL(dlmopen);

	note_path(TAPE_EXT_DLOPEN, 0, path, &caller);
	return real(space, path, flags);
}

REC_EXPORT int dlclose(void *handle)
{
	struct rec_frame caller = REC_CALLER();
	int (*real)(void *) = REAL(dlclose);
	int result = real(handle);

	scan_modules(&caller);
	return result;
}

REC_EXPORT int pthread_create(void *thread, const void *attributes, void *(*start)(void *),
			      void *argument)
{
	struct rec_frame caller = REC_CALLER();
	int (*real)(void *, const void *, void *(*)(void *), void *) = REAL(pthread_create);
	struct tape_thread_create record = { .handle = 0 };
	int result = real(thread, attributes, start, argument);
	struct other other;

	if (result != 0)
		return result;
	other = other_begin(&caller);
	if (other.lane) {
		record.handle = *(const unsigned long *)thread;
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
	int result = real(thread, name);
	struct tape_thread record = { .handle = thread };
	struct other other = other_begin(&caller);

	if (other.lane && result == 0)
		rec_note(other.lane, TAPE_EXT_THREAD_NAME, &record, sizeof(record), name,
			 strlen(name));
	other_end(&other);
	return result;
}

REC_EXPORT int fork(void)
{
	struct rec_frame caller = REC_CALLER();
	int (*real)(void) = REAL(fork);
	int pid = real();

	if (pid > 0)
		note_path(TAPE_EXT_FORK, (uint32_t)pid, NULL, &caller);
	else if (pid == 0 && atomic_load(&rec.state) == REC_ON &&
		 atomic_load(&rec.shared->epoch) == 0)
		rec_child();
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
	exit_now(status);
}

REC_EXPORT void _Exit(int status)
{
	rec_end(status);
	exit_now(status);
}

REC_EXPORT void quick_exit(int status)
{
	void (*real)(int) = REAL(exit_quick);

	rec_end(status);
	if (real)
		real(status);
	exit_now(status);
}

/* libgcc's; a program that has it linked in statically does not come here. */
REC_EXPORT void __register_frame(const void *frames)
{
	void (*real)(const void *) = REAL(register_frame);

	if (!real)
		real = (void (*)(const void *))rec_real_find_late("__register_frame",
								  __builtin_return_address(0));
	rec_jit_add(frames);
	if (real)
		real(frames);
}

REC_EXPORT void __deregister_frame(const void *frames)
{
	struct rec_frame caller = REC_CALLER();
	void (*real)(const void *) = REAL(deregister_frame);
	struct other other = other_begin(&caller);

	if (!real)
		real = (void (*)(const void *))rec_real_find_late("__deregister_frame",
								  __builtin_return_address(0));
	rec_jit_remove(other.lane, frames);
	other_end(&other);
	if (real)
		real(frames);
}
