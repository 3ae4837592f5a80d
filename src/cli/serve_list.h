/*
 * serve_list: the folder that is served, as a list of which tapes are opened when somebody chooses them.
 */
#ifndef MEMTAPE_CLI_SERVE_LIST_H
#define MEMTAPE_CLI_SERVE_LIST_H

#include "cli/keeping.h"
#include "http/folder_source.h"

struct serve_list {
	struct folder_source source; /* for the server; gists NULL: no folder is served */
	struct keeping *keeping;
};

/* folder: borrowed; NULL: none. ERR_USAGE: there are rules, but no folder. */
struct err *serve_list_begin(struct serve_list *list, const char *folder,
			     const struct option_list *keep);

/* From now on no more is kept than that; when the tapes are open. */
struct err *serve_list_keep(struct serve_list *list, const char *folder,
			    const struct option_list *keep);

/* False: a tape is being read, which cannot be stopped. */
bool serve_list_end(struct serve_list *list);

#endif
