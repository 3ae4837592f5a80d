/*
 * assets: the web app, which is part of the program.
 */
#ifndef MEMTAPE_HTTP_ASSETS_H
#define MEMTAPE_HTTP_ASSETS_H

#include "http/exchange.h"

/* Made by tools/embed_assets.py. Offsets are into asset_bytes; packed_bytes 0: not compressed. */
struct asset {
	/* "/", "/assets/app-1A2B3C4D.js", "report.html" (the one-file report); NULL: no more */
	const char *path;
	const char *type;
	const char *etag; /* with its quotes */
	size_t begin;
	size_t bytes;
	size_t packed_begin;
	size_t packed_bytes;
	bool is_hashed; /* the name changes with the content */
};

extern const struct asset asset_table[];
extern const unsigned char asset_bytes[];

/*
 * The asset of the request's path, or the page that stands for the app where it was not built in;
 * false: there is none of this name.
 */
bool assets_answer(const struct request *request, struct answer *answer);

/* Whether the app is there. */
bool assets_have_app(void);

/* Whether an Accept-Encoding allows gzip. NULL: it does not. */
bool assets_takes_gzip(const char *accept_encoding);

#endif
