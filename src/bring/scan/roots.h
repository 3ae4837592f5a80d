/*
 * roots: where a program's own pointers are, outside of blocks: the variables of loaded objects,
 * stacks from the stack pointer up, thread-local memory, registers, and memory that it mapped
 * itself. Not roots are the heap, stacks that libc keeps for later threads, and what belongs to the
 * recorder.
 *
 * Memory of allocators is recognised by what the tape says: it holds live blocks, or was mapped by
 * the library that has malloc; or it is a mapping that the program has not made itself and that
 * looks like an arena of glibc.
 */
#ifndef MEMTAPE_SCAN_ROOTS_H
#define MEMTAPE_SCAN_ROOTS_H

#include "capture/scan_image.h"
#include "model/living.h"
#include "scan/stack_frames.h"
#include "scan/graph.h"
#include "scan/maps.h"
#include "scan/memory.h"
#include "scan/stop.h"
#include "tape/stack_board.h"

struct roots_request {
	const struct stop *stop;
	const struct maps *maps;
	const struct living *living;
	const struct stack_place *places; /* where stacks are, as far as known */
	size_t place_count;
	uint64_t spool_inode;
	pid_t exit_tid;	  /* the thread that ends the process; 0: none */
	uint64_t exit_sp; /* its stack pointer where the program's own frames end */
	struct memory memory;
};

VEC_DEFINE(graph_roots, struct graph_root);
VEC_DEFINE(scan_image_holders, struct scan_image_holder);

struct roots {
	struct graph_roots ranges; /* bytes of registers are borrowed from the stop */
	struct scan_image_holders holders;
	struct scan_image_frames frames; /* of stacks; by holder and address */
	struct str texts;		 /* names of holders; begins with a NUL */
};

struct err *roots_find(const struct roots_request *request, struct roots *roots);
void roots_deinit(struct roots *roots);
CLEAN_DEFINE_DEINIT(roots_deinit, struct roots);

#endif
