/*
 * body: the JSON object of a POST, as parameters.
 */
#ifndef MEMTAPE_HTTP_BODY_H
#define MEMTAPE_HTTP_BODY_H

#include "http/params.h"

/*
 * Members become values of parameters of the same names: texts, whole numbers, true and false.
 * ERR_USAGE: it is no object, or something else is in it. Texts live in the arena.
 */
struct err *body_parse(const char *body, size_t len, struct arena *arena, struct params *params);

#endif
