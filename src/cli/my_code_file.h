/*
 * my_code_file: .memtape/config, where whose functions are is remembered: read, checked and
 * rewritten here alone, for options and for the server.
 */
#ifndef MEMTAPE_CLI_MY_CODE_FILE_H
#define MEMTAPE_CLI_MY_CODE_FILE_H

#include "base/arena.h"
#include "model/roles.h"

/* The words of lines and options: "library", "wrapper", "my". Of options, those of a later kind win. */
struct my_code_kind {
	const char *word;
	enum name_role role;
};

enum { MY_CODE_KINDS = 3 };

extern const struct my_code_kind my_code_kinds[MY_CODE_KINDS];

struct my_code_line {
	struct role_rule rule;
	unsigned number; /* from 1 */
};

/* Everything is in the arena it was read into. */
struct my_code_file {
	const char *path; /* where it is, or would be made */
	bool exists;
	const char *text; /* as it is; "" if there is none */
	const struct my_code_line *lines;
	size_t line_count;
};

/*
 * The file of the current folder or of the nearest above, else that of the tape's folder (tape_path
 * may be NULL) or above. Files of other users are none. ERR_USAGE: a line is wrong; the error says
 * which, and where in it.
 */
struct err *my_code_file_read(const char *tape_path, struct arena *arena,
			      struct my_code_file *file_ret);

/*
 * Rewrites the file that my_code_file_read finds, or makes one in the current folder: patterns of
 * `remove` with that role are taken out of its lines, those of `add` out of all lines, and become
 * its last ones. Other lines and comments stay. Whoever reads sees all of it or nothing; several
 * processes and threads may do so at once. ERR_USAGE: nothing changed.
 */
struct err *my_code_file_change(const char *tape_path, const struct role_rule *remove,
				size_t remove_count, const struct role_rule *add, size_t add_count);

#endif
