/*
 * places: which functions of an object are probed, and at which of their instructions.
 *
 * Private to the room.
 */
#ifndef MEMTAPE_BPF_PLACES_H
#define MEMTAPE_BPF_PLACES_H

#include "base/vec.h"
#include "bpf/kernel_shared.h"
#include "symbol/elf_file.h"
#include "tape/tape.h"

struct place {
	const char *function; /* a constant */
	uint64_t address;     /* of the function, in the object */
	uint64_t offset;      /* of the instruction, in the file */
	enum tape_fn fn;
	enum probes_shape shape;
	bool is_free;
	bool is_cheap; /* the kernel emulates the instruction instead of stepping over it */
};

VEC_DEFINE(places, struct place);

/*
 * Appends those of an object that defines malloc(); one that does not has none. False: out of
 * memory.
 */
bool places_find(const struct elf_file *file, struct places *places);

/*
 * The first instruction that the kernel emulates, while the arguments are still where they were
 * passed; 0 if there is none. `arguments`: a bit for each that is looked at, from the first. If
 * `is_returning`, the stack pointer must not have moved either: the return address is replaced.
 */
size_t places_cheap(const uint8_t *code, size_t bytes, unsigned arguments, bool is_returning,
		    bool *is_cheap_ret);

/* operator new and its kind: number on the tape by the linkage name; false: it is none. */
bool places_is_new(const char *name, enum tape_fn *fn_ret);

#endif
