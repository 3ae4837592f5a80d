#include "symbol/debug_inlines.h"

#include <assert.h>
#include <dwarf.h>
#include <string.h>

#include "core/core.h"

enum {
	SCOPE_DEPTH_MAX = 256, /* of nested scopes: hostile DWARF asks for any */
	LOST_DEPTH_MAX = 32,   /* where a lost scope is looked for: recursion */
	LOST_BYTES_MAX = 64    /* of code between it and the address */
};

static bool is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
	       tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

static void cover(struct inline_chain *chain, Dwarf_Die *function, uint64_t address)
{
	Dwarf_Die parent = *function;
	Dwarf_Die die;

	for (unsigned depth = 0; depth < SCOPE_DEPTH_MAX; depth++) {
		bool is_inside = false;

		if (dwarf_child(&parent, &die) != 0)
			return;
		do {
			const int tag = dwarf_tag(&die);

			if (tag != DW_TAG_inlined_subroutine && !is_block(tag))
				continue;
			/* A block without ranges contains only declarations. */
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

/*
 * The file that an attribute names; NULL: unknown, as in split debug information, whose line table is
 * elsewhere. dwarf_decl_file() asserts that there is one.
 */
static const char *file_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	Dwarf_Die unit;
	Dwarf_Word index;
	size_t count;

	if (!dwarf_attr_integrate(die, name, &attr) || dwarf_formudata(&attr, &index) != 0 ||
	    !dwarf_cu_die(attr.cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) ||
	    dwarf_getsrcfiles(&unit, &files, &count) != 0 || index >= count)
		return NULL;
	return dwarf_filesrc(files, index, NULL, NULL);
}

static bool is_named(Dwarf_Die *die, unsigned name, const char *file)
{
	const char *named = file_of(die, name);

	return named && strcmp(named, file) == 0;
}

/* Whether a function of the file is inlined in die, or is die itself. */
static bool has_inlined_of(Dwarf_Die *die, const char *file, unsigned depth)
{
	const bool is_inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine;
	Dwarf_Die child;

	if (is_inlined && is_named(die, DW_AT_decl_file, file))
		return true;
	if ((!is_inlined && !is_block(dwarf_tag(die))) || depth >= LOST_DEPTH_MAX ||
	    dwarf_child(die, &child) != 0)
		return false;
	do {
		if (has_inlined_of(&child, file, depth + 1))
			return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* Bytes between address and the code of die; 0 if it covers it. */
static uint64_t distance_of(Dwarf_Die *die, uint64_t address)
{
	uint64_t least = UINT64_MAX;
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		if (low >= high)
			continue;
		least = u64_min(least, address < low	? low - address
				       : address < high ? 0
							: address - high + 1);
	}
	return least;
}

struct lost {
	uint64_t address;
	const char *file;
	const char *caller; /* the file of the function that it was inlined into */
	uint64_t distance;  /* of the nearest so far */
	Dwarf_Die die;
};

static void look_for(struct lost *lost, Dwarf_Die *scope, unsigned depth)
{
	Dwarf_Die die;

	if (depth >= LOST_DEPTH_MAX || dwarf_child(scope, &die) != 0)
		return;
	do {
		uint64_t distance;

		if (is_block(dwarf_tag(&die)))
			look_for(lost, &die, depth + 1);
		if (dwarf_tag(&die) != DW_TAG_inlined_subroutine)
			continue;
		distance = distance_of(&die, lost->address);
		if (distance >= lost->distance || !is_named(&die, DW_AT_call_file, lost->caller) ||
		    !has_inlined_of(&die, lost->file, 0))
			continue;
		lost->distance = distance;
		lost->die = die;
	} while (dwarf_siblingof(&die, &die) == 0);
}

void inline_chain_fill(struct inline_chain *chain, Dwarf_Die *function, uint64_t address,
		       const char *file)
{
	struct lost lost = { .address = address, .file = file, .distance = LOST_BYTES_MAX + 1 };
	Dwarf_Die *scope;

	assert(chain->count == 0);
	cover(chain, function, address);
	scope = chain->count > 0 ? &chain->dies[chain->count - 1] : function;
	lost.caller = file_of(scope, DW_AT_decl_file);
	if (!file || chain->count >= INLINE_DEPTH_MAX || !lost.caller ||
	    strcmp(lost.caller, file) == 0)
		return;
	look_for(&lost, scope, 0);
	if (lost.distance <= LOST_BYTES_MAX)
		chain->dies[chain->count++] = lost.die;
}
