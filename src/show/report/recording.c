#include "questions/questions.h"
#include "report/answered.h"

static struct err *text(const struct report_context *context, const void *answer, FILE *out)
{
	return answered_document(&question_recording, context, answer, out);
}

const struct report report_recording = {
	.question = &question_recording,
	.text = text,
};
