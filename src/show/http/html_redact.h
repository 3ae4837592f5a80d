/*
 * html_redact: redacts answers for a file to be shared: removes the program's arguments, and
 * whatever identifies users in paths.
 */
#ifndef MEMTAPE_HTTP_HTML_REDACT_H
#define MEMTAPE_HTTP_HTML_REDACT_H

#include "base/str.h"

struct redaction {
	const char *home;  /* its files are shown below "~"; NULL: only /home/NAME and similar */
	const char *build; /* a folder shown by its base name; NULL: none */
	bool keeps_argv;
};

/* Adds json, compact as the server writes it, to out. */
void html_redact(const struct redaction *redaction, const char *json, size_t len, struct str *out);

#endif
