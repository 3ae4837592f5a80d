#include "scan/objects.h"

#include <assert.h>
#include <elf.h>
#include <sys/stat.h>

#include "scan/exports.h"
#include "tape/tape_attach.h"

enum { PAGE = 4096 };

static const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool begins(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

bool objects_is_recorder(const char *path)
{
	const char *name = path_name(path);

	return strcmp(name, "libmemtape.so") == 0 || strcmp(name, "libmemusage.so") == 0 ||
	       strcmp(name, TAPE_ATTACH_LIBRARY) == 0 ||
	       strcmp(name, TAPE_ATTACH_LIBRARY_MUSL) == 0;
}

bool objects_is_libc(const char *path)
{
	const char *name = path_name(path);

	return begins(name, "libc.so") || begins(name, "libc-2.") || begins(name, "ld-musl");
}

bool objects_is_musl(const char *path)
{
	const char *name = path_name(path);

	return begins(name, "ld-musl") || strcmp(name, "libc.so") == 0;
}

/* --- what is loaded -------------------------------------------------------------------------- */

/* Fills what the program headers say; false: the mapping is not the beginning of an object. */
static bool module_read(const struct memory *memory, const struct maps_entry *entry,
			struct tape_module *module)
{
	uint8_t page[PAGE];
	Elf64_Ehdr header;
	bool has_first = false;

	if (!entry->is_file || !entry->is_readable || entry->end - entry->begin < PAGE ||
	    !memory_read(memory, entry->begin, page, sizeof(page)))
		return false;
	memcpy(&header, page, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    (header.e_type != ET_EXEC && header.e_type != ET_DYN) || header.e_phoff > PAGE ||
	    header.e_phnum > (PAGE - header.e_phoff) / sizeof(Elf64_Phdr))
		return false;
	module->begin = entry->begin;
	for (size_t pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < header.e_phnum; i++) {
			Elf64_Phdr segment;

			memcpy(&segment, page + header.e_phoff + i * sizeof(segment),
			       sizeof(segment));
			if (segment.p_type != PT_LOAD)
				continue;
			if (pass == 0 && segment.p_offset < PAGE && !has_first) {
				module->bias = entry->begin - (segment.p_vaddr & -(uint64_t)PAGE);
				has_first = true;
			} else if (pass == 1) {
				module->end = u64_max(module->end, module->bias + segment.p_vaddr +
									   segment.p_memsz);
			}
		}
	return has_first && module->end > entry->begin;
}

/*
 * The file of a mapping, for us: the kernel names it as it is here, if it is here, or else as it is
 * in the file system that only the process has mounted. inode 0: it is not known.
 */
static void locate(const char *root, const char *path, uint64_t inode, struct str *file)
{
	struct stat status;

	str_printf(file, "%s%s", root, path);
	if (!*root || file->failed ||
	    (stat(file->ptr, &status) == 0 && (inode == 0 || status.st_ino == inode)) ||
	    stat(path, &status) < 0 || (inode != 0 && status.st_ino != inode))
		return;
	str_clear(file);
	str_add(file, path);
}

/* A file that is only read, by a debugger perhaps, is not loaded. */
static bool has_code(const struct maps *maps, const struct maps_entry *first, uint64_t end)
{
	for (const struct maps_entry *at = first;
	     at < maps->entries.items + maps->entries.count && at->begin < end; at++)
		if (at->is_executable && at->is_file &&
		    strcmp(maps_name(maps, at), maps_name(maps, first)) == 0)
			return true;
	return false;
}

struct err *objects_find(const char *root, const struct maps *maps, const struct memory *memory,
			 struct capture_stacks *stacks)
{
	uint64_t end = 0;
	uint32_t id = 0;

	assert(memory->read);
	for (size_t i = 0; i < maps->entries.count; i++) {
		const struct maps_entry *entry = &maps->entries.items[i];
		const char *path = maps_name(maps, entry);
		struct tape_module module = { .id = id + 1 };
		CLEAN(str_deinit) struct str full = { 0 };

		if (entry->begin < end || !module_read(memory, entry, &module) ||
		    !has_code(maps, entry, module.end))
			continue;
		locate(root, path, entry->inode, &full);
		if (full.failed ||
		    !capture_stacks_load(stacks, &module, NULL, full.ptr, full.len, 0))
			return err_nomem();
		id = module.id;
		end = module.end;
	}
	return NULL;
}

/* --- allocators ------------------------------------------------------------------------------ */

/* Of a file that cannot be read, its name says what it is. */
static bool is_known(const char *path)
{
	static const char *const names[] = { "jemalloc",  "tcmalloc", "mimalloc",
					     "tbbmalloc", "hoard",    "rpmalloc",
					     "snmalloc",  "libasan",  "libtsan" };

	for (size_t i = 0; i < array_size(names); i++)
		if (strstr(path_name(path), names[i]))
			return true;
	return false;
}

static struct elf_file *open_in(const char *root, const char *path)
{
	CLEAN(str_deinit) struct str full = { 0 };
	struct elf_file *file = NULL;

	locate(root, path, 0, &full);
	err_destroy(elf_file_open(str_text(&full), &file));
	return file;
}

/* The loader has one for itself, until libc is there. */
static bool is_loader(const char *path)
{
	return begins(path_name(path), "ld-") && !begins(path_name(path), "ld-musl");
}

struct objects_allocators objects_allocators(const struct capture_stacks *stacks, const char *root)
{
	static const char *const others[] = { "je_malloc",	"mallocx",  "mi_malloc",
					      "tc_malloc",	"rpmalloc", "sn_malloc",
					      "scalable_malloc" };
	struct objects_allocators found = { 0 };

	for (size_t i = 0; i < stacks->modules.count; i++) {
		const struct capture_module *module = &stacks->modules.items[i];
		const char *path = module->path;
		const bool is_glibc = objects_is_libc(path) && !begins(path_name(path), "ld-musl");

		if (is_glibc || is_loader(path) || objects_is_recorder(path))
			continue;
		CLEAN(elf_file_close) struct elf_file *file = open_in(root, path);
		CLEAN(exports_deinit) struct exports exports = { 0 };
		const bool is_read = file && exports_of(file, &exports);

		if (is_read ? exports_find(&exports, "malloc") != NULL : is_known(path))
			found.instead = module;
		for (size_t at = 0; at < array_size(others); at++)
			if (exports_find(&exports, others[at]))
				found.beside = module;
	}
	return found;
}

/* --- variables ------------------------------------------------------------------------------- */

static bool add_data(const struct maps *maps, const struct capture_module *module,
		     struct heap_ranges *data)
{
	for (size_t i = 0; i < maps->entries.count; i++) {
		const struct maps_entry *entry = &maps->entries.items[i];
		const struct heap_range range = {
			u64_max(entry->begin, module->begin),
			u64_min(entry->end, align_up(module->end, PAGE)),
		};

		if (entry->is_readable && entry->is_writable && !entry->is_shared &&
		    range.begin < range.end && !heap_ranges_push(data, range))
			return false;
	}
	return true;
}

struct err *objects_data(const struct maps *maps, const struct capture_stacks *stacks,
			 struct heap_ranges *data)
{
	bool has_libc = false;

	for (size_t i = 0; i < stacks->modules.count; i++)
		has_libc |= objects_is_libc(stacks->modules.items[i].path);
	for (size_t i = 0; i < stacks->modules.count; i++)
		if ((!has_libc || objects_is_libc(stacks->modules.items[i].path)) &&
		    !add_data(maps, &stacks->modules.items[i], data))
			return err_nomem();
	return NULL;
}
