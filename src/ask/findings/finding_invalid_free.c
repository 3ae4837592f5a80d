/*
 * invalid_free: frees of pointers that are not blocks.
 */
#include "findings/bad_frees.h"
#include "findings/finding.h"

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	return finding_tell_bad_frees(search, finder,
				      1U << BAD_FREE_INSIDE | 1U << BAD_FREE_REFUSED,
				      "A pointer is freed that is possibly no block's");
}

const struct finder finder_invalid_free = {
	.type = "invalid_free",
	.title = "A pointer that is not a block's is freed",
	.advice = "Free what the allocating function returned, and nothing that lies in it or was "
		  "not allocated.",
	.what = "pointers that are freed and are no block's",
	.needs = FINDER_ROWS,
	.find = find,
};
