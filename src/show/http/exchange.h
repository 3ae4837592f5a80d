/*
 * exchange: a request and its answer as plain values: the interface between the HTTP library (used
 * by daemon.c only) and the code that checks and answers.
 */
#ifndef MEMTAPE_HTTP_EXCHANGE_H
#define MEMTAPE_HTTP_EXCHANGE_H

#include "base/clean.h"
#include "http/stream.h"

/* A header as received: strings are borrowed, NULL if missing; count: 2 and more if repeated. */
struct header {
	const char *text;
	unsigned count;
};

struct request {
	const char *method; /* "GET" */
	const char *target; /* "/path?query", encoded, as received */
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
	const bool *cancel; /* set when the client is gone; NULL: never */
};

/* Where to store the header of that name; NULL: not used. */
struct header *request_header(struct request *request, const char *name);

/* Reference-counted bytes: shared by the cache and senders. */
struct blob {
	char *bytes; /* allocated */
	size_t size;
	unsigned refs; /* atomic */
};

struct blob *blob_create(char *bytes_take, size_t size); /* NULL: out of memory, bytes are freed */
struct blob *blob_get(struct blob *blob);
void blob_put(struct blob *blob); /* NULL is fine */

struct answer {
	unsigned status;
	const char *type;	   /* media type; a constant */
	struct blob *blob;	   /* its body, or */
	const void *bytes;	   /* static bytes, or */
	struct stream *stream;	   /* a stream made while it is sent, or */
	int fd;			   /* a file, from its beginning; -1: none */
	size_t size;		   /* of bytes, or of the file */
	bool is_gzip;		   /* of the body */
	const char *cache_control; /* NULL: no-store */
	const char *etag;	   /* including the quotes; NULL: none */
	const char *allow;	   /* 405: the allowed method */
	unsigned retry_after;	   /* seconds; 0: absent */
	char file_name[128];	   /* "": displayed; else saved under this name */
	bool closes;		   /* closes the connection */
};

void answer_init(struct answer *answer);
void answer_deinit(struct answer *answer);
CLEAN_DEFINE_DEINIT(answer_deinit, struct answer);

#endif
