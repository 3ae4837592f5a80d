/*
 * exchange: a request and its answer, as plain values: what lies between the library that speaks
 * HTTP (daemon.c alone knows it) and those who check and answer.
 */
#ifndef MEMTAPE_HTTP_EXCHANGE_H
#define MEMTAPE_HTTP_EXCHANGE_H

#include "base/clean.h"
#include "http/stream.h"

/* A header as it came: texts are borrowed, NULL when it did not; count: 2 and more if repeated. */
struct header {
	const char *text;
	unsigned count;
};

struct request {
	const char *method; /* "GET" */
	const char *target; /* "/path?query", encoded, as it came */
	struct header host;
	struct header origin;
	struct header fetch_site; /* Sec-Fetch-Site */
	struct header fetch_mode; /* Sec-Fetch-Mode */
	struct header authorization;
	struct header content_type;
	struct header if_none_match;
	struct header accept_encoding;
	struct header last_event_id;
	const char *body; /* NUL-terminated; NULL: none */
	size_t body_len;
	const bool *cancel; /* set when nobody waits for the answer any more; NULL: never */
};

/* Where the header of that name goes; NULL: nobody asks for it. */
struct header *request_header(struct request *request, const char *name);

/* Bytes that several may hold: the cache, and whoever is sending them. */
struct blob {
	char *bytes; /* of the heap */
	size_t size;
	unsigned refs; /* atomic */
};

struct blob *blob_create(char *bytes_take, size_t size); /* NULL: no memory, bytes are freed */
struct blob *blob_get(struct blob *blob);
void blob_put(struct blob *blob); /* NULL is fine */

struct answer {
	unsigned status;
	const char *type;	   /* media type; a constant */
	struct blob *blob;	   /* its body, or */
	const void *bytes;	   /* one that lives for ever, or */
	struct stream *stream;	   /* one made while it is sent, or */
	int fd;			   /* a file, from its beginning; -1: none */
	size_t size;		   /* of bytes, or of the file */
	bool is_gzip;		   /* the body is */
	const char *cache_control; /* NULL: no-store */
	const char *etag;	   /* with its quotes; NULL: none */
	const char *allow;	   /* 405: the method there is */
	unsigned retry_after;	   /* seconds; 0: not said */
	char file_name[128];	   /* "": to be shown; else to be saved under this name */
	bool closes;		   /* the connection ends with it */
};

void answer_init(struct answer *answer);
void answer_deinit(struct answer *answer);
CLEAN_DEFINE_DEINIT(answer_deinit, struct answer);

#endif
