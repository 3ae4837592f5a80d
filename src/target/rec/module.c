/*
 * module: the object that contains a pc, and the pc's rule.
 *
 * Objects are listed with dl_iterate_phdr at start and after dlclose, never at an event: it locks.
 * One that appears in between is found through _dl_find_object (glibc 2.35 and later), which does
 * not lock, when a pc in it is first seen. Where that is missing, dlopen lists them (init.c).
 *
 * The table only grows; an entry whose object is gone is dead. Readers take no lock: an entry is
 * complete before `module_count` covers it.
 */
#include "rec/attach.h"
#include "rec/symbols.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <sys/auxv.h>

#include "core/hash.h"
#include "rec/log.h"
#include "rec/path.h"

#include "core/poison.h"

enum { MODULES_MAX = 4096, JIT_MAX = 16384, BUILD_ID_MAX = 64, FIND_OBJECT_WORDS = 16 };
enum { PATHS_BYTES = REC_RUN_BYTES + REC_PATH_BYTES };

struct rec_module {
	struct unwind_object object;
	const char *path; /* the loader's; "" for the program itself */
	const ElfW(Phdr) * phdr;
	uint32_t phdr_count;
	uint32_t id;
	uint32_t build_id_hash;
	_Atomic bool live;
	uint64_t seen; /* the last scan that found it */
};

static struct rec_module modules[MODULES_MAX];
static uint32_t next_id; /* on this tape: the program's is 0 */
static _Atomic uint32_t module_count;

/* .eh_frame sections registered by JIT compilers; NULL: a free entry. */
static const uint8_t *_Atomic jit_frames[JIT_MAX];
static _Atomic uint32_t jit_count;
static _Atomic uint32_t jit_readers;

/* Of scans; the loader's lock is taken before module_lock: its callbacks may allocate. */
static _Atomic uint64_t scan_last;

static struct rec_module *module_find(uint64_t pc)
{
	const uint32_t count = atomic_load_explicit(&module_count, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++)
		if (modules[i].object.begin <= pc && pc < modules[i].object.end &&
		    atomic_load_explicit(&modules[i].live, memory_order_relaxed))
			return &modules[i];
	return NULL;
}

/* The GNU build-id note; returns its size, 0: none. */
static uint32_t build_id_find(const struct rec_module *module, const uint8_t **id_ret)
{
	for (uint32_t i = 0; i < module->phdr_count; i++) {
		const ElfW(Phdr) *phdr = &module->phdr[i];
		const uint8_t *note =
			(const uint8_t *)(uintptr_t)(module->object.bias + phdr->p_vaddr);
		uint64_t rest = phdr->p_memsz;

		if (phdr->p_type != PT_NOTE)
			continue;
		while (rest >= sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *header = (const ElfW(Nhdr) *)note;
			uint64_t name = align_up(header->n_namesz, 4);
			uint64_t bytes = sizeof(*header) + name + align_up(header->n_descsz, 4);

			if (bytes > rest)
				break;
			if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 &&
			    memcmp(note + sizeof(*header), "GNU", 4) == 0 &&
			    header->n_descsz <= BUILD_ID_MAX) {
				*id_ret = note + sizeof(*header) + name;
				return header->n_descsz;
			}
			note += bytes;
			rest -= bytes;
		}
	}
	return 0;
}

/* "DIRECTORY/" that a name like ./plugin.so is relative to, as far as known; 0: none. */
static size_t path_directory(char *out, size_t room)
{
	const long bytes = rec_may_call() ? SYS_CALL2(SYS_getcwd, out, room) : 0;
	/* with the NUL that becomes a slash */

	if (bytes <= 1 || out[0] != '/')
		return 0;
	out[bytes - 1] = '/';
	return out[bytes - 2] == '/' ? (size_t)bytes - 1 : (size_t)bytes;
}

/*
 * The loader lists the program first, without a name; so does musl the vDSO, later. Where the
 * program was run by a link, its own path is behind that.
 */
static size_t module_path(const struct rec_module *module, char *out, size_t room)
{
	const char *path = module->path ? module->path : "";
	size_t dir = 0;
	size_t path_bytes;

	if (!path[0] && module->id != 0)
		path = "[vdso]";
	if (path[0]) {
		if (path[0] != '/' && strchr(path, '/'))
			dir = path_directory(out, room);
		path_bytes = strnlen(path, room - dir);
		memcpy(out + dir, path, path_bytes);
		return dir + path_bytes;
	}
	path = rec_path_run();
	if (*path) {
		dir = strlen(path) + 1;
		memcpy(out, path, dir);
	}
	return rec_may_call() ? dir + rec_path_exe(out + dir, room - dir) : dir;
}

/* Under module_lock: the text is too large for a small stack, a handler's or a thread's. */
static void module_note(struct rec_lane *lane, const struct rec_module *module)
{
	static char tail[BUILD_ID_MAX + PATHS_BYTES];
	const uint8_t *build_id = NULL;
	struct tape_module record = {
		.id = module->id,
		.build_id_bytes = build_id_find(module, &build_id),
		.bias = module->object.bias,
		.begin = module->object.begin,
		.end = module->object.end,
	};

	if (record.build_id_bytes)
		memcpy(tail, build_id, record.build_id_bytes);
	rec_note(lane, TAPE_EXT_MODULE, &record, sizeof(record), tail,
		 record.build_id_bytes +
			 module_path(module, tail + record.build_id_bytes, PATHS_BYTES));
	REC_LOG(REC_LOG_DEBUG, "object %u at %lx, %s: %s", module->id,
		(unsigned long)module->object.begin,
		module->object.eh_frame_hdr ? "with unwind tables"
					    : "without a table of its unwind rules",
		module->path && *module->path ? module->path
		: module->id		      ? "[vdso]"
					      : "the program");
}

/* The same file at the same place; another one may be there after a dlclose that we missed. */
static bool module_equal(const struct rec_module *a, const struct rec_module *b)
{
	return a->object.bias == b->object.bias && a->phdr_count == b->phdr_count &&
	       a->object.begin == b->object.begin && a->object.end == b->object.end &&
	       a->object.eh_frame_hdr == b->object.eh_frame_hdr &&
	       a->build_id_hash == b->build_id_hash;
}

static bool module_describe(struct rec_module *module, uint64_t bias, const char *path,
			    const ElfW(Phdr) * phdr, size_t count)
{
	const uint8_t *build_id;
	uint32_t build_id_bytes;

	*module = (struct rec_module) { .path = path, .phdr = phdr, .phdr_count = (uint32_t)count };
	if (!unwind_object_init(&module->object, bias, phdr, count))
		return false;
	build_id_bytes = build_id_find(module, &build_id);
	if (build_id_bytes)
		module->build_id_hash = (uint32_t)hash_bytes(build_id, build_id_bytes, 0);
	return true;
}

static void module_end(struct rec_lane *lane, struct rec_module *module)
{
	struct tape_module_end record = { .id = module->id };

	module->live = false;
	rec_note(lane, TAPE_EXT_MODULE_END, &record, sizeof(record), NULL, 0);
}

/* A free entry, or one that has long been dead. */
static struct rec_module *module_place(void)
{
	static uint32_t next_dead;

	if (module_count < MODULES_MAX)
		return &modules[module_count];
	for (uint32_t i = 0; i < MODULES_MAX; i++)
		if (!modules[next_dead++ % MODULES_MAX].live)
			return &modules[(next_dead - 1) % MODULES_MAX];
	return NULL;
}

/* Under module_lock. */
static void module_insert(struct rec_lane *lane, struct rec_module *found)
{
	struct rec_module *module = module_place();

	if (!module)
		return;
	found->id = next_id++;
	*module = *found;
	atomic_store_explicit(&module->live, true, memory_order_release);
	if (module == &modules[module_count])
		atomic_fetch_add_explicit(&module_count, 1, memory_order_release);
	module_note(lane, module);
}

/* Under module_lock: lists it if it is new. True: an old one is gone. */
static bool module_add(struct rec_lane *lane, uint64_t bias, const char *path,
		       const ElfW(Phdr) * phdr, size_t count)
{
	struct rec_module found;
	bool gone = false;

	if (!module_describe(&found, bias, path, phdr, count))
		return false;
	found.seen = atomic_load(&scan_last);
	for (uint32_t i = 0; i < module_count; i++) {
		if (!modules[i].live || modules[i].object.begin != found.object.begin)
			continue;
		if (module_equal(&modules[i], &found)) {
			modules[i].seen = found.seen;
			modules[i].path = path;
			modules[i].phdr = phdr;
			return false;
		}
		module_end(lane, &modules[i]);
		gone = true;
	}
	module_insert(lane, &found);
	return gone;
}

struct scan {
	struct rec_lane *lane;
	bool gone;
};

static int scan_one(struct dl_phdr_info *info, size_t bytes, void *context)
{
	struct scan *scan = context;

	(void)bytes;
	if (!rec_lock(&rec.module_lock))
		return 1;
	scan->gone |= module_add(scan->lane, info->dlpi_addr, info->dlpi_name, info->dlpi_phdr,
				 info->dlpi_phnum);
	rec_unlock(&rec.module_lock);
	return 0;
}

/* Not while nothing is recorded: a nonzero epoch would revive it. */
void rec_epoch_next(void)
{
	_Atomic uint64_t *epoch = &rec.shared->epoch;
	uint64_t now = atomic_load(epoch);
	uint64_t next;

	CHECK(rec.shared);
	rec_rules_forget();
	next = atomic_fetch_add(&rec.next_epoch, 1) + 1;
	while (now != 0 && !atomic_compare_exchange_weak(epoch, &now, next))
		;
}

/*
 * Lists loaded objects, notes new ones and those that are gone. Not at an event: takes the loader's
 * lock. Objects that appear while it runs, or are found by another scan, count as new as well.
 */
void rec_modules_scan(struct rec_lane *lane)
{
	const uint64_t number = atomic_fetch_add(&scan_last, 1) + 1;
	struct scan scan = { .lane = lane };

	if (rec_objects_each(scan_one, &scan) != 0 || !rec_lock(&rec.module_lock))
		return;
	for (uint32_t i = 0; i < module_count; i++) {
		if (!modules[i].live || modules[i].seen >= number)
			continue;
		module_end(lane, &modules[i]);
		scan.gone = true;
	}
	rec_unlock(&rec.module_lock);
	if (scan.gone)
		rec_epoch_next();
}

void rec_modules_forget(void)
{
	next_id = 0;
	for (uint32_t i = 0; i < module_count; i++)
		modules[i].live = false;
}

void rec_modules_note_all(struct rec_lane *lane)
{
	if (!rec_lock(&rec.module_lock))
		return;
	for (uint32_t i = 0; i < module_count; i++)
		if (modules[i].live)
			module_note(lane, &modules[i]);
	rec_unlock(&rec.module_lock);
}

/* The loader's answer for a pc, without a lock: struct dl_find_object of glibc. */
struct dl_found {
	uint64_t flags;
	arch_word map_begin;
	arch_word map_end;
	const struct link_map *map;
	const uint8_t *eh_frame_hdr;
	uint64_t reserved[FIND_OBJECT_WORDS - 5];
};

static bool loader_find(uint64_t pc, struct dl_found *found)
{
	memset(found, 0, sizeof(*found));
	return rec_real._dl_find_object((void *)(uintptr_t)pc, found) == 0;
}

/*
 * Whether the module is what is at pc now. libc itself unloads objects (of iconv, of name services)
 * silently, and another thread's dlclose may not have reported yet.
 */
static bool module_holds(const struct rec_module *module, uint64_t pc)
{
	enum { PAGE = 4096 };
	struct dl_found found;

	if (!rec_real._dl_find_object)
		return true;
	/* For an object with holes between its segments the loader returns the one segment. */
	return loader_find(pc, &found) &&
	       found.map_begin >= (module->object.begin & -(uint64_t)PAGE) &&
	       found.map_begin < module->object.end &&
	       (!module->object.eh_frame_hdr || found.eh_frame_hdr == module->object.eh_frame_hdr);
}

/* The module that was at pc is gone, another may be there: both are noted. NULL: no object. */
static struct rec_module *module_discover(struct rec_lane *lane, struct rec_module *old,
					  uint64_t pc)
{
	bool gone = old != NULL;
	struct dl_found found;
	const ElfW(Ehdr) * ehdr;

	if (!rec_real._dl_find_object || !rec_lock(&rec.module_lock))
		return NULL;
	if (old && old->live)
		module_end(lane, old);
	if (loader_find(pc, &found) && found.map) {
		ehdr = (const ElfW(Ehdr) *)(uintptr_t)found.map_begin;
		if (memcmp(ehdr->e_ident, ELFMAG, SELFMAG) == 0)
			gone |= module_add(
				lane, found.map->l_addr, found.map->l_name,
				(const ElfW(Phdr) *)(uintptr_t)(found.map_begin + ehdr->e_phoff),
				ehdr->e_phnum);
	}
	rec_unlock(&rec.module_lock);
	if (gone)
		rec_epoch_next();
	return module_find(pc);
}

static uint32_t jit_rule(uint64_t pc)
{
	const uint32_t count = atomic_load_explicit(&jit_count, memory_order_acquire);
	uint32_t rule = UNWIND_NONE;

	if (count == 0)
		return UNWIND_NONE;
	atomic_fetch_add(&jit_readers, 1);
	for (uint32_t i = 0; i < count && rule == UNWIND_NONE; i++) {
		const uint8_t *frames = atomic_load(&jit_frames[i]);

		if (frames)
			rule = unwind_rule_compile_frames(frames, pc);
	}
	atomic_fetch_sub(&jit_readers, 1);
	return rule;
}

static bool module_is_code(const struct rec_module *module, uint64_t pc)
{
	for (uint32_t i = 0; i < module->phdr_count; i++) {
		const ElfW(Phdr) *phdr = &module->phdr[i];

		if (phdr->p_type == PT_LOAD && phdr->p_flags & PF_X &&
		    pc - (module->object.bias + phdr->p_vaddr) < phdr->p_memsz)
			return true;
	}
	return false;
}

/* Where a kernel put a page for it and no object. */
static bool is_sigreturn_alone(uint64_t pc, int32_t *above_sp_ret)
{
	const uint64_t begin = (pc + 1) & ~UINT64_C(3);

	return rec_may_call() &&
	       rec_is_readable_word((const void *)(uintptr_t)(begin & ~UINT64_C(7))) &&
	       rec_is_readable_word((const void *)(uintptr_t)((begin + ARCH_TRAMPOLINE_BYTES - 1) &
							      ~UINT64_C(7))) &&
	       unwind_code_is_sigreturn(begin, begin + ARCH_TRAMPOLINE_BYTES, pc, above_sp_ret);
}

/* Where the kernel begins a program: some C libraries' assembly there has no unwind tables. */
static bool is_entry(uint64_t lookup_pc)
{
	enum { BYTES_MAX = 128 };

	return lookup_pc - getauxval(AT_ENTRY) < BYTES_MAX;
}

uint32_t rec_module_rule(struct rec_lane *lane, uint64_t lookup_pc)
{
	struct rec_module *module = module_find(lookup_pc);
	int32_t above_sp;
	uint32_t rule;

	CHECK(lane);
	if (!module || !module_holds(module, lookup_pc))
		module = module_discover(lane, module, lookup_pc);
	if (!module && ARCH_TRAMPOLINE_ALONE && is_sigreturn_alone(lookup_pc, &above_sp))
		return unwind_rule_sigreturn(above_sp);
	if (!module)
		return jit_rule(lookup_pc);
	/* What its return address says is nothing; the next function may be near. */
	if (ARCH_HAS_EXIDX && is_entry(lookup_pc) &&
	    !exidx_begins_between(&module->object.index, getauxval(AT_ENTRY), lookup_pc))
		return UNWIND_END;
	rule = unwind_rule_compile(&module->object, lookup_pc);
	/* glibc's loader begins in assembly without unwind tables: nothing is outside of it. */
	if (rule == UNWIND_NONE && rec_real._dl_find_object &&
	    module->object.bias == getauxval(AT_BASE))
		return UNWIND_END;
	if (rule == UNWIND_NONE && is_entry(lookup_pc))
		return UNWIND_END;
	if (rule == UNWIND_NONE && module_is_code(module, lookup_pc))
		return UNWIND_BARE;
	return rule;
}

bool rec_module_full_step(struct unwind_regs *regs, uint64_t stack_begin, uint64_t stack_end,
			  bool *end_ret)
{
	struct rec_module *module = module_find(regs->value[ARCH_REG_PC] - !regs->exact);
	const struct unwind_memory stack = { .begin = stack_begin, .end = stack_end };

	return module && unwind_full_step(&module->object, regs, &stack, end_ret);
}

bool rec_jit_add(const void *eh_frame)
{
	for (uint32_t i = 0; i < JIT_MAX; i++) {
		const uint8_t *none = NULL;

		if (!atomic_compare_exchange_strong(&jit_frames[i], &none, eh_frame))
			continue;
		if (i >= jit_count)
			atomic_store(&jit_count, i + 1);
		return true;
	}
	return false;
}

/*
 * A thread reading frames may be inside these, which are about to be unmapped. Waits, but not for
 * ever: a signal handler may have interrupted the reader on this very thread.
 */
static void jit_readers_wait(void)
{
	enum { PATIENCE = 10000 };

	for (int i = 0; i < PATIENCE && atomic_load(&jit_readers) != 0; i++)
		rec_yield();
}

void rec_jit_remove(const void *eh_frame)
{
	for (uint32_t i = 0; i < jit_count; i++) {
		const uint8_t *frames = eh_frame;

		if (!atomic_compare_exchange_strong(&jit_frames[i], &frames, NULL))
			continue;
		jit_readers_wait();
		rec_epoch_next();
	}
}
