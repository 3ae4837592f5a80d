/*
 * maps: hooks of mappings and of the allocator's settings, recorded with their stack as extended
 * records; none of them is hot.
 *
 * A mapping is recorded after it was made and an unmapping before, like allocations and frees.
 * Allocators call these with their locks held, even before recording has begun: nothing here may
 * allocate, or wait for the loader. System headers that declare these functions with other types
 * are not included.
 */
#include "rec/calls.h"
#include "rec/other.h"

#include <errno.h>

#include "core/poison.h"

enum { PROT_CODE = 4 /* PROT_EXEC */ };

/* The hooks' own declarations, as the ABI has them. */
void *mmap(void *hint, size_t bytes, int prot, int flags, int fd, arch_offset offset);
void *mmap64(void *hint, size_t bytes, int prot, int flags, int fd, arch_offset offset);
int munmap(void *ptr, size_t bytes);
void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, void *hint);
int mprotect(void *ptr, size_t bytes, int prot);
int madvise(void *ptr, size_t bytes, int advice);
int brk(void *end);
void *sbrk(intptr_t increment);
int mallopt(int key, int value);
int malloc_trim(size_t pad);

static bool is_counted(enum tape_extended type)
{
	return type == TAPE_EXT_MMAP || type == TAPE_EXT_MUNMAP || type == TAPE_EXT_MREMAP;
}

static REC_COLD void note_map(enum tape_extended type, struct tape_map map,
			      const struct rec_frame *caller)
{
	const int saved_errno = errno;
	struct other other = other_begin(caller);

	if (other.lane && rec.options.maps && is_counted(type)) {
		rec_calls_map(other.lane, type, &map, caller);
	} else if (other.lane) {
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

/* Converts a system call's result as libc does. */
static long told(long result)
{
	if (!sys_failed(result))
		return result;
	errno = (int)-result;
	return -1;
}

typedef void *mmap_function(void *, size_t, int, int, int, arch_offset);

/* is_wide: the offset has 64 bits, whatever a long has. */
static void *mmap_hook(mmap_function *real, bool is_wide, void *hint, size_t bytes, int prot,
		       int flags, int fd, arch_offset offset, const struct rec_frame *caller)
{
	const uint64_t offset_bytes = arch_offset_bytes(offset, is_wide);
	void *ptr;

	if (likely(real))
		ptr = real(hint, bytes, prot, flags, fd, offset);
	else
		ptr = (void *)told(sys_mmap(hint, bytes, prot, flags, fd, offset_bytes));
	if (prot & PROT_CODE && ptr != (void *)-1)
		rec_code_add((uintptr_t)ptr, bytes);
	note_map(TAPE_EXT_MMAP,
		 (struct tape_map) { .address = (uintptr_t)ptr,
				     .bytes = bytes,
				     .prot = prot,
				     .flags = arch_map_flags(flags),
				     .fd = fd,
				     .offset = offset_bytes },
		 caller);
	return ptr;
}

REC_EXPORT void *mmap(void *hint, size_t bytes, int prot, int flags, int fd, arch_offset offset)
{
	struct rec_frame caller = REC_CALLER();

	return mmap_hook(REAL(mmap), rec_libc_is_musl(), hint, bytes, prot, flags, fd, offset,
			 &caller);
}

REC_EXPORT void *mmap64(void *hint, size_t bytes, int prot, int flags, int fd, arch_offset offset)
{
	struct rec_frame caller = REC_CALLER();

	mmap_function *real = REAL(mmap64);

	/* newer ones of musl; glibc's, in libmemtape.a, may have an offset of 32 bits */
	if (!real && (ARCH_WORD_BYTES == 8 || rec_libc_is_musl()))
		real = REAL(mmap);
	return mmap_hook(real, true, hint, bytes, prot, flags, fd, offset, &caller);
}

REC_EXPORT int munmap(void *ptr, size_t bytes)
{
	struct rec_frame caller = REC_CALLER();
	int (*real)(void *, size_t) = REAL(munmap);

	note_map(TAPE_EXT_MUNMAP, (struct tape_map) { .address = (uintptr_t)ptr, .bytes = bytes },
		 &caller);
	return likely(real) ? real(ptr, bytes) : (int)told(sys_munmap(ptr, bytes));
}

REC_EXPORT void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, void *hint)
{
	struct rec_frame caller = REC_CALLER();
	void *(*real)(void *, size_t, size_t, int, void *) = REAL(mremap);
	void *ptr = likely(real) ? real(old, old_bytes, bytes, flags, hint)
				 : (void *)told(sys_call6(SYS_mremap, (long)old, (long)old_bytes,
							  (long)bytes, flags, (long)hint, 0));

	note_map(TAPE_EXT_MREMAP,
		 (struct tape_map) { .address = (uintptr_t)ptr,
				     .bytes = bytes,
				     .old_address = (uintptr_t)old,
				     .old_bytes = old_bytes,
				     .flags = flags },
		 &caller);
	return ptr;
}

REC_EXPORT int mprotect(void *ptr, size_t bytes, int prot)
{
	struct rec_frame caller = REC_CALLER();
	int (*real)(void *, size_t, int) = REAL(mprotect);

	if (prot & PROT_CODE)
		rec_code_add((uintptr_t)ptr, bytes);
	note_map(TAPE_EXT_MPROTECT,
		 (struct tape_map) { .address = (uintptr_t)ptr, .bytes = bytes, .prot = prot },
		 &caller);
	return likely(real) ? real(ptr, bytes, prot)
			    : (int)told(SYS_CALL3(SYS_mprotect, ptr, bytes, prot));
}

REC_EXPORT int madvise(void *ptr, size_t bytes, int advice)
{
	struct rec_frame caller = REC_CALLER();
	int (*real)(void *, size_t, int) = REAL(madvise);

	note_map(TAPE_EXT_MADVISE,
		 (struct tape_map) { .address = (uintptr_t)ptr, .bytes = bytes, .flags = advice },
		 &caller);
	return likely(real) ? real(ptr, bytes, advice)
			    : (int)told(SYS_CALL3(SYS_madvise, ptr, bytes, advice));
}

REC_EXPORT int brk(void *end)
{
	struct rec_frame caller = REC_CALLER();
	int (*real)(void *) = REAL(brk);
	void *(*end_now)(intptr_t) = REAL(sbrk);
	void *old = end_now ? end_now(0) : NULL;
	int result;

	if (unlikely(!real)) { /* libc must know the break: not behind its back */
		errno = ENOMEM;
		return -1;
	}
	result = real(end);
	note_map(TAPE_EXT_BRK,
		 (struct tape_map) { .address = result == 0 ? (uintptr_t)end : UINT64_MAX,
				     .old_address = (uintptr_t)old },
		 &caller);
	return result;
}

REC_EXPORT void *sbrk(intptr_t increment)
{
	struct rec_frame caller = REC_CALLER();
	void *(*real)(intptr_t) = REAL(sbrk);
	void *old;

	if (unlikely(!real)) {
		errno = ENOMEM;
		return (void *)-1;
	}
	old = real(increment);
	if (increment != 0)
		note_map(TAPE_EXT_BRK,
			 (struct tape_map) { .address =
						     old == (void *)-1
							     ? UINT64_MAX
							     : (uintptr_t)old + (uint64_t)increment,
					     .old_address = (uintptr_t)old },
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
