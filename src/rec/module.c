/*
 * module: which object a pc lies in, and its rule.
 *
 * Objects are listed with dl_iterate_phdr at start and after dlclose, never at an event: it locks.
 * One that appears in between is found through _dl_find_object (glibc 2.35 and later), which does
 * not, when a pc in it is first seen. Where that is missing, dlopen lists them (init.c).
 *
 * The table only grows; an entry whose object is gone is dead. Readers take no lock: an entry is
 * complete before `module_count` covers it.
 */
#include "rec/rec.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <sys/auxv.h>

#include "core/poison.h"

enum { MODULES_MAX = 4096, JIT_MAX = 16384, BUILD_ID_MAX = 64, FIND_OBJECT_WORDS = 16 };

struct rec_module {
	struct unwind_object object;
	const char *path; /* the loader's; "" for the program itself */
	const ElfW(Phdr) * phdr;
	uint32_t phdr_count;
	uint32_t id;
	_Atomic bool live;
	bool seen; /* by the scan that is going on */
};

static struct rec_module modules[MODULES_MAX];
static _Atomic uint32_t module_count;

/* .eh_frame sections that JIT compilers registered; NULL: a free place. */
static const uint8_t *_Atomic jit_frames[JIT_MAX];
static _Atomic uint32_t jit_count;

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
		const uint8_t *note = (const uint8_t *)(module->object.bias + phdr->p_vaddr);
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

/* The loader lists the program first, without a name; so does musl the vDSO, later. */
static size_t module_path(const struct rec_module *module, char *out, size_t room)
{
	const char *path = module->path ? module->path : "";
	long len;

	if (!path[0] && module->id != 0)
		path = "[vdso]";
	if (path[0]) {
		len = (long)strnlen(path, room);
		memcpy(out, path, (size_t)len);
		return (size_t)len;
	}
	len = SYS_CALL4(SYS_readlinkat, -100 /* AT_FDCWD */, "/proc/self/exe", out, room);
	return len > 0 ? (size_t)len : 0;
}

/* Under module_lock: the text is too large for a small stack, a handler's or a thread's. */
static void module_note(struct rec_lane *lane, const struct rec_module *module)
{
	static char tail[BUILD_ID_MAX + REC_PATH_BYTES];
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
			 module_path(module, tail + record.build_id_bytes, REC_PATH_BYTES));
}

static struct rec_module *module_same(uint64_t bias, const ElfW(Phdr) * phdr)
{
	for (uint32_t i = 0; i < module_count; i++)
		if (modules[i].live && modules[i].object.bias == bias && modules[i].phdr == phdr)
			return &modules[i];
	return NULL;
}

/* Under module_lock. NULL: known, full, or not an object. */
static struct rec_module *module_add(uint64_t bias, const char *path, const ElfW(Phdr) * phdr,
				     size_t count)
{
	const uint32_t id = module_count;
	struct rec_module *module = module_same(bias, phdr);

	if (module) {
		module->seen = true;
		return NULL;
	}
	if (id == MODULES_MAX)
		return NULL;
	module = &modules[id];
	if (!unwind_object_init(&module->object, bias, phdr, count))
		return NULL;
	module->path = path;
	module->phdr = phdr;
	module->phdr_count = (uint32_t)count;
	module->id = id;
	module->live = module->seen = true;
	atomic_store_explicit(&module_count, id + 1, memory_order_release);
	return module;
}

static int scan_one(struct dl_phdr_info *info, size_t bytes, void *context)
{
	struct rec_lane *lane = context;
	struct rec_module *module;

	(void)bytes;
	module = module_add(info->dlpi_addr, info->dlpi_name, info->dlpi_phdr, info->dlpi_phnum);
	if (module)
		module_note(lane, module);
	return 0;
}

void rec_epoch_next(void)
{
	rec_stack_forget_rules();
	atomic_store_explicit(&rec.shared->epoch, ++rec.next_epoch, memory_order_release);
}

/* Lists what is loaded, notes what is new and what is gone. Not at an event: takes the loader's
 * lock. */
void rec_modules_scan(struct rec_lane *lane)
{
	bool gone = false;

	if (!rec_lock(&rec.module_lock))
		return;
	for (uint32_t i = 0; i < module_count; i++)
		modules[i].seen = false;
	dl_iterate_phdr(scan_one, lane);
	for (uint32_t i = 0; i < module_count; i++) {
		struct tape_module_end record = { .id = i };

		if (!modules[i].live || modules[i].seen)
			continue;
		modules[i].live = false;
		gone = true;
		rec_note(lane, TAPE_EXT_MODULE_END, &record, sizeof(record), NULL, 0);
	}
	rec_unlock(&rec.module_lock);
	if (gone)
		rec_epoch_next();
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

/* struct dl_find_object of glibc: flags, map_start, map_end, link_map, eh_frame, reserved. */
static struct rec_module *module_discover(struct rec_lane *lane, uint64_t pc)
{
	uint64_t found[FIND_OBJECT_WORDS] = { 0 };
	const struct link_map *map;
	const ElfW(Ehdr) * ehdr;
	struct rec_module *module;

	if (!rec_real.find_object || rec_real.find_object((void *)pc, found) != 0)
		return NULL;
	ehdr = (const ElfW(Ehdr) *)found[1];
	map = (const struct link_map *)found[3];
	if (!ehdr || !map || memcmp(ehdr->e_ident, ELFMAG, SELFMAG) != 0 ||
	    !rec_lock(&rec.module_lock))
		return NULL;
	module = module_add(map->l_addr, map->l_name,
			    (const ElfW(Phdr) *)((const uint8_t *)ehdr + ehdr->e_phoff),
			    ehdr->e_phnum);
	if (module)
		module_note(lane, module);
	rec_unlock(&rec.module_lock);
	return module ? module : module_find(pc);
}

static uint32_t jit_rule(uint64_t pc)
{
	const uint32_t count = atomic_load_explicit(&jit_count, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *frames = atomic_load_explicit(&jit_frames[i], memory_order_acquire);
		uint32_t rule = frames ? unwind_rule_compile_frames(frames, pc) : UNWIND_NONE;

		if (rule != UNWIND_NONE)
			return rule;
	}
	return UNWIND_NONE;
}

uint32_t rec_module_rule(struct rec_lane *lane, uint64_t lookup_pc)
{
	struct rec_module *module = module_find(lookup_pc);
	uint32_t rule;

	if (!module)
		module = module_discover(lane, lookup_pc);
	if (!module)
		return jit_rule(lookup_pc);
	rule = unwind_rule_compile(&module->object, lookup_pc);
	/* glibc's loader begins in assembly without information: nothing lies outside of it. */
	if (rule == UNWIND_NONE && rec_real.find_object &&
	    module->object.bias == getauxval(AT_BASE))
		return UNWIND_END;
	return rule;
}

bool rec_module_full_step(struct unwind_regs *regs, uint64_t stack_begin, uint64_t stack_end,
			  bool *end_ret)
{
	struct rec_module *module = module_find(regs->value[UNWIND_REG_PC] - !regs->exact);

	return module && unwind_full_step(&module->object, regs, stack_begin, stack_end, end_ret);
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

void rec_jit_remove(struct rec_lane *lane, const void *eh_frame)
{
	(void)lane;
	for (uint32_t i = 0; i < jit_count; i++) {
		const uint8_t *frames = eh_frame;

		if (atomic_compare_exchange_strong(&jit_frames[i], &frames, NULL))
			rec_epoch_next();
	}
}
