#include "cli/serve_list.h"

#include "cli/session_operand.h"

static struct err *session_open_as_one(void *context, const char *path, struct arena *arena,
				       const char **tape_ret)
{
	const char *tape = path;
	struct err *err = session_operand(&tape, NULL, NULL, arena);

	(void)context;
	if (!err)
		*tape_ret = tape;
	return err;
}

struct err *serve_list_begin(struct serve_list *list, const char *folder,
			     const struct option_list *keep)
{
	struct err *err;

	*list = (struct serve_list) { .source = { .session_open = session_open_as_one } };
	if (!folder)
		return keep->count ? err_new(ERR_USAGE, "--keep needs a folder that is served")
				   : NULL;
	err = keeping_once(keep, folder);
	return err ? err : gists_create(folder, &list->source.gists);
}

struct err *serve_list_keep(struct serve_list *list, const char *folder,
			    const struct option_list *keep)
{
	/* Standard output says the URL, and nothing else. */
	return folder ? keeping_begin(keep, folder, true, &list->keeping) : NULL;
}

bool serve_list_end(struct serve_list *list)
{
	keeping_end(list->keeping);
	return gists_destroy(list->source.gists);
}
