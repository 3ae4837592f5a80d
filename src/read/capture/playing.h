/*
 * playing: a tape played while it is being recorded.
 *
 * Chunks are given as soon as they are begun, and grow while they are played. Events of several
 * streams are merged by time, so an event may be played when nothing earlier can come. That is not
 * known for certain while the program runs: a thread may have been interrupted between reading its
 * clock and writing its record. So the owner says for each stream what it believes (its bound), and
 * what it is proved wrong by is an error: ERR_STATE. Then the tape has to be played as a whole, as
 * by capture_play. Without an error the player has been given the same events, in the same order,
 * with the same stacks.
 *
 * One thread at a time; the owner of the chunks may be another one.
 */
#ifndef MEMTAPE_CAPTURE_PLAYING_H
#define MEMTAPE_CAPTURE_PLAYING_H

#include "capture/capture.h"

enum { CAPTURE_GROWING_PAD = 64 }; /* readable bytes after a slot image */

/*
 * A chunk. The image is a slot of the tape's chunk size; its records and nodes are written by the
 * owner, its header belongs to the play from capture_playing_give on. All other members are
 * accessed atomically: the owner stores (release) node_count, then `used`, then is_complete, each
 * after what it covers.
 */
struct capture_growing {
	struct tape_chunk *image;
	uint32_t used; /* bytes of whole records */
	uint32_t node_count;
	uint32_t is_complete; /* nothing more comes */
};

struct capture_playing;

/*
 * stacks and player are borrowed, and like those of capture_play. header: of the tape. release is
 * called with each chunk that was played, and at the end with those that were not.
 */
struct err *capture_playing_create(const struct tape_header *header, struct capture_stacks *stacks,
				   const struct capture_player *player,
				   void (*release)(void *context, struct capture_growing *growing),
				   void *context, struct capture_playing **playing_ret);
void capture_playing_destroy(struct capture_playing *playing); /* NULL is fine */
CLEAN_DEFINE(capture_playing_destroy, struct capture_playing *);

/* Streams are numbered as on the tape, from 0 on without gaps: their number so far. */
size_t capture_playing_stream_count(const struct capture_playing *playing);

/* The next chunk of its stream, which has been begun. Borrowed until it is released. */
struct err *capture_playing_give(struct capture_playing *playing, struct capture_growing *growing);

/*
 * What is not in the stream's chunks yet is believed not to be earlier than ticks; this was decided
 * before the chunks were last looked at. Streams without a bound have that of
 * capture_playing_bound_all, which also is a limit for all others.
 */
struct err *capture_playing_bound(struct capture_playing *playing, uint32_t stream, uint64_t ticks);
void capture_playing_bound_all(struct capture_playing *playing, uint64_t ticks);

/* Plays what can be played, until *stop (atomic) is set. */
struct err *capture_playing_go(struct capture_playing *playing, const uint32_t *stop);

/*
 * Every chunk has been given and is complete: plays the rest. capture is the finished tape, of
 * which everything must have been played. played_ret is filled on success.
 */
struct err *capture_playing_finish(struct capture_playing *playing, const struct capture *capture,
				   struct capture_played *played_ret);

/* Memory in use, without chunks, stacks and what the player has. */
size_t capture_playing_bytes(const struct capture_playing *playing);

#endif
