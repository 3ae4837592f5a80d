/*
 * huge_losses: huge pages that were probably split, from HUGE_LOST records (tape/tape_kernel.h): one
 * for each mapping that lost some. An estimate, for tapes without the kernel's own events.
 */
#ifndef MEMTAPE_SPACE_HUGE_LOSSES_H
#define MEMTAPE_SPACE_HUGE_LOSSES_H

#include "space/range_owner.h"

enum { HUGE_LOSSES_MAX = 16 /* those with most are looked at */ };

struct huge_loss {
	uint64_t begin, end;   /* addresses, of the largest record */
	uint64_t ns;	       /* of it */
	uint64_t count;	       /* huge pages that were split, at least */
	uint64_t page_bytes;   /* of each */
	uint64_t before_bytes; /* in huge pages before, at most */
	struct range_owner owner;
};

struct huge_losses {
	struct huge_loss *items; /* most first */
	size_t count;
	uint64_t split_count; /* of all, also those not looked at */
	uint64_t page_bytes;
};

/* Records from from_ns until until_ns, both inclusive. Lives in the arena. */
struct err *huge_losses_find(const struct model *model, uint64_t from_ns, uint64_t until_ns,
			     struct arena *arena, struct huge_losses *losses_ret);

#endif
