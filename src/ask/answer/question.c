#include "answer/question.h"

#include <assert.h>

struct err *question_ask(const struct question *question, const struct asked *asked,
			 const void **result_ret)
{
	void *result = arena_alloc(asked->arena, question->shape->bytes);

	assert(asked->model && asked->names && asked->selection);
	*result_ret = result;
	return result ? question->ask(asked, result) : err_nomem();
}
