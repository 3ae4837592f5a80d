/*
 * debug_inlines: the calls that a compiler inlined at an address. A part of the adapter of elfutils'
 * libdw. Internal to symbol.
 */
#ifndef MEMTAPE_SYMBOL_DEBUG_INLINES_H
#define MEMTAPE_SYMBOL_DEBUG_INLINES_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

enum { INLINE_DEPTH_MAX = 128 };

/* Inlined calls that cover address, outermost first. */
struct inline_chain {
	Dwarf_Die dies[INLINE_DEPTH_MAX];
	size_t count;
};

/*
 * Fills an empty chain for an address in function. file: of the line table there, as libdw spells
 * it; NULL: unknown.
 *
 * Where a compiler threads jumps or joins equal code, it may drop the scope of an inlined call and
 * keep its lines: then a line of a header stands in the user's function, though nobody inlined
 * covers it. The code of that call goes on right beside: the call nearest to address is added, if
 * functions of that file are inlined in it.
 */
void inline_chain_fill(struct inline_chain *chain, Dwarf_Die *function, uint64_t address,
		       const char *file);

#endif
