/*
 * openapi: what can be asked of the server and what it answers, as an OpenAPI 3.0 document, made
 * from the tables of routes and questions.
 */
#ifndef MEMTAPE_HTTP_OPENAPI_H
#define MEMTAPE_HTTP_OPENAPI_H

#include <stdio.h>

#include "base/err.h"

/* out stays the caller's. Errors of writing. */
struct err *openapi_write(const char *version, FILE *out);

#endif
