/*
 * /api/v1/info: what is served, and how far reading it has come.
 */
#include "http/api_tapes.h"
#include "http/call.h"
#include "http/server.h"

static struct err *run(struct call *call)
{
	tapes_settle(call->server->tapes, &call->limits);
	api_info_emit(call->emit, call->server);
	return NULL;
}

const struct route route_api_info = {
	.path = "/api/v1/info",
	.summary = "what is served, and how far reading it has come",
	.answer = "Info",
	.flags = ROUTE_UNCACHED,
	.run = run,
};
