#include "http/api_parts.h"

#include <assert.h>

#include "answer/frame.h"
#include "sums/name_hash.h"
#include "sums/scans.h"

enum walk_mode api_frames(struct call *call)
{
	return (enum walk_mode)call_choice(call, "frames");
}

const char *const api_order_words[] = { "asc", "dsc", NULL };

struct err *api_select(struct call *call, const struct selection **selection_ret)
{
	struct names *names;
	struct err *err = call_names(call, &names);

	assert(route_flags(call->route) & ROUTE_SELECTS);
	return err ? err : call_select(call, selection_ret);
}

struct err *api_at(struct call *call, uint64_t *at_ns_ret)
{
	return call_moment(call, "at", model_totals(call->model)->peak_ns, at_ns_ret);
}

struct err *api_measure(struct call *call, struct measure *measure_ret)
{
	struct measure measure = { .metric = (enum metric)call_choice(call, "m"),
				   .scan = call_number(call, "scan") };
	const struct model_scan *scan = NULL;
	struct err *err = api_at(call, &measure.at_ns);

	if (!err && measure.metric == METRIC_RETAINED)
		err = call_blame(call, measure.scan ? "scan" : "m",
				 scan_choose(call->model, measure.scan, &scan));
	if (scan)
		measure.scan = scan->id;
	if (!err)
		*measure_ret = measure;
	return err;
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
				  err_new(ERR_USAGE, "the start is later than the end"));
	/* What happens at a moment is included. */
	range.until_ns = u64_min(range.until_ns, UINT64_MAX - 1) + 1;
	*range_ret = range;
	return NULL;
}

const char *const api_unit_words[] = { "bytes", "count", NULL };

const char *api_unit(enum metric metric)
{
	assert((unsigned)metric < METRICS_KEYED);
	return api_unit_words[!metric_is_bytes(metric)];
}

const char *api_module(const struct name *name)
{
	return name->module[0] ? name->module_short : NULL;
}

static const struct member function_members[] = {
	MEMBER(struct api_function, hash, HASH,
	       "identifies the function; the same on every tape and in every version"),
	MEMBER(struct api_function, function, TEXT, "its name"),
	MEMBER(struct api_function, brief, TEXT, PLACE_BRIEF_MEANING),
	MEMBER(struct api_function, module, TEXT, "short name of the program or library",
	       .nullable = true),
	MEMBER(struct api_function, file, TEXT, "its source file", .nullable = true),
	MEMBER(struct api_function, line, PLAIN, "line in the source file", .nullable = true),
};
const struct shape api_shape_function = SHAPE("Function", struct api_function, function_members);

struct api_function api_function_of(const struct model *model, const struct names *names,
				    const struct name_frame *frame)
{
	const struct name *name = names_get(names, frame->name);

	assert(frame->name < names_count(names));
	return (struct api_function) {
		.hash = name_hash(model, name),
		.function = name->function,
		.brief = name->brief,
		.module = api_module(name),
		.file = frame->file,
		.line = frame->line ? frame->line : SHAPE_NONE,
	};
}

char *api_file_name(struct call *call, const char *suffix)
{
	const struct model_process *process = model_process(call->model);
	char *name = arena_printf(call->arena, "memtape.%.64s.%u.%s",
				  names_short_path(process->exe), process->pid, suffix);

	for (char *at = name; at && *at; at++) {
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-",
			    *at))
			*at = '_';
	}
	return name;
}
