/*
 * kernel_sites: what the kernel did inside of calls of the allocator (sums/kernel_events.h), by the
 * function that called it. Internal to findings.
 */
#ifndef MEMTAPE_FINDINGS_KERNEL_SITES_H
#define MEMTAPE_FINDINGS_KERNEL_SITES_H

#include "findings/finding.h"

/* Events of one kind in the calls of a function. */
struct kernel_site {
	uint64_t count, bytes;
	uint64_t first_ns, last_ns;
	uint32_t stack;	      /* of the allocations, that with most events; or the events' own */
	uint64_t stack_count; /* its events */
};

struct kernel_sites {
	uint32_t *site_of;	   /* by stack: the site whose call it is in; count: no site's */
	struct kernel_site *items; /* by site, and one more for what is in no allocation */
	size_t count;		   /* of sites */
};

/* All zeros. Lives in the search's arena. */
struct err *kernel_sites_create(const struct finding_search *search, struct kernel_sites *sites);

/* Adds an event of a stack, which counts for the allocation in whose call it is. */
void kernel_sites_add(const struct finding_search *search, struct kernel_sites *sites,
		      uint32_t stack, uint64_t ns, uint64_t bytes);

/* Events of a kind that did something: FAILED and SHRINK are left out. */
struct err *kernel_sites_find(const struct finding_search *search, enum tape_kernel_kind kind,
			      struct kernel_sites *sites);

/* Events a second, from the first to the last. */
uint64_t kernel_site_rate(const struct kernel_site *site);

/* "1,234 a second" */
void kernel_site_add_rate(struct str *out, const struct kernel_site *site);

#endif
