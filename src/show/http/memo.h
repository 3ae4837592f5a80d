/*
 * memo: results about one reading of a tape, kept for further requests about the same part of it:
 * selections, groups. Their bytes are limited; the least recently used are dropped first, but never
 * those held. Thread-safe.
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
	struct memo_item *next; /* less recently used */
	char *key;
	unsigned refs;
	bool is_ready;
};

/*
 * A fraction of the machine's memory: for a tape with millions of stacks one result about a span of
 * time is hundreds of megabytes, and every request about the same span needs it.
 */
size_t memo_bytes_usual(void);

/* NULL: no memory. */
struct memo *memo_create(size_t bytes_max);
void memo_destroy(struct memo *memo); /* no item may be held; NULL is fine */

/*
 * The item for this key, to be released; waits while another thread makes it. If *is_new_ret is set
 * it did not exist: the caller makes it in the item's arena, and calls memo_done.
 */
struct err *memo_hold(struct memo *memo, const char *key, const struct sweep_limits *limits,
		      struct memo_item **item_ret, bool *is_new_ret);

/* value NULL: it could not be made; each waiter then tries itself. */
void memo_done(struct memo *memo, struct memo_item *item, const void *value);

void memo_release(struct memo *memo, struct memo_item *item);

#endif
