#include "http/bytehound/data_export.h"

#include "export/export.h"
#include "http/bytehound/data_filter.h"
#include "http/tapes.h"

struct err *data_export(struct call *call, const char *format)
{
	struct export_context context = {
		.tape_path = call->tape->source->path,
		.model = call->model,
		.metric = METRIC_ALLOCATED,
		.mode = WALK_EXACT,
	};
	struct err *err = data_select(call, &context.selection);

	if (!err)
		err = call_names(call, &context.names);
	if (err)
		return err;
	context.sums = context.selection->sums;
	return export_find(format)->write(&context, call->out);
}
