/*
 * following: a model without rows of a packed tape that is being written. Each look plays what was
 * appended since the last one (capture/following.h), so it takes the time of that and not of the tape.
 * The model is the one that model_load makes of a tape that ends there, except for leak scans, pools,
 * durations of calls and damage, which it does not have.
 *
 *	err = model_following_open(path, MODEL_FOLLOWING_BYTES, &following);
 *	while (!err) {
 *		err = model_following_look(following, now_ticks, late_ns, &cancel);
 *		... model_following_model(following) ...
 *	}
 *
 * One thread at a time, those that read the model included: it changes with each look.
 */
#ifndef MEMTAPE_MODEL_FOLLOWING_H
#define MEMTAPE_MODEL_FOLLOWING_H

#include "model/model.h"

struct model_following;

static const uint64_t MODEL_FOLLOWING_BYTES = UINT64_C(512) << 20;

/*
 * Nothing is read yet but the header. bytes_max: memory that it may take: mostly 32 bytes for each live
 * block, 64 for each stack four times, and what the stacks did in the last hour.
 * ERR_UNSUPPORTED: a raw tape.
 */
struct err *model_following_open(const char *path, uint64_t bytes_max,
				 struct model_following **following_ret);
void model_following_close(struct model_following *following); /* NULL is fine */
CLEAN_DEFINE(model_following_close, struct model_following *);

const struct tape_header *model_following_header(const struct model_following *following);

/*
 * Reads on. now_ticks: of the tape's clock, shifted, when the tape was brought up to date; everything
 * older than late_ns then is believed to be on it, and that is what the model is of. UINT64_MAX: the tape
 * ends here, and the model is of all of it. cancel: read atomically; NULL: never.
 *
 * After an error the following has served its purpose. It may be begun anew after ERR_NOT_FOUND (the file
 * was replaced or cut) and ERR_STATE (an event came later than believed; or it was cancelled); ERR_LIMIT: it takes more memory
 * than it may; ERR_FORMAT: the tape is damaged. Then it has to be read as a whole.
 */
struct err *model_following_look(struct model_following *following, uint64_t now_ticks,
				 uint64_t late_ns, const bool *cancel);

/* Of the last look; NULL: there was none. The same object, with other contents, after the next. */
const struct model *model_following_model(const struct model_following *following);

size_t model_following_bytes(const struct model_following *following);

/* --- windows of such a model ---------------------------------------------------------------- */

/* Whether the model is of a tape that is followed. */
bool model_is_followed(const struct model *model);

/*
 * The moment nearest to ns from which on it is known what happened until the end: about a sixtieth of its
 * age at most away from it in the last hour, else the beginning or an hour ago. Of a followed one.
 */
uint64_t model_window_begin(const struct model *model, uint64_t ns);

/*
 * What happened from such a moment on until the end, by stack; a temporary allocation counts when it is
 * freed. Usable bytes are 0. moments: room for model_stack_count().
 */
void model_window_moments(const struct model *model, uint64_t from_ns,
			  struct model_stack_moment *moments);

#endif
