/*
 * route: the server's API.
 *
 * Each file api_NAME.c (or data_NAME.c) here exports one `const struct route route_FILE`, and FILE
 * is listed in this room's meson.build, which generates the table. The row is a complete
 * description: path, parameters with their types and limits, requirements of the answer. It drives
 * the parsing and checking of parameters, the errors for unknown, repeated and invalid ones, and
 * /api/v1/openapi.json. The run function only sees valid values (http/call.h).
 */
#ifndef MEMTAPE_HTTP_ROUTE_H
#define MEMTAPE_HTTP_ROUTE_H

#include "answer/question.h"

enum param_kind {
	PARAM_TEXT,   /* any text: call_text */
	PARAM_TEXTS,  /* the same, repeatable: call_texts */
	PARAM_NUMBER, /* min .. max: call_number */
	PARAM_CHOICE, /* one of words: call_choice */
	PARAM_FLAG,   /* 0 or 1 (an empty value is 1): call_flag */
	PARAM_FILTER, /* memtape-filter(7): call_text; its grammar is checked */
	PARAM_MOMENT, /* 1.5s, 250ns, 25%, peak, end, mark(x): call_moment */
	PARAM_HASH,   /* up to 16 hex digits: call_hash */
	PARAM_PATH    /* such hashes separated by dots: call_path */
};

struct param {
	const char *name;
	enum param_kind kind;
	bool is_required;
	const char *doc;	  /* one sentence without a full stop */
	const char *const *words; /* PARAM_CHOICE: NULL-terminated */
	uint64_t min, max;	  /* PARAM_NUMBER, both included; max 0: no limit */
	uint64_t fallback;	  /* PARAM_NUMBER; PARAM_CHOICE: index; PARAM_FLAG: 0 or 1 */
	const char *missing;	  /* meaning if missing, for the document; may be NULL */
	bool has_place;		  /* call_fill writes it at `place` in the settings: a string, */
	size_t place;		  /* uint64_t, bool, or for PARAM_CHOICE an int */
};

enum {
	PARAMS_MAX = 64,       /* per route, with the common ones */
	PARAM_VALUES_MAX = 64, /* per request */
};

enum route_flag {
	ROUTE_TAPE = 1 << 0,	 /* about a tape: has `c`, and sets call->model etc. */
	ROUTE_SELECTS = 1 << 1,	 /* about a part of it: has q, from and until; use call_select */
	ROUTE_RAW = 1 << 2,	 /* writes its whole answer to call->out, with call->type */
	ROUTE_FILE = 1 << 3,	 /* RAW, and possibly large: buffered in a file on disk */
	ROUTE_POST = 1 << 4,	 /* a POST with a JSON object whose members are params */
	ROUTE_UNCACHED = 1 << 5, /* the same request may have another answer later */
	ROUTE_STREAM = 1 << 6,	 /* sets call->stream, which produces the answer while it is sent */
	ROUTE_MAY_POST = 1 << 7, /* accepts POST as well: for texts too long for a URL */
	ROUTE_LENIENT = 1 << 9,	 /* accepts a literal "50%" in its query, as other tools write it */
	ROUTE_SQL = 1 << 10,	 /* runs a statement, which has a time limit of its own */
	ROUTE_PATIENT = 1 << 8	 /* reads a whole tape once: may take PATIENCE times as long */
};

struct call;

struct route {
	const char *path; /* "/api/v1/info"; a component "{c}" is the parameter c */
	/* Its question, which then defines all that follows except ROUTE_TAPE. NULL: none. */
	const struct question *question;
	const char *summary;	    /* one line for the document, no full stop */
	const struct shape *shape;  /* of the answer, filled by `find`; NULL: `run` writes it */
	const char *type;	    /* RAW: the answer's media type */
	unsigned flags;		    /* enum route_flag */
	const struct param *params; /* without those implied by flags */
	size_t param_count;
	/* Fills the answer, which is shape->bytes zeros; pointers in it are to the arena. */
	struct err *(*find)(struct call *call, void *answer);
	struct err *(*run)(struct call *call);
};

/* All routes in the order of meson.build, NULL at the end. */
extern const struct route *const route_table[];

/*
 * The route for a path (as in a request, without the query), or NULL. *id_ret is the component for
 * {c}, with *id_len_ret bytes; NULL if the path has none.
 */
const struct route *route_find(const char *path, size_t path_len, const char **id_ret,
			       size_t *id_len_ret);

/* Summary of the route or its question. */
const char *route_summary(const struct route *route);
unsigned route_flags(const struct route *route);

/* The answer's shape; NULL: it is a file. */
const struct shape *route_shape(const struct route *route);

/* All parameters of the route, those implied by its flags first; at most PARAMS_MAX. */
size_t route_params(const struct route *route, const struct param **params_ret);

#endif
