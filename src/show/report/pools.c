/*
 * pools: the program's own pools (questions/pools.c).
 */
#include "questions/questions.h"
#include "report/report.h"

const struct report report_pools = {
	.question = &question_pools,
	.none = "The program said nothing of pools; it does with memtape_pool_create(3).",
};
