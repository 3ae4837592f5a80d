#include "http/api_parts.h"

#include "answer/speak.h"
#include "sums/name_hash.h"

const char *const api_order_words[] = { "asc", "dsc", NULL };

struct err *api_select(struct call *call, const struct selection **selection_ret)
{
	struct names *names;
	struct err *err = call_names(call, &names);

	return err ? err : call_select(call, selection_ret);
}

struct err *api_at(struct call *call, uint64_t *at_ns_ret)
{
	return call_moment(call, "at", model_totals(call->model)->peak_ns, at_ns_ret);
}

struct err *api_range(struct call *call, struct api_range *range_ret)
{
	const uint64_t end_ns = model_process(call->model)->duration_ns;
	struct api_range range = { 0 };
	struct err *err = call_moment(call, "from", 0, &range.from_ns);

	if (!err)
		err = call_moment(call, "until", end_ns, &range.until_ns);
	if (err)
		return err;
	if (range.from_ns > range.until_ns)
		return call_blame(call, "from",
				  err_new(ERR_USAGE, "the moment to begin from is later than the "
						     "one to end at"));
	/* What happens at a moment has happened then. */
	range.until_ns = u64_min(range.until_ns, UINT64_MAX - 1) + 1;
	*range_ret = range;
	return NULL;
}

void api_sum_begin(struct emit *emit, const char *key, struct model_sum sum)
{
	emit_object(emit, key);
	emit_u64(emit, "bytes", sum.bytes, EMIT_BYTES);
	emit_u64(emit, "count", sum.count, EMIT_COUNT);
}

void api_sum(struct emit *emit, const char *key, struct model_sum sum)
{
	api_sum_begin(emit, key, sum);
	emit_end(emit);
}

const char *api_module(const struct name *name)
{
	return name->module[0] ? name->module_short : NULL;
}

void api_function(struct call *call, const struct names *names, const struct name_frame *frame)
{
	const struct name *name = names_get(names, frame->name);

	json_hash(call->emit, "hash", name_hash(call->model, name));
	emit_text(call->emit, "function", name->function);
	emit_text(call->emit, "module", api_module(name));
	emit_text(call->emit, "file", frame->file);
	json_u64_or_null(call->emit, "line", frame->line, 0);
}

void api_stack(struct call *call, struct names *names, const char *key, uint32_t stack,
	       size_t frame_max)
{
	const struct speaker speaker = { call->emit, call->model, names, WALK_ALL };
	struct err *err = speak_stack(&speaker, key, stack, frame_max);

	if (err)
		emit_fail(call->emit);
	err_destroy(err);
}

void api_key(struct emit *emit, const char *key, uint64_t value)
{
	char digits[STR_SHORT_BYTES];

	emit_text(emit, key, str_format(digits, sizeof(digits), "%llu", (unsigned long long)value));
}
