/*
 * my_code_source: whose functions are, as the user says it: what is in force for a tape and where
 * it is said, and how it is changed. How it is kept is up to who starts the server.
 */
#ifndef MEMTAPE_HTTP_MY_CODE_SOURCE_H
#define MEMTAPE_HTTP_MY_CODE_SOURCE_H

#include "answer/shape.h"
#include "base/arena.h"
#include "model/roles.h"

/* A pattern; the last that matches decides. */
struct my_code_pattern {
	const char *role; /* role_word */
	const char *pattern;
	const char *from; /* "option", "config", "built-in" */
	const char *of;	  /* of what is built in: "function", "source", "module"; else NULL */
	uint64_t line;	  /* of the file; 0: elsewhere */
};

struct my_code {
	const char *config; /* the file; where it would be made */
	bool exists;
	const char *refusal;	    /* why it is not changed here; NULL: it can be */
	struct shape_rows patterns; /* my_code_pattern */
};

extern const struct shape shape_my_code;

struct my_code_change {
	enum name_role role;
	const char *add, *remove; /* patterns; NULL: none */
};

struct my_code_source {
	struct err *(*list)(void *context, const char *tape_path, struct arena *arena,
			    struct my_code *value);
	/* On any thread, several at once. ERR_USAGE: a pattern is wrong. ERR_UNSUPPORTED: refused. */
	struct err *(*change)(void *context, const char *tape_path,
			      const struct my_code_change *change);
	void *context;
};

struct server;

/* ERR_UNSUPPORTED: this server does not know. */
struct err *server_my_code(const struct server *server, const struct my_code_source **source_ret);

#endif
