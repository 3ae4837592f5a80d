/*
 * answered: routes whose answers are values, most of them from a question (answer/question.h):
 * /api/v1/NAME, with the JSON of `memtape report TAPE NAME --json` for the same parameters, between
 * `gen` and `ms`.
 */
#ifndef MEMTAPE_HTTP_ANSWERED_H
#define MEMTAPE_HTTP_ANSWERED_H

#include "answer/source_opener.h"
#include "http/call.h"

/* Runs the route or its question, and writes the members of the answer to call->emit. */
struct err *answered_run(struct call *call);

/* Whether the question accepts these parameters; the error blames the wrong one. */
struct err *answered_check(struct call *call, const struct question *question,
			   const struct parameters *with);

/* Opens source files as far as they may be shown. */
struct source_opener answered_source_opener(struct call *call);

/*
 * *file is the id of one of the tape's own files (/api/v1/files): replaces it by the path, owned by
 * names. ERR_USAGE: not an id. ERR_NOT_FOUND.
 */
struct err *answered_source_choose(struct call *call, struct names *names, const char **file);

#endif
