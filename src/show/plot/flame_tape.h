/*
 * flame_tape: sums of a tape as a flame graph, with a title that says what is drawn and its total,
 * and a line about the run below it.
 */
#ifndef MEMTAPE_PLOT_FLAME_TAPE_H
#define MEMTAPE_PLOT_FLAME_TAPE_H

#include "model/scans.h"
#include "plot/flame.h"

struct flame_tape {
	const struct sums *sums;
	struct names *names;
	enum metric metric;
	enum walk_mode mode;
	enum tree_direction direction;
	bool merges_recursion;
	uint64_t share_min; /* thinner frames are left out: parts of FLAME_SHARE; 0: hairlines */
	uint64_t peak_ns;   /* time of the peak; 0: that of the run */
	const char *moment; /* the moment of the sums, in words; NULL: the whole run */
	const struct model_scan *scan; /* of METRIC_RETAINED; else NULL */
	const char *part;	       /* appended to the line about the run; NULL: nothing */
	const char *title;	       /* replaces the default title; NULL: default */
	const char *subtitle;	       /* replaces the line about the run; NULL: default */
	bool is_icicle, is_time;
	struct flame_look look;
};

static const uint64_t FLAME_SHARE = UINT64_C(1) << 32;

/* Thread-safe if no other thread uses names meanwhile. */
struct err *flame_tape_svg(const struct flame_tape *tape, struct str *out);

/* "Alive at the peak: 12.3 MiB" */
void flame_add_title(struct str *title, enum metric metric, bool goes_on, uint64_t value);

/* " · leak scan 2 after 1.5 s"; nothing if NULL. */
void flame_add_scan(struct str *text, const struct model_scan *scan);

/* " · 2024-05-06 07:08", in local time; nothing if 0. */
void flame_add_date(struct str *text, uint64_t realtime_ns);

/* " · 5 allocations", " · 1 event lost": what there is of them; a trace has no allocations. */
void flame_add_counts(struct str *text, const struct model *model);

#endif
