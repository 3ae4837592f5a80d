/*
 * /api/v1/events: the served tapes, sent again whenever they change.
 */
#include "http/call.h"
#include "http/changes.h"

static struct err *run(struct call *call)
{
	return changes_create(call->server, call->limits.cancel, call->last_event_id,
			      &call->stream);
}

const struct route route_api_events = {
	.path = "/api/v1/events",
	.summary = "what /info says, again whenever it changes, as server-sent events",
	.type = "text/event-stream",
	.flags = ROUTE_STREAM,
	.run = run,
};
