/*
 * my_code: what a user says of whose functions are: --my, --library, --wrapper, and lines that
 * were remembered in .memtape/config.
 */
#ifndef MEMTAPE_CLI_MY_CODE_H
#define MEMTAPE_CLI_MY_CODE_H

#include "base/arena.h"
#include "base/options.h"
#include "model/roles.h"

/* Options; all zeros: nothing was said. */
struct my_code_options {
	struct option_list my, library, wrapper;
	bool remember;
};

/*
 * The rules of .memtape/config, which is looked for in the current folder and those above, then
 * likewise from the tape's folder (tape_path may be NULL); and those of the options, which come
 * last and so win. Everything is in the arena; patterns of options are borrowed. ERR_USAGE: a line
 * of the file or an option is wrong; the error says which.
 */
struct err *my_code_rules(const struct my_code_options *options, const char *tape_path,
			  struct arena *arena, struct role_rules *rules_ret);

/* With `remember`: adds the options to that file (cli/my_code_file.h). */
struct err *my_code_remember(const struct my_code_options *options, const char *tape_path);

/* The rules of the options alone. */
struct err *my_code_given(const struct my_code_options *options, struct arena *arena,
			  struct role_rules *rules_ret);

#endif
