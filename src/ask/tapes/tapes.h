/*
 * tapes: which tapes there are in a folder, in the order and of the kind that is asked for. Not a question
 * about one tape: an answer about what folder/gists.h or a command has read. It lives in the arena that
 * it was made in, and borrows the rows.
 *
 * What is not known is SHAPE_NONE or NULL: never a zero.
 */
#ifndef MEMTAPE_TAPES_TAPES_H
#define MEMTAPE_TAPES_TAPES_H

#include "answer/shape.h"
#include "base/arena.h"
#include "folder/gists.h"

enum tapes_sort {
	TAPES_BY_AGE, /* the one written last first */
	TAPES_BY_BEGIN,
	TAPES_BY_DURATION,
	TAPES_BY_HOST,
	TAPES_BY_LIVE,
	TAPES_BY_PEAK,
	TAPES_BY_PROGRAM,
	TAPES_BY_SIZE /* the largest first, as with all numbers */
};

extern const char *const tapes_sort_words[]; /* by enum tapes_sort; with NULL at the end */

/* All zeros: all of them. */
struct tapes_wanted {
	const char *find; /* words that occur in name, program, command, host or release */
	const char *program, *host;  /* exactly */
	uint64_t newer_ns, older_ns; /* since the last write; 0: any */
	uint64_t larger_bytes;	     /* 0: any */
	bool is_live;		     /* only those that are being written */
	const char *const *ids;	     /* only these id_count; NULL: any */
	size_t id_count;
	enum tapes_sort sort;
	bool reverse;
	uint64_t offset, limit; /* of what matches; limit 0: all */
};

/* What has to be read of tapes before it can be decided. */
enum gist_depth tapes_need(const struct tapes_wanted *wanted);

struct tapes_row {
	const char *id, *path, *file, *kind;
	bool live, link;
	const char *program, *command, *host, *release;
	uint64_t pid;
	const char *begin_realtime_ns; /* since 1970; NULL: unknown */
	uint64_t age_ns;	       /* since the last write */
	uint64_t size_bytes, tape_count;
	uint64_t duration_ns, peak_bytes, live_bytes;
	const char *end;
	struct shape_numbers curve;
	const char *trouble;
};

struct tapes_answer {
	const char *folder;
	struct shape_rows tapes;    /* struct tapes_row */
	uint64_t match_count;	    /* also beyond the limit */
	uint64_t count, size_bytes; /* of all in the folder; links are not counted */
	uint64_t unread;	    /* of which more will be known */
};

extern const struct shape shape_tapes;

/*
 * The rows that are asked for, in order; indices of them, in the arena. now_ns: since 1970.
 * *match_count_ret: without offset and limit.
 */
struct err *tapes_choose(const struct gists_row *rows, size_t count,
			 const struct tapes_wanted *wanted, uint64_t now_ns, struct arena *arena,
			 const uint32_t **chosen_ret, size_t *chosen_count_ret,
			 uint64_t *match_count_ret);

/* The answer about rows that were chosen. */
struct err *tapes_make(const struct gists_view *view, const uint32_t *chosen, size_t chosen_count,
		       uint64_t match_count, uint64_t now_ns, struct arena *arena,
		       struct tapes_answer *answer);

#endif
