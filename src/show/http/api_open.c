/*
 * /api/v1/open: one of the tapes in the folder is served from now on. It is named by path and id: what
 * has replaced it is not shown in its place.
 */
#include "base/str.h"
#include "http/call.h"
#include "http/folder_source.h"
#include "http/server.h"

static const struct param params[] = {
	{ .name = "path",
	  .kind = PARAM_TEXT,
	  .is_required = true,
	  .doc = "as /api/v1/tapes has it" },
	{ .name = "id", .kind = PARAM_TEXT, .is_required = true, .doc = "of the same row" },
};

struct opened {
	const char *id, *file;
};

static const struct member opened_members[] = {
	MEMBER(struct opened, id, TEXT, "under which it is served"),
	MEMBER(struct opened, file, TEXT, "its name without folders"),
};
static const struct shape shape_opened = SHAPE("Opened", struct opened, opened_members);

/* Nothing is opened that is not in the list. */
static struct err *tape_find(const struct gists_view *view, const char *path, const char *id,
			     const struct folder_tape **tape_ret)
{
	for (size_t i = 0; i < view->count; i++) {
		const struct folder_tape *tape = view->rows[i].tape;

		if (strcmp(tape->path, path) != 0)
			continue;
		if (strcmp(tape->id, id) != 0)
			return err_new(ERR_NOT_FOUND, "%s was replaced by another recording", path);
		if (tape->kind == FOLDER_UNREADABLE)
			return err_new(ERR_NOT_FOUND, "%s: %s", path, tape->trouble);
		*tape_ret = tape;
		return NULL;
	}
	return err_new(ERR_NOT_FOUND, "%s is not in the folder, or not any more", path);
}

/* What has no uuid of its own (a session's merged tape) is known by its path. */
static struct err *serve_it(struct server *server, const char *path, const uint8_t *uuid,
			    bool is_whole, struct tape **tape_ret)
{
	struct tape *tape = tapes_find_file(server->tapes, path, uuid);
	struct err *err = NULL;

	if (!tape)
		err = tapes_add(server->tapes, path, server->added, is_whole, &tape);
	if (err && err_code_of(err) == ERR_LIMIT)
		err = err_wrap(err, "so many can be opened from the list; restart the server");
	if (err)
		return err;
	if (uuid && !tapes_find_file(server->tapes, path, uuid))
		return err_new(ERR_NOT_FOUND, "%s was replaced by another recording", path);
	*tape_ret = tape;
	return NULL;
}

static struct err *open_it(struct call *call, const struct folder_source *source,
			   const struct folder_tape *found, struct opened *opened)
{
	struct server *server = call->server;
	const bool is_session = found->kind == FOLDER_SESSION;
	const char *path = found->path;
	struct err *err = NULL;
	struct tape *tape = NULL;

	pthread_mutex_lock(&server->attach_lock);
	if (is_session)
		err = source->session_open(source->context, found->path, call->arena, &path);
	if (!err)
		err = serve_it(server, path, is_session ? NULL : found->uuid, !found->is_live,
			       &tape);
	pthread_mutex_unlock(&server->attach_lock);
	if (err)
		return err;
	opened->id = tape->id;
	opened->file = names_short_path(tape->source->path);
	return NULL;
}

static struct err *find(struct call *call, void *answer)
{
	CLEAN(gists_release) struct gists_view view = { .count = 0 };
	const struct folder_source *source;
	const struct folder_tape *found = NULL;
	struct err *err = server_folder(call->server, &source);

	if (!err)
		err = gists_look_anew(source->gists, &view);
	if (!err)
		err = tape_find(&view, call_text(call, "path"), call_text(call, "id"), &found);
	return err ? err : open_it(call, source, found, answer);
}

const struct route route_api_open = {
	.path = "/api/v1/open",
	.summary = "serves one of the tapes in the folder with the others",
	.shape = &shape_opened,
	.flags = ROUTE_POST | ROUTE_UNCACHED | ROUTE_PATIENT,
	.params = params,
	.param_count = array_size(params),
	.find = find,
};
