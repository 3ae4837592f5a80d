/*
 * site_order: which functions a list shows, and in what order, where what they are ranked by is not
 * in their sums. Internal to questions.
 */
#ifndef MEMTAPE_QUESTIONS_SITE_ORDER_H
#define MEMTAPE_QUESTIONS_SITE_ORDER_H

#include "answer/question.h"

/* By first, the largest first, then by second; equal ones stay as they are. */
struct site_rank {
	uint64_t first, second;
	bool is_shown;
};

/*
 * ranks: of all sites, by site. *order_ret, in asked's arena: *count_ret of them, those shown, at
 * most --top (100).
 */
struct err *site_order(const struct asked *asked, const struct site_rank *ranks, size_t site_count,
		       const uint32_t **order_ret, size_t *count_ret);

#endif
