/*
 * suppress: suppression of known leaks. Rules have LeakSanitizer's format: lines of "leak:PATTERN";
 * the pattern is searched in the function, source and module of every frame of a stack; "*" matches
 * anything, "^" and "$" match beginning and end, "#" starts a comment. Lines for other sanitizers
 * ("race:", "vptr:" ...) are ignored.
 *
 * Some rules are built in, for leaks that every C++ or threaded program has and no tool reports.
 *
 * A tape's suppressor applies the rules once, on first use: it needs the names of leaking stacks.
 * Selections, fields and SQL tables with a suppressor count a block that was never freed as
 * suppressed instead of leaked if a rule matches its stack.
 */
#ifndef MEMTAPE_SUMS_SUPPRESS_H
#define MEMTAPE_SUMS_SUPPRESS_H

#include <pthread.h>

#include "model/names.h"
#include "sums/sums.h"

struct suppress_rule {
	const char *text;   /* as written, for display */
	const char *reason; /* of a built-in rule; NULL: a user's rule */
};

/* Immutable once filled; all zeros: no rules, not even built-in ones. */
struct suppressions {
	const struct suppress_rule *rules;
	size_t count;
	const char *file; /* the user's file; NULL: only built-in rules */
};

/*
 * The built-in rules, and those of the file if path is not NULL. Lives in the arena. ERR_USAGE:
 * invalid rules. ERR_SYSTEM: cannot be read.
 */
struct err *suppressions_load(const char *path, struct arena *arena,
			      struct suppressions *suppressions_ret);

/*
 * The same from text in memory; origin is for messages. ERR_USAGE: a line is not a rule.
 */
struct err *suppressions_parse(const char *text, const char *origin, struct arena *arena,
			       struct suppressions *suppressions_ret);

/* Whether the rule's pattern matches a function, source or module. */
bool suppress_rule_fits(const struct suppress_rule *rule, const char *text);

/* The suppressed leaks among some allocations. */
struct suppressed_leaks {
	struct model_sum total;
	const struct model_sum *by_rule; /* a stack counts for the first rule that matches */
};

/* The rules applied to a tape. */
struct suppressed {
	const struct suppressions *rules;
	const struct model *model;
	const uint32_t *rule_of; /* by leaking stack: number of the rule + 1; 0: none */
	struct sums sums;	 /* of the whole tape; suppressed leaks do not count as leaked */
	struct suppressed_leaks leaks;
};

static inline bool suppressed_has(const struct suppressed *suppressed, uint64_t stack)
{
	return suppressed && suppressed->rule_of[stack] != 0;
}

/*
 * Subtracts suppressed leaks from sums by stack, whose items are the caller's to change, and from
 * their total; returns them, in the arena.
 */
struct err *suppressed_take_out(const struct suppressed *suppressed, struct model_by_stack stacks,
				struct model_stack_sums *total, struct arena *arena,
				struct suppressed_leaks *leaks_ret);

/* The rules for one tape. Thread-safe. */
struct suppressor {
	struct suppressions rules;
	const struct model *model;
	struct names *names;
	pthread_mutex_t lock;
	struct suppressed *found; /* under the lock; NULL: not used yet */
	struct arena arena;
};

/*
 * Borrows all arguments, and reads nothing yet. rules NULL: none, nothing is suppressed.
 */
void suppressor_init(struct suppressor *suppressor, const struct model *model, struct names *names,
		     const struct suppressions *rules);
void suppressor_deinit(struct suppressor *suppressor); /* all zeros is fine */
CLEAN_DEFINE_DEINIT(suppressor_deinit, struct suppressor);

/*
 * The applied rules, valid as long as the suppressor. The first call finds the names of all leaking
 * stacks. *suppressed_ret is NULL if there is no suppressor or nothing is suppressed.
 */
struct err *suppressor_find(struct suppressor *suppressor,
			    const struct suppressed **suppressed_ret);

/*
 * The rules for other blocks than those that leaked: for each stack with wanted[stack] != 0 the
 * number of the rule that matches + 1; 0: none. In the arena; NULL: nothing is suppressed.
 */
struct err *suppressor_match(struct suppressor *suppressor, const uint8_t *wanted,
			     struct arena *arena, const uint32_t **rule_of_ret);

#endif
