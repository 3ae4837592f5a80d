/*
 * /api/v1/attachable: which processes there are to attach to.
 */
#include "http/call.h"
#include "http/processes.h"
#include "http/server.h"

static struct err *find(struct call *call, void *answer)
{
	const struct processes_source *source;
	struct err *err = server_processes(call->server, &source);

	return err ? err : source->list(source->context, call->arena, answer);
}

const struct route route_api_attachable = {
	.path = "/api/v1/attachable",
	.summary = "the processes that there are, and which of them can be attached to",
	.shape = &shape_process_list,
	.flags = ROUTE_UNCACHED,
	.find = find,
};
