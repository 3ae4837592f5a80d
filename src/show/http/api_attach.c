/*
 * /api/v1/attach: records a process that runs already; its tape is served with the others.
 */
#include <time.h>

#include "base/monotonic.h"
#include "http/call.h"
#include "http/processes.h"
#include "http/server.h"
#include "http/tapes_state.h"

enum { TAPE_WAIT_MS = 5000, TAPE_LOOK_MS = 20 };

static const struct param params[] = {
	{ .name = "pid",
	  .kind = PARAM_NUMBER,
	  .is_required = true,
	  .doc = "the process's number",
	  .min = 1,
	  .max = INT32_MAX },
};

struct attach_made {
	uint64_t pid, pause_ns;
	const char *path, *file, *id;
};

static const struct member attach_members[] = {
	MEMBER(struct attach_made, pid, PLAIN, "of the process"),
	MEMBER(struct attach_made, pause_ns, NS, "how long it stood still"),
	MEMBER(struct attach_made, path, TEXT, "of the new tape"),
	MEMBER(struct attach_made, file, TEXT, "its name without folders"),
	MEMBER(struct attach_made, id, TEXT, "under which it is served"),
};
static const struct shape shape_attach = SHAPE("AttachMade", struct attach_made, attach_members);

/* Its first bytes come with the first look at what is recorded. */
static struct err *tape_add(struct call *call, const char *path, struct tape **tape_ret)
{
	const struct timespec pause = { .tv_nsec = TAPE_LOOK_MS * 1000000L };
	const uint64_t until_ns = monotonic_ns() + (uint64_t)TAPE_WAIT_MS * 1000000;
	struct server *server = call->server;
	struct err *err = tapes_add(server->tapes, path, server->added, false, tape_ret);

	while (err && err_code_of(err) != ERR_LIMIT && monotonic_ns() < until_ns) {
		err_destroy(err);
		nanosleep(&pause, NULL);
		err = tapes_add(server->tapes, path, server->added, false, tape_ret);
	}
	return err;
}

/* The caller holds the lock. A recording that nobody can see is ended. */
static struct err *begin(struct call *call, const struct processes_source *source,
			 struct attach_made *made)
{
	struct server *server = call->server;
	struct processes_begun begun = { 0 };
	struct control_word word;
	struct tape *tape;
	struct err *err;

	if (control_is_open(server_control(server)))
		return err_new(ERR_STATE, "this server records a process already: stop that first, "
					  "or use `memtape attach`");
	if (!tapes_have_room(server->tapes))
		return err_new(ERR_STATE,
			       "this server has %d more tapes already: restart it, or use `memtape "
			       "attach`",
			       TAPES_ADDED_MAX);
	err = source->attach(source->context, made->pid, call->arena, &begun);
	if (err)
		return err;
	err = tape_add(call, begun.path, &tape);
	if (err) {
		err_destroy(control_stop(begun.control, &word));
		return err;
	}
	server_record(server, begun.control, tape);
	made->pause_ns = begun.pause_ns;
	made->path = begun.path;
	made->file = names_short_path(begun.path);
	made->id = tape->id;
	return NULL;
}

static struct err *find(struct call *call, void *answer)
{
	struct attach_made *made = answer;
	const struct processes_source *source;
	struct err *err = server_processes(call->server, &source);

	if (err)
		return err;
	made->pid = call_number(call, "pid");
	pthread_mutex_lock(&call->server->attach_lock);
	err = begin(call, source, made);
	pthread_mutex_unlock(&call->server->attach_lock);
	return err;
}

const struct route route_api_attach = {
	.path = "/api/v1/attach",
	.summary =
		"records a process that runs already, as `memtape attach` does; /stop lets it go",
	.shape = &shape_attach,
	.flags = ROUTE_POST | ROUTE_UNCACHED | ROUTE_PATIENT,
	.params = params,
	.param_count = array_size(params),
	.find = find,
};
