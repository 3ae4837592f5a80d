#include "symbol/debug_variables.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>

#include "base/arena.h"
#include "base/sort.h"
#include "base/str.h"
#include "base/vec.h"

enum {
	/* Depth limits: the recursions below are as deep as hostile DWARF asks. */
	SCOPE_DEPTH_MAX = 64,
	TYPE_DEPTH_MAX = 24,
	NAME_BYTES_MAX = 2048,
	VARIABLES_MAX = 1 << 22
};

/* An index is the place of an entry. */
struct entry {
	uint64_t address;
	uint64_t die_offset;
};

VEC_DEFINE(entry_vec, struct entry);

struct debug_variables {
	int fd;
	Dwarf *handle;
	struct entry_vec entries; /* sorted by address */
	struct arena arena;	  /* of types */
};

/* --- all variables ---------------------------------------------------------------------------- */

static bool has_address(Dwarf_Die *die, uint64_t *address_ret)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t count;

	if (!dwarf_attr(die, DW_AT_location, &attr) ||
	    dwarf_getlocation(&attr, &ops, &count) != 0 || count != 1)
		return false;
	if (ops[0].atom == DW_OP_addrx || ops[0].atom == DW_OP_GNU_addr_index) {
		Dwarf_Attribute indirect;

		if (dwarf_getlocation_attr(&attr, ops, &indirect) != 0)
			return false;
		return dwarf_formaddr(&indirect, address_ret) == 0;
	}
	*address_ret = ops[0].number;
	return ops[0].atom == DW_OP_addr;
}

static bool entries_add(struct entry_vec *entries, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (depth > SCOPE_DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return true;
	do {
		struct entry entry = { .die_offset = dwarf_dieoffset(&die) };

		switch (dwarf_tag(&die)) {
		case DW_TAG_variable:
			if (has_address(&die, &entry.address) &&
			    (entries->count >= VARIABLES_MAX || !entry_vec_push(entries, entry)))
				return false;
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_subprogram: /* static ones */
		case DW_TAG_lexical_block:
			if (!entries_add(entries, &die, depth + 1))
				return false;
			break;
		default:
			break;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
	return true;
}

static int compare_entries(const void *context, const void *a, const void *b)
{
	const struct entry *left = a, *right = b;

	(void)context;
	return sort_compare_u64(left->address, right->address);
}

static struct err *entries_fill(struct debug_variables *variables)
{
	struct entry_vec *entries = &variables->entries;
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, subdie;
	uint8_t type;

	while (dwarf_get_units(variables->handle, cu, &cu, NULL, &type, &die, &subdie) == 0)
		if (type == DW_UT_compile && !entries_add(entries, &die, 0))
			return err_nomem();
	return sort_stable(entries->items, entries->count, sizeof(*entries->items), compare_entries,
			   NULL)
		       ? NULL
		       : err_nomem();
}

struct err *debug_variables_open(const char *path, struct debug_variables **variables_ret)
{
	CLEAN(debug_variables_close)
	struct debug_variables *variables = calloc(1, sizeof(*variables));
	struct err *err;

	if (!variables)
		return err_nomem();
	variables->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (variables->fd < 0)
		return err_errno("open %s", path);
	variables->handle = dwarf_begin(variables->fd, DWARF_C_READ);
	if (!variables->handle)
		return err_new(ERR_FORMAT, "%s: %s", path, dwarf_errmsg(-1));
	err = entries_fill(variables);
	if (!err)
		*variables_ret = steal(variables);
	return err;
}

void debug_variables_close(struct debug_variables *variables)
{
	if (!variables)
		return;
	entry_vec_deinit(&variables->entries);
	arena_deinit(&variables->arena);
	if (variables->handle)
		dwarf_end(variables->handle);
	if (variables->fd >= 0)
		close(variables->fd);
	free(variables);
}

/* --- types ------------------------------------------------------------------------------------ */

/* "std::", of the namespaces and classes around a type. */
static void scopes_add(struct str *out, Dwarf_Die *die)
{
	Dwarf_Die *scopes = NULL;
	const int count = dwarf_getscopes_die(die, &scopes);

	for (int i = count - 1; i > 0; i--) {
		const char *name = dwarf_diename(&scopes[i]);

		switch (dwarf_tag(&scopes[i])) {
		case DW_TAG_namespace:
			str_printf(out, "%.256s::", name ? name : "(anonymous namespace)");
			break;
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
			if (name)
				str_printf(out, "%.1024s::", name);
			break;
		default:
			break;
		}
	}
	free(scopes);
}

static bool is_c(Dwarf_Die *die)
{
	Dwarf_Die unit;

	if (!dwarf_diecu(die, &unit, NULL, NULL))
		return false;
	switch (dwarf_srclang(&unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
		return true;
	default:
		return false;
	}
}

static void named_add(struct str *out, Dwarf_Die *die, const char *keyword)
{
	const char *name = dwarf_diename(die);

	if (is_c(die))
		str_add(out, keyword);
	else
		scopes_add(out, die);
	str_printf(out, "%.1024s", name ? name : "(unnamed)");
}

static void bounds_add(struct str *out, Dwarf_Die *array)
{
	Dwarf_Die bound;

	if (dwarf_child(array, &bound) != 0)
		return;
	do {
		Dwarf_Attribute attr;
		Dwarf_Word number;

		if (dwarf_tag(&bound) != DW_TAG_subrange_type)
			continue;
		if (dwarf_attr(&bound, DW_AT_count, &attr) && dwarf_formudata(&attr, &number) == 0)
			str_printf(out, "[%llu]", (unsigned long long)number);
		else if (dwarf_attr(&bound, DW_AT_upper_bound, &attr) &&
			 dwarf_formudata(&attr, &number) == 0)
			str_printf(out, "[%llu]", (unsigned long long)number + 1);
		else
			str_add(out, "[]");
	} while (dwarf_siblingof(&bound, &bound) == 0);
}

static void type_add(struct str *out, Dwarf_Die *of, unsigned depth);

/* What the type says of another one, behind that one's name. */
static void suffix_add(struct str *out, Dwarf_Die *type, unsigned depth, const char *suffix)
{
	type_add(out, type, depth + 1);
	if (out->len > 0 && out->ptr[out->len - 1] == '*' && suffix[1] == '*')
		suffix++; /* "**", not "* *" */
	str_add(out, suffix);
}

static void one_type_add(struct str *out, Dwarf_Die *type, unsigned depth)
{
	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
		suffix_add(out, type, depth, " *");
		break;
	case DW_TAG_reference_type:
		suffix_add(out, type, depth, " &");
		break;
	case DW_TAG_rvalue_reference_type:
		suffix_add(out, type, depth, " &&");
		break;
	case DW_TAG_const_type:
		suffix_add(out, type, depth, " const");
		break;
	case DW_TAG_volatile_type:
		suffix_add(out, type, depth, " volatile");
		break;
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
		type_add(out, type, depth + 1);
		break;
	case DW_TAG_array_type:
		type_add(out, type, depth + 1);
		bounds_add(out, type);
		break;
	case DW_TAG_subroutine_type:
		str_add(out, "(function)");
		break;
	case DW_TAG_structure_type:
		named_add(out, type, "struct ");
		break;
	case DW_TAG_union_type:
		named_add(out, type, "union ");
		break;
	case DW_TAG_enumeration_type:
		named_add(out, type, "enum ");
		break;
	default:
		named_add(out, type, "");
		break;
	}
}

/* The type that a DIE names; void without one. */
static void type_add(struct str *out, Dwarf_Die *of, unsigned depth)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;

	if (depth > TYPE_DEPTH_MAX || out->len > NAME_BYTES_MAX)
		str_add(out, "...");
	else if (dwarf_attr_integrate(of, DW_AT_type, &attr) && dwarf_formref_die(&attr, &type))
		one_type_add(out, &type, depth);
	else
		str_add(out, "void");
}

bool debug_variables_find(struct debug_variables *variables, uint64_t address,
			  struct debug_variable *variable_ret)
{
	const struct entry_vec *entries = &variables->entries;
	CLEAN(str_deinit) struct str type = { 0 };
	size_t low = 0, high = entries->count;
	Dwarf_Die die;
	int line = 0;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (entries->items[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == entries->count || entries->items[low].address != address ||
	    !dwarf_offdie(variables->handle, entries->items[low].die_offset, &die))
		return false;
	*variable_ret = (struct debug_variable) { .file = dwarf_decl_file(&die) };
	if (dwarf_decl_line(&die, &line) == 0 && line > 0)
		variable_ret->line = (uint32_t)line;
	if (dwarf_hasattr_integrate(&die, DW_AT_type)) {
		type_add(&type, &die, 0);
		variable_ret->type = arena_strdup(&variables->arena, str_text(&type));
	}
	return true;
}
