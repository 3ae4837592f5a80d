/*
 * call: one request being answered; the argument of a route's run function.
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
 * Its members are preceded by `gen` and followed by `ms`. Nothing is sent before everything is
 * written, so an error may be returned at any time: it becomes the answer. Errors by code:
 * ERR_USAGE 400, ERR_NOT_FOUND 404, ERR_UNSUPPORTED 501, ERR_STATE and ERR_LIMIT 503, others 500.
 * call_blame sets the parameter at fault.
 *
 * A call belongs to its thread. The model is shared and immutable; so are names once call_names has
 * returned them: names_frames and names_get may be called on any thread.
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
	struct tape *tape;	    /* ROUTE_TAPE: the tape, with its current model: */
	const struct model *model;  /* MODEL_FULL */
	uint64_t gen;		    /* of the model; 0: finished */
	struct arena *arena;	    /* valid until the call ends */
	struct emit *emit;	    /* not RAW: for members of the answer */
	FILE *out;		    /* RAW: for the answer */
	const char *type;	    /* RAW: its media type, route->answer; may be changed */
	struct stream *stream;	    /* STREAM: the answer; owned by the caller of the route */
	const char *last_event_id;  /* the last event the client has seen; NULL: none */
	const char *file_name;	    /* RAW: saved under this name; NULL: displayed */
	bool is_approximate;	    /* set if a number may be estimated: adds `approx` */
	struct sweep_limits limits; /* deadline and cancel: pass them to long operations */
	struct loaded *loaded;	    /* the server's */
	/* Items held by call_keep. */
	struct memo_item *held[CALL_HELD_MAX];
	size_t held_count;
	/* Borrowed by the answer: call_at_end. */
	void (*end)(void *ends);
	void *ends;
};

/*
 * The parameter's value; if missing, NULL or the table's fallback. The name must be in the route's
 * table.
 */
const char *call_text(const struct call *call, const char *name);
uint64_t call_number(const struct call *call, const char *name);
unsigned call_choice(const struct call *call, const char *name);
bool call_flag(const struct call *call, const char *name);
bool call_has(const struct call *call, const char *name);

/* Writes given values of parameters with a place; other settings are unchanged. */
void call_fill(const struct call *call, void *settings);

/* All values of a PARAM_TEXTS in order, in the arena; NULL: out of memory. */
const char *const *call_texts(const struct call *call, const char *name, size_t *count_ret);

/* Nanoseconds on the tape; fallback if missing. ERR_USAGE: no such mark. */
struct err *call_moment(struct call *call, const char *name, uint64_t fallback_ns,
			uint64_t *ns_ret);

/* false: missing. */
bool call_hash(const struct call *call, const char *name, uint64_t *hash_ret);

/* Hashes in order, in the arena; none if missing. */
struct err *call_path(struct call *call, const char *name, const uint64_t **hashes_ret,
		      size_t *count_ret);

/*
 * What is suppressed. Nothing is before the names of functions are known: a route that shows leaks
 * waits for them (call_names), as every filter does.
 */
enum call_leaks {
	CALL_LEAKS,	  /* in filters and sums, as in all of our own answers */
	CALL_ALIVE,	  /* in filters: `leaked` of the sums was alive at the end */
	CALL_UNSUPPRESSED /* nothing, for bytehound */
};

/*
 * The selection of q, from and until (ROUTE_SELECTS), within the call's limits; the whole tape if
 * none is given. Lives in the call's arena.
 */
struct err *call_select(struct call *call, const struct selection **selection_ret);

/* The same with another definition of leaks. */
struct err *call_select_with(struct call *call, enum call_leaks leaks,
			     const struct selection **selection_ret);

/* The same for an expression made by the route; any of them may be NULL. */
struct err *call_select_part(struct call *call, const char *filter, const char *from,
			     const char *until, enum call_leaks leaks,
			     const struct selection **selection_ret);

/*
 * A value shared with other calls about the same reading of the tape: key identifies everything
 * that it depends on. Made if missing, in the given arena. Valid until the call ends; at most
 * CALL_HELD_MAX of them.
 */
struct err *call_keep(struct call *call, const char *key,
		      struct err *(*make)(struct call *call, void *context, struct arena *arena,
					  const void **value_ret),
		      void *context, const void **value_ret);

/* q, from and until, for such keys. */
void call_part_key(const struct call *call, struct str *key);

/* Calls end(ends) when the answer is written, or failed; once per call. */
void call_at_end(struct call *call, void (*end)(void *ends), void *ends);

/* Releases kept values when the call has ended. */
void call_release(struct call *call);

/* Names of the tape's functions. The first call for a tape may wait for them. */
struct err *call_names(struct call *call, struct names **names_ret);

/* A private view of them, for functions that modify names; must be destroyed. */
struct err *call_names_view(struct call *call, struct names **names_ret);

struct field;
struct text_counts;

/* The texts of a field, found once and kept with the tape. */
struct err *call_text_counts(struct call *call, const struct field *field,
			     const struct text_counts **counts_ret);

/* Remaining time of the call; 0: no limit. */
uint64_t call_time_left_ns(const struct call *call);

/*
 * Makes the call one about the program's pools if it is: its question, its filter, its `by`. The
 * tape and its reading are set.
 */
struct err *call_choose_subject(struct call *call);

/* Whether to go on: ERR_LIMIT, ERR_STATE. Cheap enough for every few thousand steps. */
struct err *call_check(const struct call *call);

/* Marks err as being about this parameter. Returns err. */
struct err *call_blame(struct call *call, const char *name, struct err *err);

/* The same about the filter, `q`, if there is one and err is ERR_USAGE. */
struct err *call_blame_filter(struct call *call, const char *filter, struct err *err);

#endif
