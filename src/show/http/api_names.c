/*
 * /api/v1/names: the texts of a field on a tape, for completion.
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

struct names_answer {
	struct shape_rows values;
};

static const struct member value_members[] = {
	MEMBER(struct text_count, text, TEXT, NULL),
	MEMBER(struct text_count, count, COUNT, "allocations that have it"),
};
static const struct shape shape_value = SHAPE("NameCount", struct text_count, value_members);

static const struct member names_members[] = {
	MEMBER(struct names_answer, values, ROWS, "those that most allocations have first",
	       .shape = &shape_value),
};
static const struct shape shape_names = SHAPE("Names", struct names_answer, names_members);

static struct err *find(struct call *call, void *answer)
{
	const char *name = call_text(call, "field"), *prefix = call_text(call, "prefix");
	const struct field *field = field_find(name, strlen(name));
	struct text_count *found = arena_array(call->arena, FOUND_MAX, sizeof(*found));
	const struct text_counts *counts = NULL;
	struct names_answer *names = answer;
	struct err *err;

	if (!field)
		return call_blame(call, "field", err_new(ERR_USAGE, "no field '%.64s'", name));
	err = call_text_counts(call, field, &counts);
	if (err)
		return call_blame(call, "field", err);
	if (!found)
		return err_nomem();
	names->values.items = found;
	names->values.count =
		text_counts_find(counts, prefix ? prefix : "", found, call_number(call, "n"));
	return NULL;
}

const struct route route_api_names = {
	.path = "/api/v1/names",
	.summary = "the texts that a field has on a tape, and how many allocations have each",
	.shape = &shape_names,
	.flags = ROUTE_TAPE,
	.params = params,
	.param_count = array_size(params),
	.find = find,
};
