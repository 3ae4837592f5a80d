/*
 * folder_source: a folder of tapes that is served, of which only some are open: the others are opened
 * when somebody chooses them in the list.
 */
#ifndef MEMTAPE_HTTP_FOLDER_SOURCE_H
#define MEMTAPE_HTTP_FOLDER_SOURCE_H

#include "folder/gists.h"

struct folder_source {
	struct gists *gists;
	/* The path of a tape that is all of a session's processes; made if it is not there. */
	struct err *(*session_open)(void *context, const char *path, struct arena *arena,
				    const char **tape_ret);
	void *context;
};

struct server;

/* ERR_UNSUPPORTED: no folder is served. */
struct err *server_folder(const struct server *server, const struct folder_source **source_ret);

#endif
