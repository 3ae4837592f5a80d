/*
 * mismatched_free: blocks freed by a function of another kind than allocated them.
 */
#include "findings/bad_frees.h"
#include "findings/finding.h"

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	return finding_tell_bad_frees(
		search, finder, 1U << BAD_FREE_MISMATCHED,
		"Blocks are possibly freed by another kind of function than allocated them");
}

const struct finder finder_mismatched_free = {
	.type = "mismatched_free",
	.title = "Blocks are freed by another kind of function than allocated them",
	.advice = "What malloc gives goes to free, what new gives to delete, what new[] gives to "
		  "delete[]; all else works by accident.",
	.what = "blocks that another kind of function frees",
	.needs = FINDER_ROWS,
	.find = find,
};
