/*
 * spool: the memory a recorder and its collector share while a program runs.
 *
 * It is laid out as a raw tape: a header page and slots of equal size, each a chunk. The recorder
 * opens it by the path spool_path gives and maps it; the memory outlives the target, so that what
 * was recorded before a SIGKILL is read afterwards.
 *
 * Nothing in it is trusted: the target's bugs can write here. Chunks are copied out and clamped.
 */
#ifndef MEMTAPE_COLLECT_SPOOL_H
#define MEMTAPE_COLLECT_SPOOL_H

#include "base/err.h"
#include "tape/tape.h"

enum {
	SPOOL_CHUNK_BYTES = 128 << 10,
	SPOOL_CHUNK_COUNT = 32, /* to be collected at most; */
	SPOOL_OPEN_COUNT = 192, /* and slots for threads to write in: costs memory when used */
	SPOOL_CHUNK_COUNT_MIN = 2,
	SPOOL_CHUNK_COUNT_MAX = 1 << 16
};

struct spool {
	int fd;
	uint8_t *map;
	size_t bytes;
	uint32_t chunk_bytes; /* of a slot, private copy: the header's is the target's to break */
	uint32_t chunk_count;
};

/*
 * Makes a spool with a filled header; flags are enum tape_header_flag. directory is where a
 * file takes the place of memory when the kernel has no memfd. Undone by spool_close.
 */
struct err *spool_open(struct spool *spool, uint32_t chunk_bytes, uint32_t chunk_count,
		       uint32_t flags, const char *directory);
void spool_close(struct spool *spool);

/* The path by which another process of this user opens the spool while this one lives. */
struct err *spool_path(const struct spool *spool, char *path, size_t path_bytes);

struct tape_header *spool_header(const struct spool *spool);
struct tape_live *spool_live(const struct spool *spool);

/* index < chunk_count. */
struct tape_chunk *spool_chunk(const struct spool *spool, uint32_t index);

/* Acquires what the recorder wrote before it set the state. */
uint32_t spool_chunk_state(const struct spool *spool, uint32_t index);

/*
 * Copies the chunk of a slot to chunk (chunk_bytes long, 8-aligned): a full slot image whose header
 * is consistent (counts fit, magic right). False: the slot holds no chunk that can be used.
 */
bool spool_chunk_copy(const struct spool *spool, uint32_t index, struct tape_chunk *chunk);

/*
 * The same of a chunk that is being written: whole records, and the nodes that they name. False:
 * there are none yet.
 */
bool spool_chunk_peek(const struct spool *spool, uint32_t index, struct tape_chunk *chunk);

/* Gives the slot back to the recorder and wakes it when it waits. */
void spool_chunk_free(const struct spool *spool, uint32_t index);

/* Tells the recorder that nobody will empty slots any more. */
void spool_give_up(const struct spool *spool, int error);

/*
 * Sleeps until a chunk is sealed, spool_poke is called or the time is over. seen is sealed_count
 * as read before the caller last looked at the slots.
 */
void spool_wait(const struct spool *spool, uint32_t seen, uint64_t timeout_ns);
uint32_t spool_sealed_count(const struct spool *spool);

/* Ends the current or next spool_wait; for signal handlers. wake is &live->sealed_count. */
void spool_poke(uint32_t *wake);

#endif
