/*
 * /api/v1/names: the texts that a field has on a tape, for completion.
 */
#include "http/call.h"
#include "http/text_counts.h"

enum { FOUND_MAX = 30 };

static const struct param params[] = {
	{ .name = "field",
	  .kind = PARAM_TEXT,
	  .is_required = true,
	  .doc = "the field, of type `text` or `text of any frame`" },
	{ .name = "prefix",
	  .kind = PARAM_TEXT,
	  .doc = "what they begin with, or have somewhere, in any case of letters" },
	{ .name = "n",
	  .kind = PARAM_NUMBER,
	  .min = 1,
	  .max = FOUND_MAX,
	  .fallback = FOUND_MAX,
	  .doc = "texts at most",
	  .missing = "30" },
};

static struct err *run(struct call *call)
{
	const char *name = call_text(call, "field"), *prefix = call_text(call, "prefix");
	const struct field *field = field_find(name, strlen(name));
	struct text_count found[FOUND_MAX];
	const struct text_counts *counts = NULL;
	struct err *err;
	size_t count;

	if (!field)
		return call_blame(call, "field", err_new(ERR_USAGE, "no field '%.64s'", name));
	err = call_text_counts(call, field, &counts);
	if (err)
		return call_blame(call, "field", err);
	count = text_counts_find(counts, prefix ? prefix : "", found, call_number(call, "n"));
	emit_list(call->emit, "values");
	for (size_t i = 0; i < count; i++) {
		emit_object(call->emit, NULL);
		emit_text(call->emit, "text", found[i].text);
		emit_u64(call->emit, "count", found[i].count, EMIT_COUNT);
		emit_end(call->emit);
	}
	emit_end(call->emit);
	return NULL;
}

const struct route route_api_names = {
	.path = "/api/v1/names",
	.summary = "the texts that a field has on a tape, and how many allocations have each",
	.answer = "Names",
	.flags = ROUTE_TAPE,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
