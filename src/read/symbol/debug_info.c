/*
 * The adapter of elfutils' libdw. libdw's own dwarf_getscopes walks a whole unit for
 * each address; a report looks up hundreds of addresses in a few units, so the functions of a unit
 * are put in a sorted table once. Units are found by .debug_aranges (gcc writes it), or by a table
 * of the units' own ranges where that is missing (clang).
 */
#include "symbol/debug_info.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>

#include "base/map.h"
#include "symbol/debug_file.h"
#include "symbol/debug_inlines.h"
#include "symbol/debug_scopes.h"
#include "symbol/demangle.h"
#include "symbol/ranges.h"

enum {
	/* Depth limit for nested scopes: the recursion below is as deep as hostile DWARF asks. */
	SCOPE_DEPTH_MAX = 256
};

struct unit {
	Dwarf_Die die;	      /* with split debug information the one in the .dwo */
	Dwarf_Die lines_die;  /* the skeleton: line tables stay in the object */
	struct ranges ranges; /* functions, sorted by low */
	bool has_functions;   /* ranges is filled */
	struct map scopes;    /* offset of a function's DIE -> "namespace::class::" around it */
	struct map files;     /* address of a relative path -> the full one */
	struct arena arena;   /* of both */
};

struct debug_info {
	int fd;
	Dwarf *handle;
	int shared_fd; /* of parts moved out by dwz; -1: none, or libdw found it */
	Dwarf *shared;
	Dwarf_Aranges *aranges;
	struct ranges units; /* used where aranges do not help */
	bool has_units;
	struct map unit_by_offset; /* offset of the unit's DIE -> struct unit * */
};

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

/*
 * The namespaces and classes around a function, NULL if there are none: they are at its
 * declaration, to which DWARF leads in a few steps.
 */
static const char *die_scope(struct unit *unit, const Dwarf_Die *die)
{
	enum { STEPS_MAX = 4 };
	Dwarf_Die at = *die;

	for (unsigned step = 0; step < STEPS_MAX; step++) {
		const uint64_t *scope = map_find(&unit->scopes, dwarf_dieoffset(&at));
		Dwarf_Attribute attr;

		if (scope)
			return (const char *)(uintptr_t)*scope;
		if ((!dwarf_attr(&at, DW_AT_abstract_origin, &attr) &&
		     !dwarf_attr(&at, DW_AT_specification, &attr)) ||
		    !dwarf_formref_die(&attr, &at))
			break;
	}
	return NULL;
}

static const char *scope_inside(struct unit *unit, Dwarf_Die *die, const char *scope,
				struct debug_function *function)
{
	const char *declared =
		function->die && !function->scope[0] ? die_scope(unit, function->die) : NULL;

	if (declared)
		function->scope = declared;
	return debug_scope_inside(die, scope, function, &unit->arena);
}

static void functions_add(struct unit *unit, Dwarf_Die *parent, const char *scope,
			  struct debug_function *function, unsigned depth);

static void function_add(struct unit *unit, Dwarf_Die *die, const char *scope, unsigned depth)
{
	uint64_t *place = scope[0] ? map_put(&unit->scopes, dwarf_dieoffset(die), NULL) : NULL;
	struct debug_function function = { .die = die, .scope = scope };

	if (place)
		*place = (uintptr_t)scope;
	ranges_add_die(&unit->ranges, die);
	/* Ada, D and GNU C nest functions; the classes of lambdas are inside too. */
	functions_add(unit, die, scope, &function, depth + 1);
}

static void functions_add(struct unit *unit, Dwarf_Die *parent, const char *scope,
			  struct debug_function *function, unsigned depth)
{
	struct debug_function outside = { .scope = scope };
	Dwarf_Die die;

	if (depth > SCOPE_DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			function_add(unit, &die, scope, depth);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
		case DW_TAG_enumeration_type:
			functions_add(
				unit, &die,
				scope_inside(unit, &die, scope, function ? function : &outside),
				function, depth + 1);
			break;
		case DW_TAG_lexical_block:
			functions_add(unit, &die, scope, function, depth + 1);
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
		functions_add(unit, &unit->die, "", NULL, 0);
		ranges_sort(&unit->ranges);
	}
	return ranges_find(&unit->ranges, address);
}

static const char *die_text(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr_integrate(die, name, &attr));
}

/* The plain name with its namespaces and classes. In C there are none. */
static const char *die_name_in_scope(struct unit *unit, const Dwarf_Die *die, const char *plain)
{
	const char *scope = die_scope(unit, die);
	const char *name = scope ? arena_printf(&unit->arena, "%s%s", scope, plain) : NULL;

	return name ? name : plain;
}

/*
 * A function's name is at its declaration or abstract origin, to which DWARF leads. If a compiler
 * made the linkage name it says more (namespace, parameters); in C it is just another name.
 */
static const char *die_name(struct unit *unit, Dwarf_Die *die)
{
	const char *plain = die_text(die, DW_AT_name);
	const char *linkage = die_text(die, DW_AT_linkage_name);

	if (!linkage)
		linkage = die_text(die, DW_AT_MIPS_linkage_name);
	if (linkage && (!plain || demangle_is_mangled(linkage)))
		return linkage;
	return plain ? die_name_in_scope(unit, die, plain) : NULL;
}

static uint32_t die_number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &value) != 0)
		return 0;
	return value > UINT32_MAX ? 0 : (uint32_t)value;
}

/* libdw leaves paths relative to the compilation directory; joined with it, if known. */
static const char *file_full(struct unit *unit, const char *file)
{
	Dwarf_Attribute attr;
	const char *folder;
	uint64_t *place;

	if (!file || file[0] == '/' || !dwarf_attr(&unit->lines_die, DW_AT_comp_dir, &attr))
		return file;
	folder = dwarf_formstring(&attr);
	place = folder && folder[0] == '/' ? map_put(&unit->files, (uintptr_t)file, NULL) : NULL;
	if (!place)
		return file;
	if (!*place)
		*place = (uintptr_t)arena_printf(&unit->arena, "%s/%s", folder, file);
	return *place ? (const char *)(uintptr_t)*place : file;
}

static const char *unit_file_name(struct unit *unit, uint32_t index)
{
	Dwarf_Files *files;
	size_t count;

	if (dwarf_getsrcfiles(&unit->lines_die, &files, &count) != 0 || index >= count)
		return NULL;
	return file_full(unit, dwarf_filesrc(files, index, NULL, NULL));
}

static void frame_place_by_line(struct unit *unit, Dwarf_Line *line, struct debug_frame *frame)
{
	int number, column;

	if (!line)
		return;
	frame->file = file_full(unit, dwarf_linesrc(line, NULL, NULL));
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		frame->line = (uint32_t)number;
	if (frame->line && dwarf_linecol(line, &column) == 0)
		frame->column = debug_column((uint32_t)column);
}

static void frame_place_by_call(struct unit *unit, Dwarf_Die *call, struct debug_frame *frame)
{
	frame->line = die_number(call, DW_AT_call_line);
	frame->column = debug_column(die_number(call, DW_AT_call_column));
	if (frame->line)
		frame->file = unit_file_name(unit, die_number(call, DW_AT_call_file));
}

static bool die_has(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, name, &attr) != NULL;
}

/*
 * Compilers make constructors, destructors and assignments of classes that have none, and give them
 * the line where the class begins. Lines of members that are initialised in the class are not that, and
 * neither is what a lambda does, whose function GCC calls artificial, too.
 */
static bool is_implicit(Dwarf_Die *die, uint32_t line)
{
	const char *name = dwarf_diename(die);
	Dwarf_Attribute attr;
	Dwarf_Word decl_line;

	return !(name && strncmp(name, "operator()", strlen("operator()")) == 0) &&
	       die_has(die, DW_AT_artificial) && die_has(die, DW_AT_object_pointer) &&
	       dwarf_attr_integrate(die, DW_AT_decl_line, &attr) &&
	       dwarf_formudata(&attr, &decl_line) == 0 && decl_line == line;
}

static void frame_make_implicit(struct debug_frame *frame)
{
	frame->file = DEBUG_FILE_IMPLICIT;
	frame->line = 0;
	frame->column = 0;
}

size_t debug_info_frames(struct debug_info *info, uint64_t address, struct debug_frame *frames,
			 size_t max)
{
	struct unit *unit = unit_find(info, address);
	struct inline_chain chain = { .count = 0 };
	const struct range *range;
	Dwarf_Die function;
	Dwarf_Line *line;
	size_t count = 0;

	if (!unit || max == 0)
		return 0;
	line = dwarf_getsrc_die(&unit->lines_die, address);
	range = unit_function_find(unit, address);
	if (!range ||
	    !dwarf_offdie(dwarf_cu_getdwarf(unit->die.cu), range->die_offset, &function)) {
		frames[0] = (struct debug_frame) { 0 };
		frame_place_by_line(unit, line, &frames[0]);
		return frames[0].file != NULL;
	}
	inline_chain_fill(&chain, &function, address,
			  line ? dwarf_linesrc(line, NULL, NULL) : NULL);
	for (size_t i = chain.count; i-- > 0 && count + 1 < max;)
		frames[count++] = (struct debug_frame) { .function = die_name(unit, &chain.dies[i]),
							 .is_inlined = true };
	frames[count++] = (struct debug_frame) { .function = die_name(unit, &function) };
	frame_place_by_line(unit, line, &frames[0]);
	/* The call site of an inlined function is the place of the frame around it. */
	for (size_t i = 1; i < count; i++)
		frame_place_by_call(unit, &chain.dies[chain.count - i], &frames[i]);
	for (size_t i = 0; i < count; i++) {
		Dwarf_Die *die = i + 1 < count ? &chain.dies[chain.count - 1 - i] : &function;

		if (is_implicit(die, frames[i].line))
			frame_make_implicit(&frames[i]);
	}
	return count;
}

/* A shared file that libdw does not find by itself, below one of the user's folders. */
static void shared_open(struct debug_info *info, const char *const *dirs)
{
	CLEAN(free) char *path = NULL;
	const char *name;
	const void *build_id;
	ssize_t build_id_bytes;

	if (dwarf_getalt(info->handle))
		return;
	build_id_bytes = dwelf_dwarf_gnu_debugaltlink(info->handle, &name, &build_id);
	if (build_id_bytes > 0)
		path = debug_file_by_build_id(dirs, build_id, (size_t)build_id_bytes);
	if (!path)
		return;
	info->shared_fd = open(path, O_RDONLY | O_CLOEXEC);
	info->shared = info->shared_fd < 0 ? NULL : dwarf_begin(info->shared_fd, DWARF_C_READ);
	if (info->shared)
		dwarf_setalt(info->handle, info->shared);
}

struct err *debug_info_open(const char *path, const char *const *dirs, struct debug_info **info_ret)
{
	CLEAN(debug_info_close) struct debug_info *info = calloc(1, sizeof(*info));
	size_t count;

	if (!info)
		return err_nomem();
	info->shared_fd = -1;
	info->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (info->fd < 0)
		return err_errno("open %s", path);
	info->handle = dwarf_begin(info->fd, DWARF_C_READ);
	if (!info->handle)
		return err_new(ERR_FORMAT, "%s: %s", path, dwarf_errmsg(-1));
	shared_open(info, dirs);
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
	if (unit) {
		ranges_deinit(&unit->ranges);
		map_deinit(&unit->scopes);
		map_deinit(&unit->files);
		arena_deinit(&unit->arena);
	}
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
	if (info->shared)
		dwarf_end(info->shared);
	if (info->shared_fd >= 0)
		close(info->shared_fd);
	if (info->fd >= 0)
		close(info->fd);
	free(info);
}
