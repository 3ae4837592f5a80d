/*
 * debuginfod: debug files from the servers in the variable DEBUGINFOD_URLS, by build-id. Only who
 * asks for it gets a client: nothing else here touches the network. The library is loaded when it
 * is needed, so that memtape runs without it.
 */
#ifndef MEMTAPE_SYMBOL_DEBUGINFOD_H
#define MEMTAPE_SYMBOL_DEBUGINFOD_H

#include "base/err.h"

struct debuginfod;

/* ERR_UNSUPPORTED: no library; ERR_USAGE: DEBUGINFOD_URLS names no server. */
struct err *debuginfod_create(struct debuginfod **debuginfod_ret);
void debuginfod_destroy(struct debuginfod *debuginfod); /* accepts NULL */
CLEAN_DEFINE(debuginfod_destroy, struct debuginfod *);

/* Path of the file in the user's cache, for the caller to free; NULL: no server has it. */
char *debuginfod_find(struct debuginfod *debuginfod, const uint8_t *build_id,
		      size_t build_id_bytes);

#endif
