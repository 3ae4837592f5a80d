#include "questions/questions.h"
#include "report/report.h"

enum { FILES_SHOWN = 24 };

static void for_text(struct parameters *with)
{
	if (with->top == 0)
		with->top = FILES_SHOWN;
}

const struct report report_files = {
	.question = &question_files,
	.for_text = for_text,
	.none = "No source files are known: build the program with -g, or install its debug files.",
};
