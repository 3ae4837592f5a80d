/*
 * real: the functions behind the hooks, and a pool that answers before they are known.
 *
 * dlsym() of a name that exists allocates nothing in glibc; of a missing one it does (the error's
 * text), from a malloc that may be the program's own and locked. So it is asked for names only that
 * symbols.c has found.
 */
#include "rec/rec.h"
#include "rec/symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

#include "core/poison.h"

enum { POOL_HEADER = 16 };

struct rec_real rec_real;

/* Bump allocator; each block is preceded by its size. Never given back. */
_Alignas(4096) uint8_t rec_pool[REC_POOL_BYTES];
static _Atomic size_t pool_used;

void *rec_pool_alloc(size_t bytes, size_t align)
{
	size_t used = atomic_load(&pool_used);
	size_t begin;
	size_t end;

	if (align < 16)
		align = 16;
	do {
		if (size_add_overflows(used, POOL_HEADER + align - 1, &begin))
			return NULL;
		begin &= ~(align - 1);
		if (size_add_overflows(begin, bytes, &end) || end > REC_POOL_BYTES)
			return NULL;
	} while (!atomic_compare_exchange_weak(&pool_used, &used, end));
	store_u64(rec_pool + begin - POOL_HEADER, bytes);
	return rec_pool + begin;
}

size_t rec_pool_usable(const void *ptr)
{
	return (size_t)load_u64((const uint8_t *)ptr - POOL_HEADER);
}

struct real_row {
	const char *symbol;
	size_t offset;
};

#define ROW(member, symbol)                                                                        \
	{                                                                                          \
		symbol, offsetof(struct rec_real, member)                                          \
	}

/* malloc and its like first: the rest may need them. */
static const struct real_row REAL_ROWS[] = {
	ROW(malloc, "malloc"),
	ROW(calloc, "calloc"),
	ROW(realloc, "realloc"),
	ROW(free, "free"),
	ROW(usable_size_asked, "malloc_usable_size"),
	ROW(memalign, "memalign"),
	ROW(aligned_alloc, "aligned_alloc"),
	ROW(posix_memalign, "posix_memalign"),
	ROW(valloc, "valloc"),
	ROW(pvalloc, "pvalloc"),
	ROW(reallocarray, "reallocarray"),
	ROW(cfree, "cfree"),
	ROW(free_sized, "free_sized"),
	ROW(free_aligned_sized, "free_aligned_sized"),
	ROW(new, "_Znwm"),
	ROW(new_array, "_Znam"),
	ROW(new_nothrow, "_ZnwmRKSt9nothrow_t"),
	ROW(new_array_nothrow, "_ZnamRKSt9nothrow_t"),
	ROW(new_aligned, "_ZnwmSt11align_val_t"),
	ROW(new_array_aligned, "_ZnamSt11align_val_t"),
	ROW(new_aligned_nothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t"),
	ROW(new_array_aligned_nothrow, "_ZnamSt11align_val_tRKSt9nothrow_t"),
	ROW(delete, "_ZdlPv"),
	ROW(delete_array, "_ZdaPv"),
	ROW(delete_nothrow, "_ZdlPvRKSt9nothrow_t"),
	ROW(delete_array_nothrow, "_ZdaPvRKSt9nothrow_t"),
	ROW(delete_sized, "_ZdlPvm"),
	ROW(delete_array_sized, "_ZdaPvm"),
	ROW(delete_aligned, "_ZdlPvSt11align_val_t"),
	ROW(delete_array_aligned, "_ZdaPvSt11align_val_t"),
	ROW(delete_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t"),
	ROW(delete_array_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t"),
	ROW(delete_sized_aligned, "_ZdlPvmSt11align_val_t"),
	ROW(delete_array_sized_aligned, "_ZdaPvmSt11align_val_t"),
	ROW(mmap, "mmap"),
	ROW(munmap, "munmap"),
	ROW(mremap, "mremap"),
	ROW(mprotect, "mprotect"),
	ROW(madvise, "madvise"),
	ROW(brk, "brk"),
	ROW(sbrk, "sbrk"),
	ROW(mallopt, "mallopt"),
	ROW(malloc_trim, "malloc_trim"),
	ROW(dlopen, "dlopen"),
	ROW(dlmopen, "dlmopen"),
	ROW(dlclose, "dlclose"),
	ROW(pthread_create, "pthread_create"),
	ROW(pthread_setname_np, "pthread_setname_np"),
	ROW(fork, "fork"),
	ROW(fork_plain, "_Fork"),
	ROW(prctl, "prctl"),
	ROW(execve, "execve"),
	ROW(execv, "execv"),
	ROW(execvp, "execvp"),
	ROW(execvpe, "execvpe"),
	ROW(fexecve, "fexecve"),
	ROW(exit_now, "_exit"),
	ROW(exit_quick, "quick_exit"),
	ROW(register_frame, "__register_frame"),
	ROW(deregister_frame, "__deregister_frame"),
	ROW(find_object, "_dl_find_object"),
};

/*
 * A preloaded allocator may bring malloc and not malloc_usable_size; that of another must not be
 * asked about its blocks. A program that does is answered by the one it would have reached.
 */
static bool same_object(const void *a, const void *b)
{
	Dl_info info_a;
	Dl_info info_b;

	return dladdr(a, &info_a) && dladdr(b, &info_b) && info_a.dli_fbase == info_b.dli_fbase;
}

/* As found at start: without what rec_real_find_late() has added. */
static struct rec_real found;

/*
 * The table is filled aside and put in place at once: an allocator that is woken up meanwhile must
 * not find half of its world missing.
 */
void rec_real_find(void)
{
	for (size_t i = 0; i < array_size(REAL_ROWS); i++) {
		struct rec_symbol known;
		void *symbol = NULL;

		if (rec_symbol_next(REAL_ROWS[i].symbol, &known))
			symbol = dlsym(RTLD_NEXT, REAL_ROWS[i].symbol);
		memcpy((uint8_t *)&found + REAL_ROWS[i].offset, &symbol, sizeof(symbol));
	}
	if (found.usable_size_asked &&
	    same_object((const void *)found.malloc, (const void *)found.usable_size_asked))
		found.malloc_usable_size = found.usable_size_asked;
	rec_real = found;
	rec_syscall_find();
}

/*
 * Not kept: whoever is loaded before recording begins may be gone then. An IFUNC's resolver is not
 * called this early; nobody who wraps a system call has one.
 */
void *rec_real_early(size_t offset)
{
	const uint32_t state = atomic_load(&rec.state);
	struct rec_symbol known;

	if (state != REC_UNBORN && state != REC_STARTING)
		return NULL; /* it would be in rec_real */
	for (size_t i = 0; i < array_size(REAL_ROWS); i++)
		if (REAL_ROWS[i].offset == offset && rec_symbol_next(REAL_ROWS[i].symbol, &known) &&
		    !known.is_resolver)
			return (void *)known.address;
	return NULL;
}

/* Before and after an object is unloaded: it may be where late ones were found. */
void rec_real_forget_late(void)
{
	if (!rec_real.malloc)
		return; /* none yet */
	for (size_t i = 0; i < array_size(REAL_ROWS); i++) {
		const size_t offset = REAL_ROWS[i].offset;
		void *symbol;

		memcpy(&symbol, (const uint8_t *)&found + offset, sizeof(symbol));
		__atomic_store_n((void **)((uint8_t *)&rec_real + offset), symbol,
				 __ATOMIC_RELAXED);
	}
}

/*
 * A C program that dlopens a C++ library calls our operators, which are in the global scope, but
 * the real ones are not: ask the caller's object, whose dependencies include its C++ library.
 */
void *rec_real_find_late(const char *symbol, const void *caller)
{
	const int saved_errno = errno;
	struct rec_symbol known;
	void *handle = NULL;
	void *late = NULL;
	Dl_info info;

	if (!rec_symbol_any(symbol, &known))
		return NULL;
	if (dladdr(caller, &info) && info.dli_fname && rec_real.dlopen)
		handle = rec_real.dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (handle) {
		late = dlsym(handle, symbol);
		rec_real.dlclose(handle);
		if (!late) /* the failure is not the program's dlerror() */
			dlsym(RTLD_NEXT, "malloc");
	}
	errno = saved_errno;
	if (late && rec_real.malloc &&
	    same_object(late, (const void *)(uintptr_t)&rec_real_find_late))
		return NULL; /* only ourselves */
	return late;
}
