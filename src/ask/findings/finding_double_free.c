/*
 * double_free: blocks that were freed twice.
 */
#include "findings/bad_frees.h"
#include "findings/finding.h"

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	return finding_tell_bad_frees(search, finder, 1U << BAD_FREE_DOUBLE,
				      "A block is possibly freed twice");
}

const struct finder finder_double_free = {
	.type = "double_free",
	.title = "A block is freed twice",
	.advice =
		"Let one owner free it, and forget the pointer then. Either of both frees may be "
		"the wrong one: it may have been meant for a block that was at the address before.",
	.what = "blocks that are freed twice",
	.needs = FINDER_ROWS,
	.find = find,
};
