#include "questions/questions.h"
#include "report/rank.h"

const struct report report_temporary = {
	.question = &question_temporary,
	.text = rank_ranking_text,
};
