/*
 * suppress: leaks that are known and meant. Rules are those of LeakSanitizer's files: lines of
 * "leak:PATTERN", where the pattern is looked for in the function, source and module of every frame
 * of a stack; "*" stands for anything, "^" and "$" for beginning and end, "#" begins a comment.
 * Lines for other sanitizers ("race:", "vptr:" ...) are passed over.
 *
 * Some are built in: what every C++ or threaded program has and no tool tells of.
 */
#ifndef MEMTAPE_QUERY_SUPPRESS_H
#define MEMTAPE_QUERY_SUPPRESS_H

#include "model/names.h"
#include "query/sums.h"

struct suppress_rule {
	const char *text;   /* as written, for people */
	const char *reason; /* of a built-in rule; NULL: the user's */
};

/* Immutable once filled; all zeros has no rules, not even those built in. */
struct suppressions {
	const struct suppress_rule *rules;
	size_t count;
};

/* Those built in, and those of the file where path is not NULL. Lives in the arena. */
struct err *suppressions_load(const char *path, struct arena *arena,
			      struct suppressions *suppressions_ret);

/*
 * The same from text that was read already; origin is for messages. ERR_USAGE: a line is no rule.
 */
struct err *suppressions_parse(const char *text, const char *origin, struct arena *arena,
			       struct suppressions *suppressions_ret);

struct suppressed {
	struct sums sums;	     /* as given, without what leaked and is suppressed */
	struct model_sum leaked;     /* what is suppressed, altogether */
	struct model_sum *leaked_by; /* of each rule; a stack counts for the first that fits */
	const uint32_t *rule_of;     /* by stack: number of the rule + 1; 0: none */
};

/* Looks at the stacks that leaked. The result lives in the arena. */
struct err *suppress_leaks(const struct suppressions *suppressions, const struct sums *sums,
			   struct names *names, struct arena *arena,
			   struct suppressed *suppressed_ret);

#endif
