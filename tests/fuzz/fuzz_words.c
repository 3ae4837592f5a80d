/*
 * What command lines say about moments, spans of time and conditions: any text is understood within
 * its bounds, or refused with a message.
 */
#include <stdlib.h>
#include <string.h>

#include "compare/gate.h"
#include "select/moment.h"

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_error(struct err *err)
{
	check(err_code_of(err) == ERR_USAGE && err_message(err)[0]);
	err_destroy(err);
}

static void check_moment(const struct moment *moment, const char *text)
{
	const char *end = text + strlen(text);

	check(moment->kind <= MOMENT_MARK);
	check(moment->kind != MOMENT_PERCENT || moment->value <= 100000);
	if (moment->kind == MOMENT_MARK)
		check(moment->mark > text && moment->mark_len > 0 &&
		      moment->mark + moment->mark_len < end);
}

static void check_gate(const struct gate *gate, const char *text)
{
	const size_t len = strlen(text);

	check(gate->count > 0 && gate->count <= GATE_CONDITIONS_MAX);
	for (size_t i = 0; i < gate->count; i++) {
		const struct gate_condition *condition = &gate->conditions[i];
		const struct gate_value most = { UINT64_MAX, GATE_UNITS_MAX };
		const struct gate_value least = { 0, 1 };

		check((unsigned)condition->metric < METRICS);
		check(condition->text >= text && condition->text_len <= len &&
		      condition->text + condition->text_len <= text + len);
		check(!condition->is_percent ||
		      condition->limit <= (uint64_t)GATE_PERCENT_MAX * 10000 + 9999);
		check(!gate_is_exceeded(condition, most, least));
		check(!gate_is_exceeded(condition, most, most));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct moment_span span;
	struct moment moment;
	struct gate gate;
	struct err *err;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	err = moment_parse(text, &moment);
	if (err)
		check_error(err);
	else
		check_moment(&moment, text);
	err = moment_span_parse(text, &span);
	if (err) {
		check_error(err);
	} else {
		check_moment(&span.from, text);
		check_moment(&span.until, text);
	}
	err = gate_parse(text, &gate);
	if (err)
		check_error(err);
	else
		check_gate(&gate, text);
	free(text);
	return 0;
}
