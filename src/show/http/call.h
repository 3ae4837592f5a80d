/*
 * call: one request on its way to its answer; what a route's run function is given.
 *
 *	struct counted { uint64_t count; };
 *	static const struct member members[] = {
 *		MEMBER(struct counted, count, COUNT, "allocations in it"),
 *	};
 *	static const struct shape shape = SHAPE("Counted", struct counted, members);
 *
 *	static struct err *find(struct call *call, void *answer)
 *	{
 *		const struct selection *selection;
 *		struct err *err = call_select(call, &selection);
 *
 *		if (err)
 *			return err;
 *		((struct counted *)answer)->count = selection->count;
 *		return NULL;
 *	}
 *
 * Before its members stands `gen`, behind them `ms`. Nothing is sent before all is written, so an
 * error may be returned at any time: it becomes the answer. Errors by code: ERR_USAGE 400, ERR_NOT_FOUND 404,
 * ERR_UNSUPPORTED 501, ERR_STATE and ERR_LIMIT 503, others 500. call_blame says which parameter is
 * meant.
 *
 * A call belongs to its thread. The model is shared and immutable; so are names once call_names has
 * handed them out: names_frames and names_get may be called on any thread.
 */
#ifndef MEMTAPE_HTTP_CALL_H
#define MEMTAPE_HTTP_CALL_H

#include "base/emit.h"
#include "base/json.h"
#include "http/params.h"
#include "http/tapes.h"
#include "select/selection.h"

struct memo_item;
struct stream;
struct server;

enum { CALL_HELD_MAX = 8 };

struct call {
	const struct route *route;
	struct params *params;
	struct server *server;	    /* NULL in tests */
	struct tape *tape;	    /* ROUTE_TAPE: which, with its model as it is now: */
	const struct model *model;  /* MODEL_FULL */
	uint64_t gen;		    /* of the model; 0: finished */
	struct arena *arena;	    /* ends with the call */
	struct emit *emit;	    /* not RAW: where members of the answer go */
	FILE *out;		    /* RAW: where it goes */
	const char *type;	    /* RAW: its media type, route->answer; may be changed */
	struct stream *stream;	    /* STREAM: the answer; whoever runs the call takes it */
	const char *last_event_id;  /* what the client has seen of it; NULL: nothing */
	const char *file_name;	    /* RAW: to be saved under this name; NULL: to be shown */
	bool is_approximate;	    /* set it when a number may be estimated: `approx` is said */
	struct sweep_limits limits; /* deadline and cancel: give them to what takes long */
	struct loaded *loaded;	    /* the server's */
	/* What it keeps others from forgetting: call_keep. */
	struct memo_item *held[CALL_HELD_MAX];
	size_t held_count;
	/* What the answer borrows from: call_at_end. */
	void (*end)(void *ends);
	void *ends;
};

/* The parameter's value; NULL, or the table's fallback, when it was not given. The name has to be
 * in the route's table. */
const char *call_text(const struct call *call, const char *name);
uint64_t call_number(const struct call *call, const char *name);
unsigned call_choice(const struct call *call, const char *name);
bool call_flag(const struct call *call, const char *name);
bool call_has(const struct call *call, const char *name);

/* Writes the values that were given of parameters with a place; the rest of settings stays. */
void call_fill(const struct call *call, void *settings);

/* All values of a PARAM_TEXTS in their order, in the arena; NULL: no memory. */
const char *const *call_texts(const struct call *call, const char *name, size_t *count_ret);

/* Nanoseconds on the tape; fallback when it was not given. ERR_USAGE: no such mark. */
struct err *call_moment(struct call *call, const char *name, uint64_t fallback_ns,
			uint64_t *ns_ret);

/* false: not given. */
bool call_hash(const struct call *call, const char *name, uint64_t *hash_ret);

/* Hashes in their order, in the arena; none when it was not given. */
struct err *call_path(struct call *call, const char *name, const uint64_t **hashes_ret,
		      size_t *count_ret);

/*
 * What is suppressed. Before the names of functions are known nothing is: a route that shows
 * leaks waits for them (call_names), as every filter does.
 */
enum call_leaks {
	CALL_LEAKS,	  /* in filters and sums, as in every answer of ours */
	CALL_ALIVE,	  /* in filters: what `leaked` is in the sums was alive at the end */
	CALL_UNSUPPRESSED /* nothing is, to bytehound */
};

/*
 * What q, from and until (ROUTE_SELECTS) choose, within the call's limits; all of the tape when
 * none is given. Lives in the call's arena.
 */
struct err *call_select(struct call *call, const struct selection **selection_ret);

/* The same where leaks are not those of our own answers. */
struct err *call_select_with(struct call *call, enum call_leaks leaks,
			     const struct selection **selection_ret);

/* The same of another expression, for one that is made by the route; any of them may be NULL. */
struct err *call_select_part(struct call *call, const char *filter, const char *from,
			     const char *until, enum call_leaks leaks,
			     const struct selection **selection_ret);

/*
 * A value that other calls about the same reading of the tape can use again: key says all that it
 * depends on. Where there is none yet it is made, with everything in the arena given. It is valid
 * until the call ends; at most CALL_HELD_MAX of them.
 */
struct err *call_keep(struct call *call, const char *key,
		      struct err *(*make)(struct call *call, void *context, struct arena *arena,
					  const void **value_ret),
		      void *context, const void **value_ret);

/* What q, from and until say, for such keys. */
void call_part_key(const struct call *call, struct str *key);

/* Calls end(ends) when the answer is written, or there is none; once in a call. */
void call_at_end(struct call *call, void (*end)(void *ends), void *ends);

/* Lets go of what is kept: when the call has ended. */
void call_release(struct call *call);

/* Names of the tape's functions. The first call for a tape may wait until they are found. */
struct err *call_names(struct call *call, struct names **names_ret);

/* A view of them of the call's own, for what takes names as its own; to be destroyed. */
struct err *call_names_view(struct call *call, struct names **names_ret);

struct field;
struct text_counts;

/* The texts of a field, which are found once and kept with the tape. */
struct err *call_text_counts(struct call *call, const struct field *field,
			     const struct text_counts **counts_ret);

/* How much of the call's time is left; 0: there is no limit. */
uint64_t call_time_left_ns(const struct call *call);

/* Whether to go on: ERR_LIMIT, ERR_STATE. Cheap enough for every few thousand steps. */
struct err *call_check(const struct call *call);

/* err is about this parameter. Returns err. */
struct err *call_blame(struct call *call, const char *name, struct err *err);

#endif
