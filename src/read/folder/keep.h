/*
 * keep: how much of a folder of tapes is kept: so many bytes, so many tapes, those of so many days.
 */
#ifndef MEMTAPE_FOLDER_KEEP_H
#define MEMTAPE_FOLDER_KEEP_H

#include "base/err.h"

#define KEEP_ALL UINT64_MAX

struct keep_rules {
	uint64_t bytes, age_ns, count; /* at most; KEEP_ALL: as many as there are */
};

/*
 * One rule more: "10GiB", "30d" (since it was last written), "100" (tapes). Of two rules of a kind the
 * stricter one counts. ERR_USAGE: it is none, or "500m", which could be minutes or MiB.
 */
struct err *keep_parse(const char *text, struct keep_rules *rules);

#endif
