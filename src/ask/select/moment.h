/*
 * moment: a time on a tape as users write it: "1.5s", "20ms", "75%" of the run, "start", "peak",
 * "end", or "mark(NAME)" (select/mark.h). A bare number is seconds.
 */
#ifndef MEMTAPE_SELECT_MOMENT_H
#define MEMTAPE_SELECT_MOMENT_H

#include "base/err.h"
#include "model/model.h"

enum moment_kind { MOMENT_TIME, MOMENT_PERCENT, MOMENT_PEAK, MOMENT_END, MOMENT_MARK };

struct moment {
	enum moment_kind kind;
	uint64_t value;	  /* nanoseconds, or thousandths of a percent */
	const char *mark; /* MOMENT_MARK: its name, borrowed from the text, not terminated */
	size_t mark_len;
};

/* Checks that need no tape. ERR_USAGE. */
struct err *moment_parse(const char *text, struct moment *moment_ret);

/*
 * Nanoseconds since recording began. Events at the moment are included: the end includes the last
 * event. ERR_NOT_FOUND: no such mark.
 */
struct err *moment_ns(const struct moment *moment, const struct model *model, uint64_t *ns_ret);

/* The same for the end of a span, which may be after the end of the tape. */
struct err *moment_until_ns(const struct moment *moment, const struct model *model,
			    uint64_t *ns_ret);

/* Two moments "A..B" (default: start and end); A must not be later than B. */
struct moment_span {
	struct moment from;
	struct moment until;
};

struct err *moment_span_parse(const char *text, struct moment_span *span_ret);
struct err *moment_span_ns(const struct moment_span *span, const struct model *model,
			   uint64_t *from_ret, uint64_t *until_ret);

#endif
