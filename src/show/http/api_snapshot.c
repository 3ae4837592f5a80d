/*
 * /api/v1/snapshot: saves what is recorded so far as a separate tape, while the recording goes on.
 */
#include "base/str.h"
#include "capture/snapshot.h"
#include "http/call.h"
#include "http/server.h"
#include "http/tapes_state.h"

static struct err *check(void *context)
{
	return call_check(context);
}

static struct err *make(struct call *call, const struct tape *tape,
			struct capture_snapshot *snapshot_ret)
{
	struct control_word word;
	struct err *err = control_show(server_control(call->server), &word);
	struct capture_snapshot_settings settings;
	uint8_t uuid[TAPE_UUID_BYTES];

	if (err)
		return err;
	pthread_mutex_lock(&tape->tapes->lock);
	memcpy(uuid, tape->uuid, sizeof(uuid));
	pthread_mutex_unlock(&tape->tapes->lock);
	settings = (struct capture_snapshot_settings) {
		.uuid = uuid,
		.until_bytes = word.tape_bytes,
		.ticks = word.ticks,
		.check = check,
		.context = call,
	};
	err = capture_snapshot(tape->source->path, &settings, snapshot_ret);
	return err_wrap(err, "no snapshot yet; the recording goes on");
}

struct snapshot_made {
	const char *path, *file, *id;
	uint64_t tape_bytes, event_count;
};

static const struct member snapshot_members[] = {
	MEMBER(struct snapshot_made, path, TEXT, "of the new tape"),
	MEMBER(struct snapshot_made, file, TEXT, "its name without folders"),
	MEMBER(struct snapshot_made, id, TEXT, "under which it is served; null: it is not",
	       .nullable = true),
	MEMBER(struct snapshot_made, tape_bytes, BYTES, NULL),
	MEMBER(struct snapshot_made, event_count, COUNT, NULL),
};
static const struct shape shape_snapshot =
	SHAPE("SnapshotMade", struct snapshot_made, snapshot_members);

static struct err *find(struct call *call, void *answer)
{
	struct tapes *tapes = call->server->tapes;
	const struct tape *tape = server_recorded(call->server);
	struct snapshot_made *made = answer;
	struct capture_snapshot snapshot = { 0 };
	struct tape *shown = NULL;
	struct err *err = make(call, tape, &snapshot);
	CLEAN(free) char *path = NULL;

	if (err)
		return err;
	/* It is a file like any other, whether it is served here or not. */
	err_destroy(tapes_add(tapes, snapshot.path, tape->source, true, &shown));
	path = realpath(snapshot.path, NULL);
	made->path = arena_strdup(call->arena, path ? path : snapshot.path);
	made->file = made->path ? names_short_path(made->path) : NULL;
	made->id = shown ? shown->id : NULL;
	made->tape_bytes = snapshot.tape_bytes;
	made->event_count = snapshot.event_count;
	free(snapshot.path);
	return made->path ? NULL : err_nomem();
}

const struct route route_api_snapshot = {
	.path = "/api/v1/snapshot",
	.summary = "what `memtape record --serve` has recorded so far, as a tape beside its tape",
	.shape = &shape_snapshot,
	.flags = ROUTE_POST | ROUTE_UNCACHED | ROUTE_PATIENT,
	.find = find,
};
