/*
 * html_pack: the questions that the pages of a report ask, with the server's answers to them.
 */
#ifndef MEMTAPE_HTTP_HTML_PACK_H
#define MEMTAPE_HTTP_HTML_PACK_H

#include "http/html_redact.h"
#include "http/server.h"

enum { HTML_DETAILS = 4 /* degrees of detail, the most first */ };

struct html_pack {
	struct server *server; /* lets everybody ask who calls it by HTML_HOST */
	struct redaction redaction;
	bool with_source;
	void (*progress)(const void *context, uint64_t answers); /* NULL: none */
	const void *context;
	struct str json; /* {"URL":ANSWER,...}; the caller's to deinit */
	uint64_t answer_count;
};

#define HTML_HOST "report"

/* Asks anew; detail is below HTML_DETAILS. */
struct err *html_pack_fill(struct html_pack *pack, unsigned detail);

#endif
