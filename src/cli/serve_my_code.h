/*
 * serve_my_code: whose functions are, for a server: the options it was started with, and
 * .memtape/config, which is read again with every reading of a tape.
 */
#ifndef MEMTAPE_CLI_SERVE_MY_CODE_H
#define MEMTAPE_CLI_SERVE_MY_CODE_H

#include "cli/my_code.h"
#include "http/my_code_source.h"

struct serve_my_code {
	const struct my_code_options *options; /* borrowed */
	const char *refusal;		       /* NULL: the file may be changed */
	struct my_code_source source;	       /* for the server */
};

void serve_my_code_init(struct serve_my_code *my_code, const struct my_code_options *options,
			const char *refusal);

/* For struct tape_source; context is a struct serve_my_code. */
struct err *serve_my_code_rules(const void *context, const char *tape_path, struct arena *arena,
				struct role_rules *rules_ret);

#endif
