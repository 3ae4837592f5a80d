/*
 * gists: a folder of tapes that is looked at again and again: its list at once, and the gists of its
 * tapes as they are read, by a thread, newest first: first whose they are, then what is on them. A gist
 * is read again when its file has changed, also one that could not be read; of a tape that is being
 * written a tenth of the time at most goes into that.
 *
 * Kept in memory: the list, and gists of GISTS_MAX tapes, some 2 KiB each. All functions are
 * thread-safe.
 */
#ifndef MEMTAPE_FOLDER_GISTS_H
#define MEMTAPE_FOLDER_GISTS_H

#include "folder/gist.h"

enum { GISTS_MAX = 20000 };

struct gists;

/* path is copied. The thread begins with the first view. */
struct err *gists_create(const char *path, struct gists **gists_ret);

/*
 * No view may be left. False: a tape is being read, which cannot be stopped and takes longer than a
 * second; nothing was freed.
 */
bool gists_destroy(struct gists *gists); /* NULL is fine */

struct gists_row {
	const struct folder_tape *tape;
	const struct gist *gist; /* NULL: not read yet. Possibly of a moment ago */
	const char *trouble;	 /* why it could not be read; NULL: none is known */
};

/* Valid until it is released, whatever becomes of the folder. */
struct gists_view {
	const char *path; /* of the folder */
	struct gists_row *rows;
	size_t count;
	size_t waiting_count; /* tapes of which more will be known; not those that are read again */
	void *holder;
};

/*
 * The folder as it was half a second ago or later; where reading the list is slow, some seconds ago. The
 * second: as it is now, for what acts on it.
 */
struct err *gists_look(struct gists *gists, struct gists_view *view);
struct err *gists_look_anew(struct gists *gists, struct gists_view *view);
void gists_release(struct gists_view *view); /* all zeros is fine */
CLEAN_DEFINE_DEINIT(gists_release, struct gists_view);

#endif
