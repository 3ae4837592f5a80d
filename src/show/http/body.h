/*
 * body: parses the JSON object of a POST as parameters.
 */
#ifndef MEMTAPE_HTTP_BODY_H
#define MEMTAPE_HTTP_BODY_H

#include "http/params.h"

/*
 * Members become parameter values of the same names: strings, integers, true and false. ERR_USAGE:
 * not an object, or other types in it. Strings live in the arena.
 */
struct err *body_parse(const char *body, size_t len, struct arena *arena, struct params *params);

#endif
