/*
 * graph: which blocks of a program are reachable from its roots, by what, and how much each keeps
 * alive. Knows nothing of processes: blocks, roots and a function that reads memory come in, a
 * scan_image comes out.
 *
 * The classes are those of Memcheck (Valgrind's manual, section 4.2.8). Words are looked at where
 * they are aligned. A pointer to the first byte of a block is a *start* pointer, one to another of
 * its bytes an *interior* pointer; a block of size 0 is taken to have one byte. A heuristic makes
 * an interior pointer count as a start pointer.
 *
 *	reachable  by a chain of start pointers from a root
 *	possible   by other chains from a root
 *	definite   in order of address: a block not reached so far; what it reaches, by pointers of
 *	indirect   either kind, is indirectly lost, also if it was taken to be definitely lost before
 *
 * The parent of a reachable block is on a shortest chain of start pointers, of a possible block on
 * a shortest chain of any pointers, of an indirectly lost one on a shortest chain from the
 * definitely lost block by which it was found; that one may itself be indirectly lost by now. An
 * offset in a holder counts from its lowest root; in registers it is the root's own.
 *
 * Dominators count pointers of all kinds from what is alive, and within lost memory from definitely
 * lost blocks.
 *
 * Bytes of a root that belong to a block that lies wholly in it are not of the root: they are
 * looked at when the block is reached. A root inside a block is one, and its words are also the
 * block's.
 */
#ifndef MEMTAPE_SCAN_GRAPH_H
#define MEMTAPE_SCAN_GRAPH_H

#include "capture/scan_image.h"

/* Reads memory of the program: returns how many bytes from the beginning could be read. */
struct graph_memory {
	size_t (*read)(void *context, uint64_t address, void *buffer, size_t bytes);
	/* Whether this can be a vtable: see TAPE_SCAN_INHERITANCE. NULL: never. */
	bool (*is_vtable)(void *context, uint64_t address);
	void *context;
};

struct graph_root {
	uint64_t begin, end;  /* addresses; of registers: their number times 8 */
	uint32_t holder;      /* index */
	bool starts_only;     /* interior pointers in it mean nothing: libc's own data */
	const uint8_t *bytes; /* contents, if they are no memory: registers; else NULL */
};

struct graph_block {
	uint64_t address; /* not 0 */
	uint64_t size_bytes;
};

struct graph {
	const struct graph_block *blocks; /* by address, ascending; where two overlap, the first
					     ends before the second */
	size_t block_count;		  /* less than 2^31 */
	const struct graph_root *roots;	  /* any order; may overlap blocks */
	size_t root_count;
	size_t holder_count;
	uint32_t heuristics;	/* set of enum tape_scan_heuristic */
	uint32_t pointer_bytes; /* 4 or 8; little-endian */
	struct graph_memory memory;
};

/*
 * Fills blocks, their number and the facts root_bytes, block_bytes and unread_bytes of image, and
 * retained_bytes of its holders (allocated here, other members zero). Where blocks overlap, the
 * image has the size of the first without what the second has of it. Errors: ERR_NOMEM, ERR_LIMIT,
 * ERR_STATE if blocks do not ascend; image is unchanged then.
 *
 * Memory is read in pieces of up to 1 MiB, upwards, and each block once; but for a word of those that
 * a pointer for TAPE_SCAN_INHERITANCE leads to, if their block begins with a vtable. Memory of its
 * own: 48 bytes a block in the image and up to 70 while it works, 12 a pointer, 16 more for an
 * aligned interior pointer if is_vtable is given, 4 KiB for every 256 KiB in which blocks begin.
 * Time: linear in bytes, blocks and pointers; dominators have a logarithm more. The same input
 * gives the same result.
 */
struct err *graph_scan(const struct graph *graph, struct scan_image *image);

#endif
