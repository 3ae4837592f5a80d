/*
 * no_marks: of processors whose .eh_frame has no operations and letters of their own; see native.h.
 */
#ifndef MEMTAPE_ARCH_NO_MARKS_H
#define MEMTAPE_ARCH_NO_MARKS_H

#include <stdbool.h>
#include <stdint.h>

static inline bool arch_cfa_is_mark(uint8_t op)
{
	(void)op;
	return false;
}

static inline bool arch_augmentation_is_mark(char letter)
{
	(void)letter;
	return false;
}

#endif
