#include "questions/questions.h"
#include "report/report.h"

enum { ROWS_SHOWN = 24 };

static void for_text(struct parameters *with)
{
	if (with->top == 0)
		with->top = ROWS_SHOWN;
}

const struct report report_modules = {
	.question = &question_modules,
	.for_text = for_text,
};
