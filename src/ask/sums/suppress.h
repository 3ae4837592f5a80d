/*
 * suppress: leaks that are known and meant. Rules are those of LeakSanitizer's files: lines of
 * "leak:PATTERN", where the pattern is looked for in the function, source and module of every frame
 * of a stack; "*" stands for anything, "^" and "$" for beginning and end, "#" begins a comment.
 * Lines for other sanitizers ("race:", "vptr:" ...) are passed over.
 *
 * Some are built in: what every C++ or threaded program has and no tool reports.
 *
 * Rules are applied to a tape by its suppressor, once, when somebody asks first: it needs the names
 * of what leaked. Selections, fields and tables of SQL that are given one count a block that was
 * never freed as suppressed instead of leaked where a rule fits its stack.
 */
#ifndef MEMTAPE_SUMS_SUPPRESS_H
#define MEMTAPE_SUMS_SUPPRESS_H

#include <pthread.h>

#include "model/names.h"
#include "sums/sums.h"

struct suppress_rule {
	const char *text;   /* as written, for people */
	const char *reason; /* of a built-in rule; NULL: the user's */
};

/* Immutable once filled; all zeros has no rules, not even those built in. */
struct suppressions {
	const struct suppress_rule *rules;
	size_t count;
	const char *file; /* where the user's come from; NULL: those built in are all there are */
};

/*
 * Those built in, and those of the file where path is not NULL. Lives in the arena. ERR_USAGE: what
 * is in it are no rules. ERR_SYSTEM: it cannot be read.
 */
struct err *suppressions_load(const char *path, struct arena *arena,
			      struct suppressions *suppressions_ret);

/*
 * The same from text that was read already; origin is for messages. ERR_USAGE: a line is no rule.
 */
struct err *suppressions_parse(const char *text, const char *origin, struct arena *arena,
			       struct suppressions *suppressions_ret);

/* Whether the rule's pattern fits a function, source or module. */
bool suppress_rule_fits(const struct suppress_rule *rule, const char *text);

/* What is suppressed of some allocations. */
struct suppressed_leaks {
	struct model_sum total;
	const struct model_sum *by_rule; /* a stack counts for the first rule that fits */
};

/* What the rules say of a tape. */
struct suppressed {
	const struct suppressions *rules;
	const struct model *model;
	const uint32_t *rule_of; /* by stack that leaked: number of the rule + 1; 0: none */
	struct sums sums;	 /* of the whole tape, where what is suppressed has not leaked */
	struct suppressed_leaks leaks;
};

static inline bool suppressed_has(const struct suppressed *suppressed, uint64_t stack)
{
	return suppressed && suppressed->rule_of[stack] != 0;
}

/*
 * Takes what is suppressed out of sums by stack and their total; what it was lives in the arena.
 */
struct err *suppressed_take_out(const struct suppressed *suppressed,
				struct model_stack_sums *stacks, struct model_stack_sums *total,
				struct arena *arena, struct suppressed_leaks *leaks_ret);

/* The rules for one tape. Any number of threads may ask at once. */
struct suppressor {
	struct suppressions rules;
	const struct model *model;
	struct names *names;
	pthread_mutex_t lock;
	struct suppressed *found; /* under the lock; NULL: nobody has asked yet */
	struct arena arena;
};

/*
 * Borrows all of them. Nothing is looked at yet. rules NULL: there are none, nothing is suppressed.
 */
void suppressor_init(struct suppressor *suppressor, const struct model *model, struct names *names,
		     const struct suppressions *rules);
void suppressor_deinit(struct suppressor *suppressor); /* all zeros is fine */
CLEAN_DEFINE_DEINIT(suppressor_deinit, struct suppressor);

/*
 * What the rules say, valid as long as the suppressor. The first call finds the names of all that
 * leaked. *suppressed_ret is NULL where there is no suppressor or nothing is suppressed.
 */
struct err *suppressor_find(struct suppressor *suppressor,
			    const struct suppressed **suppressed_ret);

#endif
