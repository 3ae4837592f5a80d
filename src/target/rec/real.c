/*
 * real: the functions behind the hooks.
 *
 * dlsym() of an existing name allocates nothing in glibc; of a missing one it does (the error's
 * text), from a malloc that may be the program's own and locked. So it is called only for names
 * that symbols.c has found.
 *
 * glibc before 2.34 has parts of what we need in libdl and libpthread, which the program need not have:
 * they are looked for by name, so that one library runs with old ones and new ones.
 */
#include "rec/attach.h"
#include "rec/symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>

#include "core/poison.h"

struct rec_real rec_real;

const bool rec_is_linked = false;

void *rec_libc_function(const char *name)
{
	struct rec_symbol known;

	CHECK(name);
	return rec_symbol_any(name, &known) && !known.is_resolver ? (void *)(uintptr_t)known.address
								  : NULL;
}

/*
 * glibc before 2.34 has dlsym() in libdl, which a program need not have loaded: then nobody has asked
 * for a name with a handle, and the rest is found here. It may be loaded later.
 */
static void *symbol_find(void *handle, const char *name)
{
	void *own = rec_libc_function("dlsym");
	struct rec_symbol known;
	bool is_found = false;

	if (own) {
		rec_dlsym = (void *(*)(void *, const char *))own;
		return rec_dlsym(handle, name);
	}
	if (handle == RTLD_NEXT)
		is_found = rec_symbol_next(name, &known);
	else if (handle == RTLD_DEFAULT)
		is_found = rec_symbol_any(name, &known);
	return is_found && !known.is_resolver ? (void *)(uintptr_t)known.address : NULL;
}

void *(*rec_dlsym)(void *handle, const char *name) = symbol_find;

struct real_row {
	const char *symbol;
	size_t offset;
};

/* malloc and its like first: the rest may need them. */
static const struct real_row REAL_ROWS[] = {
#define HOOK_REAL(symbol, result, parameters) { #symbol, offsetof(struct rec_real, symbol) },
#include "rec/hooks.def"
};

/* --- which object an address is in ----------------------------------------------------------- */

struct whose {
	uint64_t address;
	uint64_t begin;	  /* of its first part in memory */
	const char *name; /* of its file; the executable's may be empty */
	bool is_found;
};

static int whose_visit(struct dl_phdr_info *info, size_t bytes, void *context)
{
	struct whose *whose = context;

	(void)bytes;
	whose->begin = 0;
	for (unsigned i = 0; i < info->dlpi_phnum && !whose->is_found; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		const uint64_t begin = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD)
			continue;
		if (whose->begin == 0)
			whose->begin = begin;
		whose->is_found = whose->address - begin < part->p_memsz;
	}
	whose->name = info->dlpi_name;
	return whose->is_found;
}

/* As dladdr(), which old ones of glibc have in libdl. */
static bool whose_find(const void *address, struct whose *whose_ret)
{
	*whose_ret = (struct whose) { .address = (uintptr_t)address };
	rec_objects_each(whose_visit, whose_ret);
	return whose_ret->is_found;
}

/* --- the table ------------------------------------------------------------------------------- */

/*
 * A preloaded allocator may provide malloc but not malloc_usable_size; another one's must not be
 * called on its blocks. A program that calls it gets the one it would have reached.
 */
static bool same_object(const char *a, const char *b)
{
	bool (*find)(const char *, struct rec_symbol *) =
		rec_is_attach ? rec_symbol_any : rec_symbol_next;
	struct rec_symbol known_a, known_b;

	return find(a, &known_a) && find(b, &known_b) && known_a.dynamic == known_b.dynamic;
}

/* As found at start: without additions by rec_real_find_late(). */
static struct rec_real found;

/*
 * The table is filled aside and installed at once: an allocator called meanwhile must not find
 * it half empty.
 */
void rec_real_find(void)
{
	void *own = rec_libc_function("dlsym");

	if (own)
		rec_dlsym = (void *(*)(void *, const char *))own;
	for (size_t i = 0; i < array_size(REAL_ROWS); i++) {
		struct rec_symbol known;
		void *symbol = NULL;

		/*
		 * In a process that was not started with us we are behind everybody, so there is
		 * nobody next to us: the function is whose that defines it first. dlsym() would
		 * give an executable's own way to it, which leads to us.
		 */
		if (rec_is_attach)
			symbol = rec_libc_function(REAL_ROWS[i].symbol);
		else if (rec_symbol_next(REAL_ROWS[i].symbol, &known))
			symbol = rec_dlsym(RTLD_NEXT, REAL_ROWS[i].symbol);
		memcpy((uint8_t *)&found + REAL_ROWS[i].offset, &symbol, sizeof(symbol));
	}
	if (found.malloc_usable_size && same_object("malloc", "malloc_usable_size"))
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

		if ((uintptr_t)*kept == real)
			*kept = (void *)(uintptr_t)way;
		if ((uintptr_t)*place == real)
			__atomic_store_n(place, (void *)(uintptr_t)way, __ATOMIC_RELEASE);
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
			return (void *)(uintptr_t)known.address;
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
	struct whose whose, own;

	if (!rec_symbol_any(symbol, &known))
		return NULL;
	if (whose_find(caller, &whose) && rec_real.dlopen)
		handle = rec_real.dlopen(whose.name && *whose.name ? whose.name : NULL,
					 RTLD_LAZY | RTLD_NOLOAD);
	if (handle) {
		late = rec_dlsym(handle, symbol);
		rec_real.dlclose(handle);
		if (!late) /* the failure must not show in the program's dlerror() */
			rec_dlsym(RTLD_DEFAULT, "malloc");
	}
	errno = saved_errno;
	if (late && whose_find(late, &whose) &&
	    whose_find((const void *)(uintptr_t)&rec_real_find_late, &own) &&
	    whose.begin == own.begin)
		return NULL; /* only ourselves */
	return late;
}
