/*
 * linked: what takes the place of real.c and symbols.c in libmemtape.a. There the linker knows the real
 * functions, and the only object is the program, of which we are a part.
 */
#include "rec/attach.h"
#include "rec/symbols.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>

#include "core/poison.h"

const bool rec_is_linked = true;

struct rec_real rec_real;

#define LINKED(symbol)	     extern char __real_##symbol[];
#define LINKED_MAYBE(symbol) extern char __real_##symbol[] __attribute__((weak));
#include "rec/linked.def"
#undef LINKED
#undef LINKED_MAYBE
extern char __real_syscall[];

/* By this note memtape knows that the program records itself: collect/program.c. */
__asm__(".pushsection .note.memtape, \"a\", %note\n"
	".balign 4\n"
	".long 8, 0, 1\n"
	".asciz \"memtape\"\n"
	".popsection");

static void real_fill(void)
{
#define LINKED(symbol)	     rec_real.symbol = (__typeof__(rec_real.symbol))(void *)__real_##symbol;
#define LINKED_MAYBE(symbol) LINKED(symbol)
#include "rec/linked.def"
#undef LINKED
#undef LINKED_MAYBE
	rec_real.usable_size = rec_real.malloc_usable_size;
}

void rec_real_find(void)
{
	real_fill();
	rec_syscall_find();
}

/* Hooks may be called before anything else of ours, while the C library begins. */
void *rec_real_early(size_t offset)
{
	void *real;

	CHECK(offset < sizeof(rec_real) && offset % sizeof(void *) == 0);
	real_fill();
	memcpy(&real, (const uint8_t *)&rec_real + offset, sizeof(real));
	return real;
}

void rec_real_forget_late(void)
{
}

void *rec_real_find_late(const char *symbol, const void *caller)
{
	(void)symbol;
	(void)caller;
	return NULL;
}

/* Nobody attaches to a program that has the recorder. */
void rec_real_divert(uint64_t real, uint64_t way)
{
	(void)real;
	(void)way;
}

/* There is one name that we look up. */
static void *linked_symbol(void *handle, const char *name)
{
	(void)handle;
	return strcmp(name, "syscall") == 0 ? (void *)__real_syscall : NULL;
}

void *(*rec_dlsym)(void *handle, const char *name) = linked_symbol;

void *rec_libc_function(const char *name)
{
	if (strcmp(name, "pthread_key_create") == 0)
		return (void *)pthread_key_create;
	return strcmp(name, "pthread_setspecific") == 0 ? (void *)pthread_setspecific : NULL;
}

bool rec_symbol_next(const char *name, struct rec_symbol *symbol_ret)
{
	(void)name;
	(void)symbol_ret;
	return false;
}

bool rec_symbol_in(const struct link_map *map, const char *name, struct rec_symbol *symbol_ret)
{
	(void)map;
	return rec_symbol_next(name, symbol_ret);
}

bool rec_symbol_any(const char *name, struct rec_symbol *symbol_ret)
{
	return rec_symbol_next(name, symbol_ret);
}

bool rec_object_is_own(const void *dynamic)
{
	(void)dynamic;
	return true;
}

/* The linker's: where the program's first page is. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/*
 * The C library may call malloc before it knows of its program's headers what dl_iterate_phdr() says;
 * the kernel has said it to both.
 */
int rec_objects_each(int (*visit)(struct dl_phdr_info *info, size_t bytes, void *context),
		     void *context)
{
	struct dl_phdr_info info = {
		.dlpi_name = "",
		.dlpi_phdr = (const ElfW(Phdr) *)getauxval(AT_PHDR),
		.dlpi_phnum = (ElfW(Half))getauxval(AT_PHNUM),
	};
	unsigned first = 0;

	while (first < info.dlpi_phnum && info.dlpi_phdr[first].p_type != PT_LOAD)
		first++;
	if (first == info.dlpi_phnum)
		return 0;
	info.dlpi_addr = (uintptr_t)&__ehdr_start - info.dlpi_phdr[first].p_vaddr;
	return visit(&info, sizeof(info), context);
}
