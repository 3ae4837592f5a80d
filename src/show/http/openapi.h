/*
 * openapi: the server's API as an OpenAPI 3.0 document, generated from the tables of routes and
 * questions.
 */
#ifndef MEMTAPE_HTTP_OPENAPI_H
#define MEMTAPE_HTTP_OPENAPI_H

#include <stdio.h>

#include "base/err.h"

/* The caller keeps ownership of out. Returns write errors. */
struct err *openapi_write(const char *version, FILE *out);

#endif
