/*
 * assets: the web app embedded in the program.
 */
#ifndef MEMTAPE_HTTP_ASSETS_H
#define MEMTAPE_HTTP_ASSETS_H

#include "http/exchange.h"

/* From tools/embed_assets.py. Offsets are into asset_bytes; packed_bytes 0: not compressed. */
struct asset {
	/* "/", "/assets/app-1A2B3C4D.js", "report.html" (the one-file report); NULL: no more */
	const char *path;
	const char *type;
	const char *etag; /* including the quotes */
	size_t begin;
	size_t bytes;
	size_t packed_begin;
	size_t packed_bytes;
	bool is_hashed; /* the name changes with the content */
};

extern const struct asset asset_table[];
extern const unsigned char asset_bytes[];

/*
 * The asset of the request's path, or the page that replaces the app if it was not built in; false:
 * not found.
 */
bool assets_answer(const struct request *request, struct answer *answer);

/* Whether the app is built in. */
bool assets_have_app(void);

/* Whether an Accept-Encoding allows gzip. NULL: no. */
bool assets_takes_gzip(const char *accept_encoding);

#endif
