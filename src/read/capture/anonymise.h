/*
 * anonymise: a tape stripped of everything that identifies its origin: texts, numbers of processes
 * and threads, build-ids, the time of day, identities and addresses are replaced, equal ones by
 * equal ones.
 *
 * The caller replaces texts; everything else is handled here. Unknown record types, anything after
 * a record's known fields and embedded names are dropped: the caller writes new names.
 */
#ifndef MEMTAPE_CAPTURE_ANONYMISE_H
#define MEMTAPE_CAPTURE_ANONYMISE_H

#include "capture/capture.h"
#include "capture/rewrite.h"

enum anonymise_kind {
	ANONYMISE_PATH,	    /* of a file: programs, modules, mappings, folders */
	ANONYMISE_ARGUMENT, /* of the command line */
	ANONYMISE_THREAD,   /* a thread's name */
	ANONYMISE_MARK,
	ANONYMISE_VARIABLE, /* of the program */
	ANONYMISE_OTHER	    /* free text */
};

struct anonymise_settings {
	int level; /* of zstd */
	void *context;
	/* The replacement for a text, valid until the next call; NULL: out of memory. */
	const char *(*text)(void *context, enum anonymise_kind kind, const char *text);
	/* A module's build-id, count bytes; NULL: out of memory. */
	const uint8_t *(*build_id)(void *context, const char *path, const uint8_t *build_id,
				   size_t count);
	/* For the owner's list of replacements: kind, before, after. May be NULL. */
	void (*tell)(void *context, const char *what, const char *before, const char *after);
};

/* To an open, empty file. */
struct err *anonymise_tape(const struct capture *capture, int fd,
			   const struct anonymise_settings *settings,
			   struct rewritten *rewritten_ret);

#endif
