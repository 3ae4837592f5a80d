/*
 * symbols: whether a name is defined after our library, found without locks or memory.
 *
 * dlsym() of an undefined name allocates an error's text with malloc, and the loader's own ways of
 * listing objects lock. Both may be fatal where hooks are: a program's own malloc calls mmap with
 * its lock held. So the loader's list is read here as a debugger would read it. Objects present at
 * the program's start stay for good; one that is being unloaded meanwhile can only come after libc,
 * which has the name.
 */
#include "rec/symbols.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include "core/sys.h"

#include "core/poison.h"

/* glibc's, and musl's equivalent; one of them exists. */
extern struct r_debug _r_debug __attribute__((weak));
extern struct r_debug *_dl_debug_addr __attribute__((weak));
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

enum { VERSION_HIDDEN = 0x8000, GNU_HASH_SEED = 5381 };

/* The parts of an object that a lookup needs; one of the two hash tables may be missing. */
struct object_names {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash;
	const uint32_t *hash;
	const uint16_t *versions;
	uint64_t bias;
};

static const struct link_map *loader_list(void)
{
	const struct r_debug *debug = NULL;

	if (&_r_debug)
		debug = &_r_debug;
	else if (&_dl_debug_addr)
		debug = _dl_debug_addr;
	return debug ? debug->r_map : NULL;
}

/* glibc has relocated these entries to addresses, except the vDSO's; musl leaves them unchanged. */
static const void *entry_address(const struct link_map *map, const ElfW(Dyn) * entry)
{
	const uint64_t value = entry->d_un.d_ptr;

	return (const void *)(uintptr_t)(value < map->l_addr ? value + map->l_addr : value);
}

static struct object_names names_of(const struct link_map *map)
{
	struct object_names names = { .bias = map->l_addr };

	for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
		switch (entry->d_tag) {
		case DT_SYMTAB:
			names.symbols = entry_address(map, entry);
			break;
		case DT_STRTAB:
			names.strings = entry_address(map, entry);
			break;
		case DT_GNU_HASH:
			names.gnu_hash = entry_address(map, entry);
			break;
		case DT_HASH:
			names.hash = entry_address(map, entry);
			break;
		case DT_VERSYM:
			names.versions = entry_address(map, entry);
			break;
		}
	}
	return names;
}

/* A symbol that dlsym() would use: defined, visible, and of its default version. */
static bool symbol_is(const struct object_names *names, uint32_t index, const char *name)
{
	const ElfW(Sym) *symbol = &names->symbols[index];
	const unsigned bind = ELF64_ST_BIND(symbol->st_info);
	const unsigned visibility = ELF64_ST_VISIBILITY(symbol->st_other);

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0 || bind == STB_LOCAL ||
	    visibility == STV_HIDDEN || visibility == STV_INTERNAL ||
	    ELF64_ST_TYPE(symbol->st_info) == STT_TLS)
		return false;
	if (names->versions && names->versions[index] & VERSION_HIDDEN)
		return false;
	return strcmp(names->strings + symbol->st_name, name) == 0;
}

static uint32_t gnu_hash_of(const char *name)
{
	uint32_t hash = GNU_HASH_SEED;

	while (*name)
		hash = hash * 33 + (uint8_t)*name++;
	return hash;
}

static uint32_t old_hash_of(const char *name)
{
	uint32_t hash = 0;

	while (*name) {
		hash = (hash << 4) + (uint8_t)*name++;
		hash ^= hash >> 24 & 0xf0;
		hash &= 0x0fffffff;
	}
	return hash;
}

/* The table: bucket count, first symbol, bloom words, bloom shift; bloom, buckets, chains. */
static uint32_t find_by_gnu_hash(const struct object_names *names, const char *name)
{
	enum { BITS = 8 * ARCH_WORD_BYTES };
	const uint32_t *table = names->gnu_hash;
	const uint32_t bucket_count = table[0];
	const uint32_t first = table[1];
	const arch_word *bloom = (const arch_word *)(table + 4);
	const uint32_t *buckets = (const uint32_t *)(bloom + table[2]);
	const uint32_t *chains = buckets + bucket_count;
	const uint32_t hash = gnu_hash_of(name);
	const arch_word bits = (arch_word)1 << hash % BITS | (arch_word)1
								     << (hash >> table[3]) % BITS;
	uint32_t index;

	if (bucket_count == 0 || (bloom[hash / BITS % table[2]] & bits) != bits)
		return 0;
	index = buckets[hash % bucket_count];
	if (index < first)
		return 0;
	for (;; index++) {
		const uint32_t other = chains[index - first];

		if ((other | 1) == (hash | 1) && symbol_is(names, index, name))
			return index;
		if (other & 1)
			return 0;
	}
}

/* The table: bucket count, symbol count; buckets, chains. */
static uint32_t find_by_old_hash(const struct object_names *names, const char *name)
{
	const uint32_t *table = names->hash;
	const uint32_t *chains = table + 2 + table[0];

	if (table[0] == 0)
		return 0;
	for (uint32_t i = table[2 + old_hash_of(name) % table[0]]; i != 0; i = chains[i])
		if (symbol_is(names, i, name))
			return i;
	return 0;
}

static const ElfW(Sym) * find_in(const struct object_names *names, const char *name)
{
	uint32_t index = 0;

	if (!names->symbols || !names->strings)
		return NULL;
	if (names->gnu_hash)
		index = find_by_gnu_hash(names, name);
	else if (names->hash)
		index = find_by_old_hash(names, name);
	return index ? &names->symbols[index] : NULL;
}

bool rec_symbol_in(const struct link_map *map, const char *name, struct rec_symbol *symbol_ret)
{
	const struct object_names names = names_of(map);
	const ElfW(Sym) *symbol = find_in(&names, name);

	CHECK(name);
	if (!symbol)
		return false;
	*symbol_ret = (struct rec_symbol) {
		.address = symbol->st_shndx == SHN_ABS ? symbol->st_value
						       : names.bias + symbol->st_value,
		.dynamic = map->l_ld,
		.is_resolver = ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC,
	};
	return true;
}

static bool find_from(const struct link_map *map, const char *name, struct rec_symbol *symbol_ret)
{
	const uint64_t vdso = getauxval(AT_SYSINFO_EHDR); /* listed, but never used for binding */

	for (; map; map = map->l_next)
		if (map->l_ld != _DYNAMIC && map->l_addr != vdso &&
		    rec_symbol_in(map, name, symbol_ret))
			return true;
	return false;
}

bool rec_symbol_next(const char *name, struct rec_symbol *symbol_ret)
{
	const struct link_map *own = loader_list();

	CHECK(name);
	while (own && own->l_ld != _DYNAMIC)
		own = own->l_next;
	return own && find_from(own->l_next, name, symbol_ret);
}

int rec_objects_each(int (*visit)(struct dl_phdr_info *info, size_t bytes, void *context),
		     void *context)
{
	return dl_iterate_phdr(visit, context);
}

bool rec_object_is_own(const void *dynamic)
{
	return dynamic == _DYNAMIC;
}

bool rec_symbol_any(const char *name, struct rec_symbol *symbol_ret)
{
	return find_from(loader_list(), name, symbol_ret);
}
