/*
 * The adapter of elfutils' libdw and libdwfl. libdw's own dwarf_getscopes walks a whole unit for
 * each address; a report asks for hundreds of addresses in a few units, so the functions of a unit
 * are put in a sorted table once. Units are found by .debug_aranges (gcc writes it), or by a table
 * of the units' own ranges where that is missing (clang does not).
 */
#include "symbol/debug_info.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>

#include "base/map.h"
#include "symbol/demangle.h"

enum {
	/* Depth of nested scopes: the recursion below is as deep as hostile DWARF says. */
	SCOPE_DEPTH_MAX = 256,
	INLINE_DEPTH_MAX = 128
};

struct range {
	uint64_t low;
	uint64_t high;	      /* one past the end */
	Dwarf_Off die_offset; /* of the unit or function */
};

VEC_DEFINE(ranges, struct range);

struct unit {
	Dwarf_Die die;	      /* with split debug information the one in the .dwo */
	Dwarf_Die lines_die;  /* the skeleton: line tables stay in the object */
	struct ranges ranges; /* functions, sorted by low */
	bool has_functions;   /* ranges is filled */
};

struct debug_info {
	int fd;
	Dwarf *handle;
	Dwarf_Aranges *aranges;
	struct ranges units; /* used where aranges do not help */
	bool has_units;
	struct map unit_by_offset; /* offset of the unit's DIE -> struct unit * */
};

static int range_compare(const void *a, const void *b)
{
	const struct range *left = a;
	const struct range *right = b;

	if (left->low != right->low)
		return left->low < right->low ? -1 : 1;
	return (left->high < right->high) - (left->high > right->high);
}

static void ranges_sort(struct ranges *ranges)
{
	if (ranges->count > 0)
		qsort(ranges->items, ranges->count, sizeof(*ranges->items), range_compare);
}

/* The innermost of the ranges that cover address; they nest rarely and not deep. */
static const struct range *ranges_find(const struct ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->items[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t tries = 0; low > 0 && tries < 64; low--, tries++) {
		if (address < ranges->items[low - 1].high)
			return &ranges->items[low - 1];
	}
	return NULL;
}

static void ranges_add_die(struct ranges *ranges, Dwarf_Die *die)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		/* Low 0: a function the linker dropped. */
		if (low < high && low != 0)
			ranges_push(ranges, (struct range) { low, high, dwarf_dieoffset(die) });
	}
}

static void functions_add(struct ranges *ranges, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (depth > SCOPE_DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			ranges_add_die(ranges, &die);
			/* Ada, D and GNU C nest functions; lambdas' classes are inside too. */
			functions_add(ranges, &die, depth + 1);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
		case DW_TAG_enumeration_type:
		case DW_TAG_lexical_block:
			functions_add(ranges, &die, depth + 1);
			break;
		default:
			break;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
}

static void units_fill(struct debug_info *info)
{
	Dwarf_CU *cu = NULL;

	info->has_units = true;
	for (;;) {
		Dwarf_Die die, subdie;
		uint8_t type;

		if (dwarf_get_units(info->handle, cu, &cu, NULL, &type, &die, &subdie) != 0)
			break;
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			ranges_add_die(&info->units, &die);
	}
	ranges_sort(&info->units);
}

static bool unit_offset_find(struct debug_info *info, uint64_t address, Dwarf_Off *offset_ret)
{
	Dwarf_Arange *arange = NULL;
	const struct range *range;

	if (info->aranges)
		arange = dwarf_getarange_addr(info->aranges, address);
	if (arange && dwarf_getarangeinfo(arange, NULL, NULL, offset_ret) == 0)
		return true;
	if (!info->has_units)
		units_fill(info);
	range = ranges_find(&info->units, address);
	if (!range)
		return false;
	*offset_ret = range->die_offset;
	return true;
}

static struct unit *unit_create(struct debug_info *info, Dwarf_Off offset)
{
	struct unit *unit = calloc(1, sizeof(*unit));
	uint8_t type;

	if (!unit)
		return NULL;
	if (!dwarf_offdie(info->handle, offset, &unit->lines_die)) {
		free(unit);
		return NULL;
	}
	if (dwarf_cu_info(unit->lines_die.cu, NULL, &type, NULL, &unit->die, NULL, NULL, NULL) !=
		    0 ||
	    type != DW_UT_skeleton || unit->die.addr == NULL)
		unit->die = unit->lines_die;
	return unit;
}

static struct unit *unit_find(struct debug_info *info, uint64_t address)
{
	Dwarf_Off offset = 0;
	uint64_t *place;
	bool is_new;

	if (!unit_offset_find(info, address, &offset))
		return NULL;
	place = map_put(&info->unit_by_offset, offset, &is_new);
	if (!place)
		return NULL;
	if (is_new)
		*place = (uintptr_t)unit_create(info, offset);
	return (struct unit *)(uintptr_t)*place;
}

static const struct range *unit_function_find(struct unit *unit, uint64_t address)
{
	if (!unit->has_functions) {
		unit->has_functions = true;
		functions_add(&unit->ranges, &unit->die, 0);
		ranges_sort(&unit->ranges);
	}
	return ranges_find(&unit->ranges, address);
}

static const char *die_text(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr_integrate(die, name, &attr));
}

/*
 * A function's name is where its declaration or abstract origin is; DWARF leads there. The linker's
 * name says more when a compiler made it (namespace, parameters); in C it is just another name.
 */
static const char *die_name(Dwarf_Die *die)
{
	const char *plain = die_text(die, DW_AT_name);
	const char *linkage = die_text(die, DW_AT_linkage_name);

	if (!linkage)
		linkage = die_text(die, DW_AT_MIPS_linkage_name);
	return linkage && (!plain || demangle_is_mangled(linkage)) ? linkage : plain;
}

/* Inlined calls that cover address, outermost first. */
struct inline_chain {
	Dwarf_Die dies[INLINE_DEPTH_MAX];
	size_t count;
};

static void chain_fill(struct inline_chain *chain, Dwarf_Die *function, uint64_t address)
{
	Dwarf_Die parent = *function;
	Dwarf_Die die;

	for (unsigned depth = 0; depth < SCOPE_DEPTH_MAX; depth++) {
		bool is_inside = false;

		if (dwarf_child(&parent, &die) != 0)
			return;
		do {
			const int tag = dwarf_tag(&die);

			if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block &&
			    tag != DW_TAG_try_block && tag != DW_TAG_catch_block &&
			    tag != DW_TAG_with_stmt)
				continue;
			/* A block without ranges holds only declarations. */
			if (dwarf_haspc(&die, address) != 1)
				continue;
			is_inside = true;
			if (tag == DW_TAG_inlined_subroutine && chain->count < INLINE_DEPTH_MAX)
				chain->dies[chain->count++] = die;
			break;
		} while (dwarf_siblingof(&die, &die) == 0);
		if (!is_inside)
			return;
		parent = die;
	}
}

static uint32_t die_number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &value) != 0)
		return 0;
	return value > UINT32_MAX ? 0 : (uint32_t)value;
}

static const char *unit_file_name(struct unit *unit, uint32_t index)
{
	Dwarf_Files *files;
	size_t count;

	if (dwarf_getsrcfiles(&unit->lines_die, &files, &count) != 0 || index >= count)
		return NULL;
	return dwarf_filesrc(files, index, NULL, NULL);
}

static void frame_place_by_line(struct unit *unit, uint64_t address, struct debug_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->lines_die, address);
	int number;

	if (!line)
		return;
	frame->file = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		frame->line = (uint32_t)number;
}

static void frame_place_by_call(struct unit *unit, Dwarf_Die *call, struct debug_frame *frame)
{
	const uint32_t file = die_number(call, DW_AT_call_file);

	frame->line = die_number(call, DW_AT_call_line);
	if (frame->line)
		frame->file = unit_file_name(unit, file);
}

size_t debug_info_frames(struct debug_info *info, uint64_t address, struct debug_frame *frames,
			 size_t max)
{
	struct unit *unit = unit_find(info, address);
	struct inline_chain chain = { .count = 0 };
	const struct range *range;
	Dwarf_Die function;
	size_t count = 0;

	if (!unit || max == 0)
		return 0;
	range = unit_function_find(unit, address);
	if (!range ||
	    !dwarf_offdie(dwarf_cu_getdwarf(unit->die.cu), range->die_offset, &function)) {
		frames[0] = (struct debug_frame) { 0 };
		frame_place_by_line(unit, address, &frames[0]);
		return frames[0].file != NULL;
	}
	chain_fill(&chain, &function, address);
	for (size_t i = chain.count; i-- > 0 && count + 1 < max;)
		frames[count++] = (struct debug_frame) { .function = die_name(&chain.dies[i]),
							 .is_inlined = true };
	frames[count++] = (struct debug_frame) { .function = die_name(&function) };
	frame_place_by_line(unit, address, &frames[0]);
	/* Where an inlined function was called is the place of the frame around it. */
	for (size_t i = 1; i < count; i++)
		frame_place_by_call(unit, &chain.dies[chain.count - i], &frames[i]);
	return count;
}

struct err *debug_info_open(const char *path, struct debug_info **info_ret)
{
	CLEAN(debug_info_close) struct debug_info *info = calloc(1, sizeof(*info));
	size_t count;

	if (!info)
		return err_nomem();
	info->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (info->fd < 0)
		return err_errno("open %s", path);
	info->handle = dwarf_begin(info->fd, DWARF_C_READ);
	if (!info->handle)
		return err_new(ERR_FORMAT, "%s: %s", path, dwarf_errmsg(-1));
	if (dwarf_getaranges(info->handle, &info->aranges, &count) != 0)
		info->aranges = NULL;
	*info_ret = steal(info);
	return NULL;
}

static bool unit_destroy(void *context, uint64_t offset, uint64_t *place)
{
	struct unit *unit = (struct unit *)(uintptr_t)*place;

	(void)context;
	(void)offset;
	if (unit)
		ranges_deinit(&unit->ranges);
	free(unit);
	return true;
}

void debug_info_close(struct debug_info *info)
{
	if (!info)
		return;
	map_each(&info->unit_by_offset, unit_destroy, NULL);
	map_deinit(&info->unit_by_offset);
	ranges_deinit(&info->units);
	if (info->handle)
		dwarf_end(info->handle);
	if (info->fd >= 0)
		close(info->fd);
	free(info);
}

/* --- .gnu_debugdata -------------------------------------------------------------------------- */

/* libdwfl is told never to look for other files: it would ask the network for them. */
static int find_no_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **path_ret)
{
	(void)module;
	(void)user;
	(void)name;
	(void)base;
	(void)file;
	(void)link;
	(void)crc;
	(void)path_ret;
	return -1;
}

static void symbols_add(struct elf_names *names, Dwfl_Module *module, struct arena *arena)
{
	const int count = dwfl_module_getsymtab(module);
	GElf_Addr bias = 0;

	if (!dwfl_module_getelf(module, &bias))
		return;
	for (int i = 0; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		const char *name =
			dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL, NULL);
		const char *copy;

		if (!name || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0 ||
		    GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
			continue;
		copy = arena_strdup(arena, name);
		if (!copy || !elf_names_push(names, copy, address - bias, symbol.st_size,
					     GELF_ST_BIND(symbol.st_info)))
			return;
	}
}

void debug_info_mini_names(struct elf_names *names, const char *path, struct arena *arena)
{
	const Dwfl_Callbacks callbacks = {
		.find_debuginfo = find_no_file,
		.section_address = dwfl_offline_section_address,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module;

	if (!dwfl)
		return;
	module = dwfl_report_offline(dwfl, path, path, -1);
	if (module && dwfl_report_end(dwfl, NULL, NULL) == 0)
		symbols_add(names, module, arena);
	dwfl_end(dwfl);
}
