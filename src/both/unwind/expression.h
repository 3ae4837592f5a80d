/*
 * expression: DWARF expressions of call frame information, run without trusting them.
 *
 * Private to the room. Bounded in steps, stack and memory; async-signal-safe.
 */
#ifndef MEMTAPE_UNWIND_EXPRESSION_H
#define MEMTAPE_UNWIND_EXPRESSION_H

#include "unwind/bytes.h"
#include "unwind/rule.h"

/* False: must not be read. */
bool memory_load(const struct unwind_memory *memory, uint64_t address, uint64_t *ret);

/*
 * Runs the operations with *first on the stack (NULL: an empty stack); the result is its top.
 * False: malformed, too long, or it needs a register that is not known or memory out of bounds.
 */
bool expression_run(struct bytes operations, const struct unwind_memory *memory,
		    const struct unwind_regs *regs, const uint64_t *first, uint64_t *ret);

#endif
