#include "questions/questions.h"
#include "report/rank.h"

const struct report report_leaks = {
	.question = &question_leaks,
	.text = rank_ranking_text,
};
