/*
 * answered: routes whose answers are values, first of all those that ask a question (answer/question.h): /api/v1/NAME, with the JSON of
 * `memtape report TAPE NAME --json` for the same parameters, between `gen` and `ms`.
 */
#ifndef MEMTAPE_HTTP_ANSWERED_H
#define MEMTAPE_HTTP_ANSWERED_H

#include "answer/source_opener.h"
#include "http/call.h"

/* Asks the route or its question, and writes the members of the answer to call->emit. */
struct err *answered_run(struct call *call);

/* Whether the question can be asked with these; the parameter that is wrong is blamed. */
struct err *answered_check(struct call *call, const struct question *question,
			   const struct parameters *with);

/* What may be shown of source files. */
struct source_opener answered_source_opener(struct call *call);

/*
 * *file is the id of one of the tape's own files (/api/v1/files): in its place comes the path, which
 * names own. ERR_USAGE: it is no id. ERR_NOT_FOUND.
 */
struct err *answered_source_choose(struct call *call, struct names *names, const char **file);

#endif
