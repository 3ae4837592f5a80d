/*
 * gist: what of a tape fits a row of a list: whose it is, which costs the tape's first chunks, and then
 * how much memory it took, which takes reading all of it.
 */
#ifndef MEMTAPE_FOLDER_GIST_H
#define MEMTAPE_FOLDER_GIST_H

#include "folder/folder.h"

enum { GIST_POINTS = 64, GIST_TEXT_BYTES = 1024 };

enum gist_depth {
	GIST_NONE,
	GIST_TITLE, /* program, command, release; of a tape also the host, if its name says so */
	GIST_WHOLE  /* and the rest */
};

/* Texts are the gist's own. */
struct gist {
	enum gist_depth depth;
	char *program; /* NULL: unknown; likewise: */
	char *command; /* its arguments, the first GIST_TEXT_BYTES of them */
	char *host;
	char *release; /* the program's build-id, hexadecimal */
	/* WHOLE: */
	uint64_t duration_ns;
	uint64_t peak_bytes, live_bytes; /* requested; live: at the end */
	uint32_t end_kind;		 /* enum tape_end_kind */
	int32_t end_status;
	uint64_t curve[GIST_POINTS]; /* most that was live in equal parts of the duration */
};

/* Of a session: its title, from its manifest. ERR_FORMAT and others: unreadable. */
struct err *gist_read(const struct folder_tape *tape, enum gist_depth depth, struct gist *gist);
void gist_deinit(struct gist *gist); /* all zeros is fine */
CLEAN_DEFINE_DEINIT(gist_deinit, struct gist);

#endif
