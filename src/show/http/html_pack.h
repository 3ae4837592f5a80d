/*
 * html_pack: the requests made by the pages of a report, with the server's answers.
 */
#ifndef MEMTAPE_HTTP_HTML_PACK_H
#define MEMTAPE_HTTP_HTML_PACK_H

#include "http/html_redact.h"
#include "http/server.h"

enum { HTML_DETAILS = 4 /* levels of detail, the highest first */ };

struct html_pack {
	struct server *server; /* must allow requests with host HTML_HOST */
	struct redaction redaction;
	bool with_source;
	void (*progress)(const void *context, uint64_t answers); /* NULL: none */
	const void *context;
	struct str json; /* {"URL":ANSWER,...}; deinit by the caller */
	uint64_t answer_count;
};

#define HTML_HOST "report"

/* Makes all requests; detail is below HTML_DETAILS. */
struct err *html_pack_fill(struct html_pack *pack, unsigned detail);

#endif
