/*
 * answered: routes that ask a question (answer/question.h): /api/v1/NAME, with the JSON of
 * `memtape report TAPE NAME --json` for the same parameters, between `gen` and `ms`.
 */
#ifndef MEMTAPE_HTTP_ANSWERED_H
#define MEMTAPE_HTTP_ANSWERED_H

#include "http/call.h"

/* Asks the route's question and writes the members of the answer to call->emit. */
struct err *answered_route_run(struct call *call);

/* Whether the question can be asked with these; the parameter that is wrong is blamed. */
struct err *answered_check(struct call *call, const struct question *question,
			   const struct parameters *with);

#endif
