/*
 * companion: plays the tape while it is recorded, for what is printed when the program has ended.
 *
 * The collector copies what is recorded, as it sees it, to chunks of its own, which a thread of
 * low priority plays. Neither waits for the other: chunks, and what the collector believes about
 * the streams (capture/playing.h), pass through atomic variables and queues that cannot overflow.
 * Whenever something is not as it should be - the thread is too slow because the processors have
 * other work, too much memory is needed, an event comes late - the companion is dropped: then the
 * tape is played when it is complete, as by any other reader.
 *
 * All functions are for the collector's thread.
 */
#ifndef MEMTAPE_COLLECT_COMPANION_H
#define MEMTAPE_COLLECT_COMPANION_H

#include "capture/playing.h"
#include "collect/spool.h"

/* What plays. Used by one thread at a time, and not always by the same one. */
struct companion_player {
	struct err *(*create)(const struct tape_header *header,
			      void (*release)(void *context, struct capture_growing *growing),
			      void *context, void **player_ret);
	void (*destroy)(void *player);
	struct capture_playing *(*playing)(void *player); /* chunks and bounds are passed to it */
	struct err *(*go)(void *player, const uint32_t *stop); /* as capture_playing_go */
	size_t (*bytes)(const void *player);		       /* memory in use */
};

struct companion;

/* header: of the tape, copied; what plays is borrowed. NULL: out of memory. */
struct companion *companion_create(const struct companion_player *player,
				   const struct tape_header *header);
/* Does not wait long: if the thread does not get to run, it frees the memory when it does. NULL is
 * fine. */
void companion_destroy(struct companion *companion);

/*
 * So much memory is free; UINT64_MAX: unknown. What plays may take some of it, and is dropped when
 * it has more; at first, and where little is free, the least that it may always take.
 */
void companion_allow(struct companion *companion, uint64_t free_bytes);

/*
 * A chunk is on the tape: all of chunk, a slot image of slot_bytes, if used_on_tape is its size.
 * Starts the thread if there is enough to play.
 */
void companion_keep(struct companion *companion, const struct tape_chunk *chunk,
		    uint32_t slot_bytes, uint32_t used_on_tape);

/* What is kept from now on is the end of the tape: no thread is started for it. */
void companion_program_ended(struct companion *companion);

/* What is in the collector's own chunk, of slot_bytes, so far. */
void companion_see_own(struct companion *companion, const struct tape_chunk *chunk,
		       uint32_t slot_bytes);

/*
 * Looks at the spool, if that is due: what is in chunks that are not full, and how far threads have
 * got. ticks: the time now, as on the tape; the collector's own records so far are seen.
 */
bool companion_look_is_due(struct companion *companion, uint64_t now_ns);
void companion_look(struct companion *companion, const struct spool *spool, uint64_t ticks,
		    uint64_t now_ns);

/* The tape is another one from now on, or nobody wants what was played. Does not wait. */
void companion_stop(struct companion *companion);

/* Whether its thread has ended, or never began. */
bool companion_has_ended(struct companion *companion);

/*
 * The tape is finished: stops the thread. What plays, which has been given all chunks, or NULL: the
 * companion was dropped. Belongs to the companion.
 */
void *companion_player_get(struct companion *companion);

/* Why it was dropped; NULL: it was not. */
const char *companion_dropped(const struct companion *companion);

#endif
