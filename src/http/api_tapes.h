/*
 * api_tapes: a tape as an object of the answers of info and tape.
 */
#ifndef MEMTAPE_HTTP_API_TAPES_H
#define MEMTAPE_HTTP_API_TAPES_H

#include "base/emit.h"
#include "http/tapes.h"

void api_tape_emit(struct emit *emit, const char *key, struct tape *tape);

#endif
