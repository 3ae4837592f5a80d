/*
 * real: the functions behind the hooks.
 *
 * dlsym() of an existing name allocates nothing in glibc; of a missing one it does (the error's
 * text), from a malloc that may be the program's own and locked. So it is called only for names
 * that symbols.c has found.
 */
#include "rec/attach.h"
#include "rec/symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

#include "core/poison.h"

struct rec_real rec_real;

void *(*rec_dlsym)(void *handle, const char *name) = dlsym;

const bool rec_is_linked = false;

struct real_row {
	const char *symbol;
	size_t offset;
};

/* malloc and its like first: the rest may need them. */
static const struct real_row REAL_ROWS[] = {
#define HOOK_REAL(symbol, result, parameters) { #symbol, offsetof(struct rec_real, symbol) },
#include "rec/hooks.def"
};

/*
 * A preloaded allocator may provide malloc but not malloc_usable_size; another one's must not be
 * called on its blocks. A program that calls it gets the one it would have reached.
 */
static bool same_object(const void *a, const void *b)
{
	Dl_info info_a;
	Dl_info info_b;

	return dladdr(a, &info_a) && dladdr(b, &info_b) && info_a.dli_fbase == info_b.dli_fbase;
}

/*
 * In a process that was not started with us we are behind everybody, so there is nobody next to us:
 * the function is whose that defines it first. dlsym() would give an executable's own way to it,
 * which leads to us.
 */
static void *attached_real(const char *name)
{
	struct rec_symbol known;

	return rec_symbol_any(name, &known) && !known.is_resolver ? (void *)known.address : NULL;
}

/* As found at start: without additions by rec_real_find_late(). */
static struct rec_real found;

/*
 * The table is filled aside and installed at once: an allocator called meanwhile must not find
 * it half empty.
 */
void rec_real_find(void)
{
	struct rec_symbol own;

	if (rec_symbol_any("dlsym", &own) && !own.is_resolver)
		rec_dlsym = (void *(*)(void *, const char *))own.address;
	for (size_t i = 0; i < array_size(REAL_ROWS); i++) {
		struct rec_symbol known;
		void *symbol = NULL;

		if (rec_is_attach)
			symbol = attached_real(REAL_ROWS[i].symbol);
		else if (rec_symbol_next(REAL_ROWS[i].symbol, &known))
			symbol = rec_dlsym(RTLD_NEXT, REAL_ROWS[i].symbol);
		memcpy((uint8_t *)&found + REAL_ROWS[i].offset, &symbol, sizeof(symbol));
	}
	if (found.malloc_usable_size &&
	    same_object((const void *)found.malloc, (const void *)found.malloc_usable_size))
		found.usable_size = found.malloc_usable_size;
	rec_inline_found(&found);
	rec_real = found;
	rec_syscall_find();
}

void rec_real_divert(uint64_t real, uint64_t way)
{
	for (size_t i = 0; i < array_size(REAL_ROWS); i++) {
		void **place = (void **)((uint8_t *)&rec_real + REAL_ROWS[i].offset);
		void **kept = (void **)((uint8_t *)&found + REAL_ROWS[i].offset);

		if ((uint64_t)*kept == real)
			*kept = (void *)way;
		if ((uint64_t)*place == real)
			__atomic_store_n(place, (void *)way, __ATOMIC_RELEASE);
	}
}

/*
 * Not kept: its object, if loaded before recording begins, may be gone by then. An IFUNC's resolver
 * is not called this early; no wrapper of a system call has one.
 */
void *rec_real_early(size_t offset)
{
	const uint32_t state = atomic_load(&rec.state);
	struct rec_symbol known;

	CHECK(offset < sizeof(rec_real) && offset % sizeof(void *) == 0);
	if (state != REC_UNBORN && state != REC_STARTING)
		return NULL; /* it would be in rec_real */
	for (size_t i = 0; i < array_size(REAL_ROWS); i++)
		if (REAL_ROWS[i].offset == offset && rec_symbol_next(REAL_ROWS[i].symbol, &known) &&
		    !known.is_resolver)
			return (void *)known.address;
	return NULL;
}

/* Before and after an object is unloaded: late ones may have been found there. */
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
		late = rec_dlsym(handle, symbol);
		rec_real.dlclose(handle);
		if (!late) /* the failure must not show in the program's dlerror() */
			rec_dlsym(RTLD_DEFAULT, "malloc");
	}
	errno = saved_errno;
	if (late && rec_real.malloc &&
	    same_object(late, (const void *)(uintptr_t)&rec_real_find_late))
		return NULL; /* only ourselves */
	return late;
}
