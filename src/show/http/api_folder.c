/*
 * /api/v1/tapes: which tapes there are in the folder that is served. Each list is at once what is known;
 * the rest comes with one of the next.
 */
#include <time.h>

#include "http/call.h"
#include "http/folder_source.h"
#include "http/server.h"
#include "tapes/tapes.h"

enum { LIMIT_USUAL = 200 };

#define PLACE(member) .has_place = true, .place = offsetof(struct tapes_wanted, member)

static const struct param params[] = {
	{ .name = "find",
	  .kind = PARAM_TEXT,
	  .doc = "words that occur in name, program, command line, host or build-id",
	  PLACE(find) },
	{ .name = "program", .kind = PARAM_TEXT, .doc = "only of this program", PLACE(program) },
	{ .name = "host", .kind = PARAM_TEXT, .doc = "only of this host", PLACE(host) },
	{ .name = "id", .kind = PARAM_TEXTS, .doc = "only with this id" },
	{ .name = "newer", .kind = PARAM_TEXT, .doc = "written since: 90min, 12h, 30d, 2w" },
	{ .name = "older", .kind = PARAM_TEXT, .doc = "not written since" },
	{ .name = "larger",
	  .kind = PARAM_NUMBER,
	  .doc = "of so many bytes or more",
	  PLACE(larger_bytes) },
	{ .name = "live", .kind = PARAM_FLAG, .doc = "only while being written", PLACE(is_live) },
	{ .name = "sort", .kind = PARAM_CHOICE, .doc = "order", .words = tapes_sort_words },
	{ .name = "reverse",
	  .kind = PARAM_FLAG,
	  .doc = "the oldest, the smallest or the last of the alphabet first",
	  PLACE(reverse) },
	{ .name = "offset", .kind = PARAM_NUMBER, .doc = "how many to pass over", PLACE(offset) },
	{ .name = "limit",
	  .kind = PARAM_NUMBER,
	  .doc = "how many",
	  .min = 1,
	  .max = GISTS_MAX,
	  .fallback = LIMIT_USUAL,
	  PLACE(limit) },
};

struct err *server_folder(const struct server *server, const struct folder_source **source_ret)
{
	if (!server->folder)
		return err_new(ERR_UNSUPPORTED,
			       "no folder is served: `memtape serve FOLDER` serves one");
	*source_ret = server->folder;
	return NULL;
}

static struct err *age_take(struct call *call, const char *name, uint64_t *age_ret)
{
	const char *text = call_text(call, name);

	if (!text || str_parse_age(text, age_ret))
		return NULL;
	return call_blame(
		call, name,
		err_new(ERR_USAGE, "%s: expected an age like 90min, 12h, 30d or 2w", text));
}

static struct err *wanted_take(struct call *call, struct tapes_wanted *wanted)
{
	struct err *err;

	*wanted = (struct tapes_wanted) { .limit = call_number(call, "limit") };
	call_fill(call, wanted);
	wanted->sort = (enum tapes_sort)call_choice(call, "sort");
	if (call_has(call, "id")) {
		wanted->ids = call_texts(call, "id", &wanted->id_count);
		if (!wanted->ids)
			return err_nomem();
	}
	err = age_take(call, "newer", &wanted->newer_ns);
	return err ? err : age_take(call, "older", &wanted->older_ns);
}

static void view_end(void *view)
{
	gists_release(view);
}

static struct err *find(struct call *call, void *answer)
{
	struct gists_view *view = arena_new(call->arena, struct gists_view);
	const struct folder_source *source;
	struct tapes_wanted wanted;
	const uint32_t *chosen;
	size_t chosen_count;
	uint64_t match_count, now_ns;
	struct timespec now;
	struct err *err = server_folder(call->server, &source);

	if (!err)
		err = view ? wanted_take(call, &wanted) : err_nomem();
	if (!err)
		err = gists_look(source->gists, view);
	if (err)
		return err;
	call_at_end(call, view_end, view);
	clock_gettime(CLOCK_REALTIME, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	err = tapes_choose(view->rows, view->count, &wanted, now_ns, call->arena, &chosen,
			   &chosen_count, &match_count);
	return err ? err
		   : tapes_make(view, chosen, chosen_count, match_count, now_ns, call->arena,
				answer);
}

const struct route route_api_folder = {
	.path = "/api/v1/tapes",
	.summary = "the tapes in the folder that is served, open or not",
	.shape = &shape_tapes,
	.flags = ROUTE_UNCACHED,
	.params = params,
	.param_count = array_size(params),
	.find = find,
};
