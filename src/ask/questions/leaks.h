/*
 * leaks: what a leak scan says, as results: the classes of blocks (leak-classes, summary) and what
 * holds them (holders, retained); and how what was never freed came (growth).
 */
#ifndef MEMTAPE_QUESTIONS_LEAKS_H
#define MEMTAPE_QUESTIONS_LEAKS_H

#include "answer/about.h"
#include "answer/frame.h"
#include "answer/ranking.h"
#include "findings/pattern.h"
#include "sums/scans.h"

/* Memcheck's classes in the order of its summary. */
enum loss_kind {
	LOSS_DEFINITE,
	LOSS_INDIRECT,
	LOSS_POSSIBLE,
	LOSS_REACHABLE,
	LOSS_SUPPRESSED,
	LOSS_NOT_SCANNED, /* live at the time, but the scan did not know the block */
	LOSS_KINDS
};

extern const char *const loss_keys[];  /* "definitely_lost" ...; NULL at the end */
extern const char *const loss_words[]; /* "definitely lost" ... */

/* Beside the kinds: functions that go on growing (growth). */
enum { LOSS_GROWING = LOSS_KINDS };

/*
 * A set of kinds, as "definite,possible"; `all`, the kinds of blocks; `growing`. ERR_USAGE: another
 * word.
 */
struct err *loss_kinds_parse(const char *text, unsigned *kinds_ret);

struct loss_classes {
	struct model_sum sums[LOSS_KINDS];
};

extern const struct shape shape_loss_sum; /* of struct model_sum */
extern const struct shape shape_loss_classes;

/* A scan, as in results. */
struct scan_facts {
	uint64_t id;
	uint64_t time_ns;
	const char *reason;
	const char *trouble; /* NULL: there is a result */
	uint64_t pause_ns, scan_ns;
	uint64_t threads, missed_threads;
	struct shape_texts heuristics;
	uint64_t root_bytes, block_bytes, unread_bytes;
	uint64_t off_tape_bytes, off_tape_blocks;
};

extern const struct shape shape_scan_facts;

struct err *scan_facts_find(const struct model_scan *scan, struct arena *arena,
			    struct scan_facts *facts_ret);

/* The kind of each block of a scan that is on the tape and selected. */
struct loss_view {
	const struct model_scan *scan;
	const struct selection *selection;
	const uint32_t *rule_of; /* by stack, see suppressor_match; NULL: nothing is suppressed */
};

struct err *loss_view_find(const struct asked *asked, const struct model_scan *scan,
			   struct loss_view *view_ret);

/* False: it is not part of the question. */
bool loss_view_has(const struct loss_view *view, const struct model_scan_block *block);
enum loss_kind loss_view_kind(const struct loss_view *view, const struct model_scan_block *block);

/* The kind by class alone, without suppressions. */
enum loss_kind loss_kind_of(const struct model_scan_block *block);

void loss_view_sum(const struct loss_view *view, struct loss_classes *classes_ret);

/* --- leak-classes ----------------------------------------------------------------------------- */

/* Blocks of one class and stack. */
struct loss_record {
	const char *class; /* loss_keys */
	uint64_t bytes, blocks;
	uint64_t indirect_bytes, indirect_blocks;
	struct place place;
	uint32_t stack;
	enum loss_kind kind; /* not a member */
};

struct leak_classes_answer {
	struct loss_classes classes;
	struct shape_rows records; /* struct loss_record, the largest first */
	struct scan_facts scan;
	struct quality quality;
	/* Not members: */
	uint64_t record_count; /* without --top */
	uint64_t suppressed_records;
};

/* --- holders and retained --------------------------------------------------------------------- */

/* A node of a scan's graph: what holds blocks, or a block. */
struct held_node {
	const char *kind; /* held_kinds */
	const char *name; /* of a variable or mapping; NULL: none */
	const char *type; /* of a variable; NULL: not known */
	uint64_t tid;	  /* SHAPE_NONE: not a thread's */
	const char *thread;
	uint64_t address;
	uint64_t bytes;
	const char *class;  /* of a block, loss_keys; NULL: no block */
	struct place place; /* of a block's allocation; of a variable, without a function; of a
			       stack the function whose frame has the pointer to the next one */
	uint64_t depth;	    /* of that frame: calls further in; SHAPE_NONE: not known */
	struct shape_rows callers; /* of that frame: struct frame, from the nearest outwards */
	uint64_t offset; /* in it, of the pointer to the next one; SHAPE_NONE: the last one */
	bool interior;	 /* that pointer is to the middle of the next one */
};

extern const char *const held_kinds[]; /* "block", then by enum tape_scan_holder */
extern const struct shape shape_held_node;

struct held_node held_node_of(const struct asked *asked, const struct model_scan *scan,
			      uint32_t node);

/* Adds to the step of a chain made of that node where the pointer to the next one is. */
void held_node_point(const struct asked *asked, const struct model_scan *scan, uint32_t node,
		     const struct model_scan_block *next, struct held_node *step);

/* Blocks of one stack. */
struct held_site {
	const char *class; /* of the block to which the chain leads */
	uint64_t retained_bytes;
	uint64_t bytes, blocks;
	struct place place;
	struct shape_rows chain; /* struct held_node, from the holder to the block */
	uint64_t omitted_steps;	 /* behind the first step */
	const char *path;	 /* the chain in words */
	uint32_t stack;
};

struct holders_answer {
	struct shape_rows sites; /* struct held_site, the largest first */
	struct scan_facts scan;
	struct quality quality;
	uint64_t site_count; /* not a member: without --top */
};

/* Some of what a holder keeps alive. */
struct kept_site {
	uint64_t bytes, blocks;
	struct place place;
};

struct keeper {
	const char *kind;
	const char *name;
	const char *type;
	const char *module;
	const char *file; /* of a variable's declaration */
	uint64_t line;
	uint64_t tid;
	const char *thread;
	uint64_t begin, end;
	uint64_t retained_bytes, blocks;
	struct shape_rows sites; /* struct kept_site, the largest first */
};

struct kept_block {
	uint64_t address;
	const char *class;
	uint64_t bytes, retained_bytes;
	struct place place;
	uint32_t stack;
};

struct retained_answer {
	struct shape_rows holders; /* struct keeper */
	struct shape_rows blocks;  /* struct kept_block */
	struct model_sum shared, lost, not_scanned;
	struct scan_facts scan;
	struct quality quality;
	uint64_t holder_count; /* not a member: without --top */
};

/* --- growth ----------------------------------------------------------------------------------- */

struct grown_sum {
	uint64_t sites;
	struct model_sum leaked;
};

struct growth_row {
	const char *pattern;
	struct place place;
	uint64_t leaked_bytes, leaked_blocks; /* without suppressed ones */
	uint64_t live_bytes;		      /* at the end of the course */
	uint64_t allocated_blocks;
	double never_freed_share;
	double rate_bytes;	    /* per second; NAN: not a slope */
	double r2;		    /* NAN: not a slope */
	uint64_t first_ns, last_ns; /* of allocations */
	uint64_t age_ns;	    /* of the first allocation, at the end */
	const char *evidence;
	const char *filter;
	struct shape_numbers course; /* live bytes */
	uint32_t stack;
	/* Not members: */
	enum growth_pattern kind;
	uint64_t shown_bytes; /* never freed; if it grew but was freed in the end, alive before */
};

/* Blocks of one class and stack in two leak scans. */
struct scan_change {
	const char *class; /* loss_keys */
	uint64_t bytes, blocks;
	uint64_t bytes_before, blocks_before;
	int64_t bytes_more;
	struct place place;
	uint32_t stack;
};

struct scans_compared {
	uint64_t before, after; /* numbers of the scans */
	uint64_t before_ns, after_ns;
	struct loss_classes classes_before, classes;
	struct shape_rows records; /* struct scan_change, what grew most first */
};

struct growth_answer {
	uint64_t begin_ns, end_ns; /* of the courses */
	bool goes_on;		   /* model_goes_on() */
	struct grown_sum patterns[PATTERNS];
	struct shape_rows sites;	    /* struct growth_row */
	const struct scans_compared *scans; /* NULL: there are no two scans */
	struct quality quality;
	uint64_t site_count; /* not a member: without --top */
};

/* grown.c: one row for each of the functions with most bytes, in no order; from the arena. */
struct grown {
	struct growth_row *rows;
	size_t count;
	uint64_t begin_ns, end_ns; /* of the courses */
};

struct err *grown_find(const struct asked *asked, struct grown *grown_ret);

/* --- leaks ------------------------------------------------------------------------------------ */

struct leak_row {
	struct ranked site;
	const char *pattern;	  /* growth_pattern_words; NULL: nothing of it was never freed */
	double rate_bytes;	  /* per second; NAN: not a slope */
	enum growth_pattern kind; /* not a member */
};

struct leaks_answer {
	struct ranking ranking;	 /* its sites are not a member */
	struct shape_rows sites; /* struct leak_row */
};

/* growth_scans.c: NULL if the tape has no two scans with a result and none were asked for. */
struct err *growth_scans_compare(const struct asked *asked,
				 const struct scans_compared **scans_ret);

extern const struct shape shape_scans_compared;

#endif
