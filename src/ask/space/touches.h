/*
 * touches: how long the program has not touched each page, by the looks on the tape (TOUCHED
 * records). The precision is a page; a page counts as touched at the time of the first look after
 * it was touched, so that times without a touch are lower bounds. The input is untrusted: lines that
 * are malformed are skipped.
 */
#ifndef MEMTAPE_SPACE_TOUCHES_H
#define MEMTAPE_SPACE_TOUCHES_H

#include "base/vec.h"
#include "model/model.h"

/* Pages without memory behind them: never touched, or given back. */
#define TOUCHES_NEVER UINT64_MAX

struct touches_look {
	uint64_t ns; /* before the kernel was asked */
	bool is_first;
	bool is_exit;	    /* the program was about to end */
	uint32_t gap_pages; /* so many other pages between touched ones count as touched */
	size_t first_note, last_note;
};

VEC_DEFINE(touches_look_vec, struct touches_look);

/* What counts as a touch, in words: whoever speaks of touched memory takes them from here. */
struct touches_words {
	const char *noticed;   /* as a name: "writes" */
	const char *done;      /* to touched memory: "written to", as in "not written to for 10s" */
	const char *precision; /* a clause: what that leaves out */
};

struct touches {
	const struct model *model;
	struct touches_look_vec looks; /* the complete ones, in order of time */
	uint64_t period_ns;	       /* wanted between two of them */
	uint64_t first_ns;	       /* when watching began */
	const char *trouble;	       /* why it ended, or never began; NULL: it did not */
	const char *blind;	       /* why what is only read was not seen; NULL: it was */
	const struct touches_words *words;
};

/* Borrows the model; the caller deinits it on success. */
struct err *touches_find(const struct model *model, struct touches *touches_ret);
void touches_deinit(struct touches *touches);

/* Whether the tape has a look. */
bool touches_exist(const struct model *model);

/* All that noticed can be; NULL at the end. */
extern const char *const touches_noticed[];

/* ERR_NOT_FOUND: there is no look, and why. */
struct err *touches_need(const struct touches *touches);
CLEAN_DEFINE_DEINIT(touches_deinit, struct touches);

/* A run of watched pages that were touched at the same look. */
struct touches_run {
	uint64_t begin, end;
	uint64_t ns; /* of that look; TOUCHES_NEVER: none */
};

VEC_DEFINE(touches_run_vec, struct touches_run);

/* The watched pages at a look: runs, ascending and disjoint. All zeros: at none yet. */
struct touches_state {
	struct touches_run_vec runs;
	size_t next; /* look */
};

void touches_state_deinit(struct touches_state *state);
CLEAN_DEFINE_DEINIT(touches_state_deinit, struct touches_state);

/* A look being applied to a state, part by part; all zeros but before is its beginning. */
struct touches_applying {
	const struct touches_state *before; /* all zeros: nothing was watched before the look */
	uint64_t ns;			    /* of the look */
	struct touches_run_vec runs;	    /* the next state's: the caller's */
	size_t at;			    /* in before */
};

/* The lines of a part. False: out of memory. */
bool touches_apply(struct touches_applying *applying, const char *lines);

/* Advances to this look, which is not before the last one asked for. */
struct err *touches_advance(const struct touches *touches, size_t look,
			    struct touches_state *state);

/* The first run that ends behind the address; state->runs.count: none. */
size_t touches_run_at(const struct touches_state *state, uint64_t address);

#endif
