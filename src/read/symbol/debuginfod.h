/*
 * debuginfod: debug files from the servers in the variable DEBUGINFOD_URLS, by build-id. Only who
 * asks for it gets a client: nothing else here touches the network. The library is loaded when it
 * is needed, so that memtape runs without it. One thread at a time.
 */
#ifndef MEMTAPE_SYMBOL_DEBUGINFOD_H
#define MEMTAPE_SYMBOL_DEBUGINFOD_H

#include "base/err.h"

struct debuginfod;

struct debuginfod_settings {
	unsigned seconds_max; /* for all that is asked, together; 0: no limit */
	/* Called now and then during a download: bytes so far and altogether, 0 where not known. */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *context;
};

/* ERR_UNSUPPORTED: no library; ERR_USAGE: DEBUGINFOD_URLS names no server. */
struct err *debuginfod_create(const struct debuginfod_settings *settings,
			      struct debuginfod **debuginfod_ret);
void debuginfod_destroy(struct debuginfod *debuginfod); /* accepts NULL */
CLEAN_DEFINE(debuginfod_destroy, struct debuginfod *);

/*
 * Path of the file in the user's cache, for the caller to free; NULL: no server has it, or the time
 * is up.
 */
char *debuginfod_find(struct debuginfod *debuginfod, const uint8_t *build_id,
		      size_t build_id_bytes);

/*
 * A file that somebody fetched before, in the cache that all debuginfod clients of the user share;
 * for the caller to free, or NULL. Asks no server and needs no library.
 */
char *debuginfod_find_fetched(const uint8_t *build_id, size_t build_id_bytes);

/* Whether something was not asked for, or given up, because the time was up. */
bool debuginfod_is_late(const struct debuginfod *debuginfod);

#endif
