/*
 * /api/v1/info: the served tapes, and how far reading them has come.
 */
#include "http/api_tapes.h"
#include "http/call.h"
#include "http/server.h"

static struct err *find(struct call *call, void *answer)
{
	tapes_settle(call->server->tapes, &call->limits);
	call_at_end(call, api_info_end, answer);
	return api_info_find(call->server, call->arena, answer);
}

const struct route route_api_info = {
	.path = "/api/v1/info",
	.summary = "what is served, and how far reading it has come",
	.shape = &api_shape_info,
	.flags = ROUTE_UNCACHED,
	.find = find,
};
