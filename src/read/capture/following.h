/*
 * following: a packed tape that is being written, played as it grows. Each look finds the chunks that
 * were appended since the last one; they are played up to a time of which the caller believes that
 * everything earlier is on the tape, and the rest is kept for the next look. So the player is given the
 * same events, in the same order and with the same stacks, as by capture_play of the whole tape; what
 * proves the belief wrong is an error.
 *
 * After an error the following is of no use any more: ERR_NOT_FOUND says that the file was replaced or
 * cut and ERR_STATE that an event came late, after which another one of the same path may succeed;
 * ERR_FORMAT that the tape has damage and has to be read as a whole. One thread at a time.
 */
#ifndef MEMTAPE_CAPTURE_FOLLOWING_H
#define MEMTAPE_CAPTURE_FOLLOWING_H

#include "capture/capture.h"

struct capture_following;

/*
 * stacks and player are borrowed, and used by capture_following_play only; the player's threads are not.
 * ERR_UNSUPPORTED: the tape is a raw one.
 */
struct err *capture_following_open(const char *path, struct capture_stacks *stacks,
				   const struct capture_player *player,
				   struct capture_following **following_ret);
void capture_following_close(struct capture_following *following); /* NULL is fine */
CLEAN_DEFINE(capture_following_close, struct capture_following *);

/* As it was at opening. */
const struct tape_header *capture_following_header(const struct capture_following *following);

/* Finds what was appended; what is not there as a whole yet is left for the next look. */
struct err *capture_following_look(struct capture_following *following);

/* Of all chunks found: streams are numbered as on the tape, and some may have none. */
size_t capture_following_stream_count(const struct capture_following *following);

/*
 * Plays all events found that are earlier than until_ticks (shifted, as on the tape), and nothing later.
 * Times must not go back. cancel: read atomically; NULL: never. ERR_STATE, too, if it was cancelled.
 */
struct err *capture_following_play(struct capture_following *following, uint64_t until_ticks,
				   const bool *cancel);

/* Of what was found: file_bytes, chunk_count and missing_chunk_count; the others are 0. */
struct capture_facts capture_following_facts(const struct capture_following *following);

/* Of what was played. */
const struct capture_played *capture_following_played(const struct capture_following *following);

/* Memory in use, without stacks and what the player has. */
size_t capture_following_bytes(const struct capture_following *following);

#endif
