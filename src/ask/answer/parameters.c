#include "answer/parameters.h"

#include <assert.h>

#include "groups/groups.h"

/* clang-format off */
#define PARAMETER(field, name, letter, arg, kind, questions, doc, words, max, usual)               \
	[PARAMETER_##field] = { name, PARAMETER_IS_##kind, offsetof(struct parameters, field),     \
				doc, words, max, usual, NULL, questions },
#define OPERAND(field, name, arg, kind, doc)                                                       \
	[PARAMETER_##field] = { name, PARAMETER_IS_##kind, offsetof(struct parameters, field),     \
				doc, NULL, 0, 0, arg, "" },
/* clang-format on */
const struct parameter parameter_table[PARAMETER_COUNT] = {
#include "answer/parameters.def"
};
#undef PARAMETER
#undef OPERAND

struct parameters parameters_usual(void)
{
	return (struct parameters) {
#define PARAMETER(field, name, letter, arg, kind, questions, doc, words, max, usual) .field = usual,
#define OPERAND(field, name, arg, kind, doc)
#include "answer/parameters.def"
#undef PARAMETER
#undef OPERAND
	};
}

bool parameter_is_given(const struct parameters *parameters, enum parameter_id id)
{
	const struct parameter *parameter = &parameter_table[id];
	const void *place = (const char *)parameters + parameter->place;

	assert((unsigned)id < PARAMETER_COUNT);
	switch (parameter->kind) {
	case PARAMETER_IS_TEXT:
	case PARAMETER_IS_FILTER:
	case PARAMETER_IS_MOMENT:
		return *(const char *const *)place != NULL;
	case PARAMETER_IS_NUMBER:
		return *(const uint64_t *)place != parameter->usual;
	case PARAMETER_IS_FLAG:
		return *(const bool *)place;
	case PARAMETER_IS_CHOICE:
		break;
	}
	return (uint64_t) * (const int *)place != parameter->usual;
}
