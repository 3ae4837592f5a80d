/*
 * cfa: the interpreter of call frame programs: one row of the table an FDE stands for.
 *
 * Private to the room. A row takes about 300 bytes of stack, a run about 2 KiB. Async-signal-safe.
 */
#ifndef MEMTAPE_UNWIND_CFA_H
#define MEMTAPE_UNWIND_CFA_H

#include "unwind/frames.h"

/* Where a register's value in the caller is (DWARF 5, section 6.4.1). */
enum cfa_where {
	CFA_UNSET = 0,	       /* unspecified: the architecture's convention */
	CFA_SAME = 1,	       /* still in the register */
	CFA_UNDEFINED = 2,     /* lost */
	CFA_OFFSET = 3,	       /* saved at CFA + offset */
	CFA_VAL_OFFSET = 4,    /* is CFA + offset */
	CFA_REGISTER = 5,      /* in register number offset */
	CFA_EXPRESSION = 6,    /* saved at the expression's value */
	CFA_VAL_EXPRESSION = 7 /* is the expression's value */
};

/*
 * An expression is encoded as the distance of its block (uleb length, then operations) from
 * unwind_object.frames_begin. Only the interpreter writes such distances, so they are in bounds.
 */
struct cfa_row {
	uint8_t where[ARCH_REGS];
	uint8_t cfa_is_expression;
	uint8_t cfa_is_set;
	uint64_t cfa_reg;
	int64_t cfa_offset;
	int64_t cfa_expression;
	int64_t value[ARCH_REGS];
};

/*
 * Everything known of the code at pc, by whatever tables the object has. FRAMES_ENTRY: *row_ret is the
 * row in force there, and *entry_ret what it is of; where ARM's index says it, that has ra_reg and is_signal only.
 */
enum frames_found cfa_find(const struct unwind_object *object, uint64_t pc,
			   struct frame_entry *entry_ret, struct cfa_row *row_ret);

/*
 * Visits all rows of the entry with the addresses from which they hold, ascending; what is malformed
 * has none. False: visit said so.
 */
bool cfa_rows_each(const struct unwind_object *object, const struct frame_entry *entry,
		   bool (*visit)(void *context, uint64_t pc, const struct cfa_row *row),
		   void *context);

/* The operations of an expression block found in a row: bounded by the section. */
struct bytes cfa_expression(const struct unwind_object *object, int64_t value);

#endif
