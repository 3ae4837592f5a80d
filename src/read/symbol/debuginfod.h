/*
 * debuginfod: debug files from the servers in the variable DEBUGINFOD_URLS, by build-id. A client
 * exists only on request: nothing else here touches the network. The library is loaded when needed,
 * so that memtape runs without it. One thread at a time.
 */
#ifndef MEMTAPE_SYMBOL_DEBUGINFOD_H
#define MEMTAPE_SYMBOL_DEBUGINFOD_H

#include "base/err.h"

struct debuginfod;

struct debuginfod_settings {
	unsigned seconds_max; /* for all requests together; 0: no limit */
	/* Called from time to time during a download: bytes so far and in total, 0 if unknown. */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *context;
};

/* ERR_UNSUPPORTED: no library; ERR_USAGE: DEBUGINFOD_URLS names no server. */
struct err *debuginfod_create(const struct debuginfod_settings *settings,
			      struct debuginfod **debuginfod_ret);
void debuginfod_destroy(struct debuginfod *debuginfod); /* accepts NULL */
CLEAN_DEFINE(debuginfod_destroy, struct debuginfod *);

/*
 * Path of the file in the user's cache, which the caller frees; NULL: no server has it, or the time
 * limit was reached.
 */
char *debuginfod_find(struct debuginfod *debuginfod, const uint8_t *build_id,
		      size_t build_id_bytes);

/*
 * A file downloaded before, in the cache that all debuginfod clients of the user share; the caller
 * frees it. Or NULL. Contacts no server and does not need the library.
 */
char *debuginfod_find_fetched(const uint8_t *build_id, size_t build_id_bytes);

/* Whether a request was skipped or aborted because of the time limit. */
bool debuginfod_is_late(const struct debuginfod *debuginfod);

#endif
