/*
 * mallopts: the program's tuning of its allocator (answer/mallopts.c).
 */
#include "questions/questions.h"
#include "report/report.h"

const struct report report_mallopts = {
	.question = &question_mallopts,
	.none = "The program called neither mallopt nor malloc_trim.",
	.none_then = "The program called neither mallopt nor malloc_trim then.",
};
