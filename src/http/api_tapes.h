/*
 * api_tapes: a tape as an object of the answers of info, events and tape.
 */
#ifndef MEMTAPE_HTTP_API_TAPES_H
#define MEMTAPE_HTTP_API_TAPES_H

#include "base/emit.h"
#include "http/tapes.h"

struct server;

/* The members of /api/v1/info. */
void api_info_emit(struct emit *emit, struct server *server);

void api_tape_emit(struct emit *emit, const char *key, struct tape *tape);

#endif
