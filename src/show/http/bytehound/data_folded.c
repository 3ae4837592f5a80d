/*
 * /data/<id>/export/flamegraph.pl: folded stacks, bytes allocated.
 */
#include "http/bytehound/data_export.h"
#include "http/bytehound/data_filter.h"

static struct err *run(struct call *call)
{
	return data_export(call, "folded");
}

static const struct param params[] = { DATA_FILTER_PARAMS };

const struct route route_data_folded = {
	.path = "/data/{c}/export/flamegraph.pl",
	.summary = "bytes allocated, as folded stacks for flamegraph.pl",
	.type = "text/plain; charset=utf-8",
	.flags = ROUTE_TAPE | ROUTE_RAW | ROUTE_FILE | ROUTE_LENIENT,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
