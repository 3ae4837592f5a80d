/*
 * brief: one report of a tape that a command has just made, as `memtape report` would write it on
 * standard output; of a tape that is only for this, too.
 */
#ifndef MEMTAPE_CLI_BRIEF_H
#define MEMTAPE_CLI_BRIEF_H

#include "cli/reading.h"
#include "cli/suppressing.h"
#include "report/report.h"

struct brief {
	const char *report; /* its name: one without operands */
	bool is_json;
	struct parameters with;
	const struct suppressing_options *suppressing; /* NULL: none were given */
	const struct reading_symbol_options *symbols;
};

struct err *brief_show(const struct brief *brief, const char *path);

/*
 * Calls make with the path of a tape to be made, in a folder of its own below $TMPDIR; shows the
 * brief, which make may change; and removes both.
 */
struct err *brief_show_made(struct brief *brief,
			    struct err *(*make)(void *context, const char *path), void *context);

#endif
