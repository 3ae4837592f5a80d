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

/*
 * What a program was called as: its file may be one of several names, as redis-server and
 * redis-check-rdb are. The last part of a path within the model; "": nothing is known yet.
 */
const char *api_program_name(const struct model *model);

void api_tape_emit(struct emit *emit, const char *key, struct tape *tape);

/* The same as it was when it was read so. */
void api_tape_emit_reading(struct emit *emit, const char *key, struct tape *tape,
			   struct loaded *loaded);

#endif
