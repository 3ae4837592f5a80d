/*
 * /api/v1/info: what is served, and how far reading it has come.
 */
#include "http/api_tapes.h"
#include "http/call.h"
#include "http/server.h"

static struct err *run(struct call *call)
{
	struct tapes *tapes = call->server->tapes;

	emit_text(call->emit, "version", call->server->settings.version);
	emit_list(call->emit, "tapes");
	for (size_t i = 0; i < tapes_count(tapes); i++)
		api_tape_emit(call->emit, NULL, tapes_get(tapes, i));
	emit_end(call->emit);
	return NULL;
}

const struct route route_api_info = {
	.path = "/api/v1/info",
	.summary = "what is served, and how far reading it has come",
	.answer = "Info",
	.flags = ROUTE_UNCACHED,
	.run = run,
};
