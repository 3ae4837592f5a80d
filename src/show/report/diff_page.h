/*
 * diff_page: a comparison as one page for a browser: verdict, totals, the picture, the largest
 * changes, what is new and what is gone. It needs no network and no server, and is readable without
 * script.
 */
#ifndef MEMTAPE_REPORT_DIFF_PAGE_H
#define MEMTAPE_REPORT_DIFF_PAGE_H

#include "answer/diff.h"

/* The differential flame graph for embedding in a page, and what the content policy must allow. */
struct diff_picture {
	const char *svg;
	const char *style_hash; /* 'sha256-...' of its styles and script */
	const char *script_hash;
};

/*
 * For a comparison by function, appended to out. Contains no arguments of the programs, and only
 * base names of tapes.
 */
struct err *diff_page_write(const struct diff_found *found, const struct diff_picture *picture,
			    struct str *out);

#endif
