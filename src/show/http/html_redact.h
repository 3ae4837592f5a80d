/*
 * html_redact: answers as they go into a file that is sent to others: without what the program was
 * called with, and with paths that do not tell whose they are.
 */
#ifndef MEMTAPE_HTTP_HTML_REDACT_H
#define MEMTAPE_HTTP_HTML_REDACT_H

#include "base/str.h"

struct redaction {
	const char *home;  /* whose files are below "~"; NULL: only /home/NAME and the like */
	const char *build; /* a folder that is shown by its last name; NULL: none */
	bool keeps_argv;
};

/* Adds json, compact as the server writes it, to out. */
void html_redact(const struct redaction *redaction, const char *json, size_t len, struct str *out);

#endif
