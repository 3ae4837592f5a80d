/*
 * keeping: the option --keep, and a folder that is kept so while a command runs: by a thread, at once,
 * then every minute, and whenever something was added.
 */
#ifndef MEMTAPE_CLI_KEEPING_H
#define MEMTAPE_CLI_KEEPING_H

#include "base/options.h"
#include "folder/prune.h"

/* clang-format off */
#define KEEPING_OPTION(settings, member)                                                           \
	{ "keep", 'k', "RULE", OPTION_LIST, offsetof(settings, member),                            \
	  "remove the oldest tapes beyond RULE: a size (10GiB), an age (30d) or a number of tapes " \
	  "(500); can be given several times" }
/* clang-format on */

/* ERR_USAGE: a rule is none, or the folder is a session, which stays whole. */
struct err *keeping_rules(const struct option_list *options, const char *folder,
			  struct keep_rules *rules);

/* Once, now. What cannot be removed is said. */
struct err *keeping_once(const struct option_list *options, const char *folder);

/* Now, since 1970. */
uint64_t keeping_now_ns(void);

struct keeping;

/*
 * NULL in *keeping_ret: there are no rules. Blocks no signals: they must be blocked before. is_quiet: what
 * is removed is not said; what cannot be is.
 */
struct err *keeping_begin(const struct option_list *options, const char *folder, bool is_quiet,
			  struct keeping **keeping_ret);

/* Look again now; NULL is fine. Any thread. */
void keeping_look(struct keeping *keeping);
void keeping_end(struct keeping *keeping); /* NULL is fine */
CLEAN_DEFINE(keeping_end, struct keeping *);

#endif
