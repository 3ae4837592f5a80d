/*
 * page: what follows from the size of the kernel's pages. A part of rec.h, which includes it.
 */
#ifndef MEMTAPE_REC_PAGE_H
#define MEMTAPE_REC_PAGE_H

#include "rec/rec.h"

/*
 * How many pages to ask mincore() for, whose answers fit `bytes` even if they are of smaller pages:
 * an emulator's are the host's.
 */
static inline size_t rec_pages_at_once(size_t bytes)
{
	return bytes / (size_t)(rec.page_bytes / 4096);
}

/* Bytes before an appended slot in its first page: the header is smaller than some pages. */
static inline size_t rec_slot_lead(void)
{
	return TAPE_HEADER_BYTES & ((size_t)rec.page_bytes - 1);
}

#endif
