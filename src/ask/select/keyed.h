/*
 * keyed: allocations and frees in time order (select/playback.h), each with the group it belongs
 * to, for what follows the memory of several groups at once.
 *
 *	CLEAN(keyed_destroy) struct keyed *keyed = keyed_create(facts, keys, context);
 *	while (keyed_next(keyed, &event))
 *		... event.key, event.bytes
 *	err = keyed->err;
 *
 * Ends with the last allocation: after it memory only falls. Needs a MODEL_FULL model. Belongs to
 * one thread; takes the memory of five batches.
 */
#ifndef MEMTAPE_SELECT_KEYED_H
#define MEMTAPE_SELECT_KEYED_H

#include "base/err.h"
#include "select/batch.h"
#include "select/facts.h"
#include "select/playback.h"

/* Writes the group of every row in the batch. */
typedef void keyed_keys(const void *context, struct batch *batch, uint32_t *keys);

struct keyed {
	struct playback *playback;
	const struct facts *facts;
	keyed_keys *keys;
	const void *context;
	struct err *err; /* ERR_LIMIT, ERR_STATE: see facts.h; the caller's */
	struct batch batch;
	uint32_t allocation_keys[MODEL_BATCH]; /* of the rows read ahead */
	uint32_t free_keys[MODEL_BATCH];
};

struct keyed_event {
	uint64_t ns;
	uint64_t bytes; /* requested */
	uint32_t key;
	bool is_free;
};

/* facts are borrowed. NULL: out of memory. */
struct keyed *keyed_create(const struct facts *facts, keyed_keys *keys, const void *context);
void keyed_destroy(struct keyed *keyed); /* NULL is fine */
CLEAN_DEFINE(keyed_destroy, struct keyed *);

/* False: no more allocations, or err. */
bool keyed_next(struct keyed *keyed, struct keyed_event *event);

#endif
