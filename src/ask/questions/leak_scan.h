/*
 * leak_scan: what a leak scan says, as results: the classes of blocks (leak-classes, summary) and
 * what holds them (holders, retained).
 */
#ifndef MEMTAPE_QUESTIONS_LEAK_SCAN_H
#define MEMTAPE_QUESTIONS_LEAK_SCAN_H

#include "answer/about.h"
#include "answer/frame.h"
#include "model/scans.h"

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

/* A set of kinds, as "definite,possible"; `all`. ERR_USAGE: another word. */
struct err *loss_kinds_parse(const char *text, unsigned *kinds_ret);

struct loss_classes {
	struct model_sum sums[LOSS_KINDS];
};

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

/* The last scan with a result, or the last one; NULL: none. */
const struct model_scan *scan_last(const struct model *model);

/*
 * The scan with this number; 0: the last one with a result. ERR_NOT_FOUND: there is none, or it has
 * no result.
 */
struct err *scan_choose(const struct model *model, uint64_t id, const struct model_scan **scan_ret);

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

#endif
