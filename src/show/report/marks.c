/*
 * marks: moments named by the program itself (answer/marks.c).
 */
#include "questions/questions.h"
#include "report/report.h"

const struct report report_marks = {
	.question = &question_marks,
	.none = "The program set no marks; it does with memtape_mark(3).",
	.none_then = "The program set no marks in that time.",
};
