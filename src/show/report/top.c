#include "questions/questions.h"
#include "report/rank.h"

const struct report report_top = {
	.question = &question_top,
	.text = rank_ranking_text,
};
