/*
 * memo: what was found out about a reading of a tape, to be used again by other questions about the
 * same part of it: selections, groups. Within so many bytes; what nobody used for longest goes
 * first, but never what somebody holds. Any number of threads may use it.
 */
#ifndef MEMTAPE_HTTP_MEMO_H
#define MEMTAPE_HTTP_MEMO_H

#include "base/arena.h"
#include "sums/sweep.h"

struct memo;

struct memo_item {
	struct arena arena; /* where the value lives */
	const void *value;  /* immutable */
	/* Private: */
	struct memo_item *next; /* used longer ago */
	char *key;
	unsigned refs;
	bool is_ready;
};

/*
 * A part of the machine's memory: for a tape with millions of stacks one look at a span of time is
 * hundreds of megabytes, and every question about the same span needs them.
 */
size_t memo_bytes_usual(void);

/* NULL: no memory. */
struct memo *memo_create(size_t bytes_max);
void memo_destroy(struct memo *memo); /* nobody holds an item any more; NULL is fine */

/*
 * The item of this key, to be released; it is waited for while another thread makes it. When
 * *is_new_ret is set there was none: the caller makes it in the item's arena, and says memo_done.
 */
struct err *memo_hold(struct memo *memo, const char *key, const struct sweep_limits *limits,
		      struct memo_item **item_ret, bool *is_new_ret);

/* value NULL: it could not be made; who waits for it tries himself. */
void memo_done(struct memo *memo, struct memo_item *item, const void *value);

void memo_release(struct memo *memo, struct memo_item *item);

#endif
