/*
 * /data/<id>/export/heaptrack: for heaptrack_gui and heaptrack_print.
 */
#include "http/bytehound/data_export.h"
#include "http/bytehound/data_filter.h"

static struct err *run(struct call *call)
{
	call->file_name = "heaptrack.dat";
	return data_export(call, "heaptrack");
}

static const struct param params[] = { DATA_FILTER_PARAMS };

const struct route route_data_heaptrack = {
	.path = "/data/{c}/export/heaptrack",
	.summary = "allocations and frees as a file of heaptrack",
	.type = "application/octet-stream",
	.flags = ROUTE_TAPE | ROUTE_RAW | ROUTE_FILE | ROUTE_LENIENT,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
