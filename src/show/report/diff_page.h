/*
 * diff_page: a comparison as one page for a browser: verdict, totals, the picture, what changed
 * most, what is new and what is gone. It needs no network and no server, and reads without script.
 */
#ifndef MEMTAPE_REPORT_DIFF_PAGE_H
#define MEMTAPE_REPORT_DIFF_PAGE_H

#include "answer/diff.h"

/* The flame graph of differences as a part of a page, and what a policy must let it do. */
struct diff_picture {
	const char *svg;
	const char *style_hash; /* 'sha256-...' of its styles and of its script */
	const char *script_hash;
};

/*
 * Of a comparison by function, appended to out. No arguments of the programs are in it, and of paths of tapes only the last
 * part.
 */
struct err *diff_page_write(const struct diff_found *found, const struct diff_picture *picture,
			    struct str *out);

#endif
