/*
 * spool: the memory a recorder and its collector share while a program runs.
 *
 * It is laid out as a raw tape: a header page and slots of equal size, each a chunk. The recorder
 * opens it by its path and maps it; the memory outlives the target, so that what was recorded
 * before a SIGKILL is read afterwards.
 *
 * It is a file beside the tape (TAPE_SPOOL_SUFFIX), so that what it holds outlives the collector,
 * too, and locked (flock) as long as the collector lives. Its blocks are allocated before the
 * recorder may use them: a hole would be a SIGBUS in the target. Where the file system cannot
 * promise that (network file systems, FUSE ...) it is memory without a name.
 *
 * Nothing in it is trusted: the target's bugs can write here. Chunks are copied out and clamped.
 */
#ifndef MEMTAPE_COLLECT_SPOOL_H
#define MEMTAPE_COLLECT_SPOOL_H

#include "base/err.h"
#include "tape/tape.h"
#include "tape/tape_exec.h"
#include "tape/tape_spool.h"

enum {
	SPOOL_CHUNK_BYTES = 128 << 10,
	SPOOL_CHUNK_COUNT = 32, /* to be collected at most; */
	SPOOL_OPEN_COUNT = 192, /* and slots for threads to write in: costs memory when used */
	SPOOL_CHUNK_COUNT_MIN = 2,
	SPOOL_CHUNK_COUNT_MAX = 1 << 16,
	SPOOL_READY_COUNT = 16 /* slots with blocks in the file at first */
};

struct spool {
	int fd;
	uint8_t *map;
	size_t bytes;
	uint32_t chunk_bytes; /* of a slot, private copy: the header's is the target's to break */
	uint32_t chunk_count;
	uint32_t flags;	      /* of the header, likewise */
	uint32_t ready_count; /* of these, with blocks in the file */
	uint32_t used_count;  /* ever used by the recorder, as far as was looked */
	char *name;	      /* of the file; NULL: memory without a name */
};

/*
 * Makes a spool with a filled header in directory; flags are enum tape_header_flag. Undone by
 * spool_close, which removes the file.
 */
struct err *spool_open(struct spool *spool, uint32_t chunk_bytes, uint32_t chunk_count,
		       uint32_t flags, const char *directory);
void spool_close(struct spool *spool);

/*
 * "MEMTAPE_SPOOL=..." for the program's environment: the path by which another process of this user
 * opens it. It lies in the spool, so that a child that was forked before a spool_rename has it,
 * too.
 */
char *spool_variable(const struct spool *spool);
/* From here on it has this name, whatever had it; memory without a name stays that. */
struct err *spool_rename(struct spool *spool, const char *name);
/* Takes the name away: what is in it from now on cannot be found by others. */
void spool_unlink(struct spool *spool);

/* More slots for the recorder when it needs them soon, as far as there is room on the disk. */
void spool_grow(struct spool *spool);

/*
 * As it was at first, under the name it has, for the next program's recorder; whatever it held is
 * gone. No recorder writes to it meanwhile.
 */
struct err *spool_renew(struct spool *spool);

/* The recorder's question after an exec, and the answer: it waits for it no longer. */
bool spool_is_asked(const struct spool *spool);
void spool_answer(const struct spool *spool, enum tape_exec_state answer);

/* The next recorder, which has filled in the header, goes on if it has waited for this. */
void spool_is_named(const struct spool *spool);

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
 * Slots that the recorder appended, believing the collector dead. visit gets a copy of each that
 * can be used; chunk is room for one.
 */
struct err *spool_appended_each(const struct spool *spool, struct tape_chunk *chunk,
				void (*visit)(void *context, struct tape_chunk *chunk),
				void *context);

/*
 * The same of a chunk that is being written: whole records, and the nodes that they name. False:
 * there are none yet.
 */
bool spool_chunk_peek(const struct spool *spool, uint32_t index, struct tape_chunk *chunk);

/* Gives the slot back to the recorder and wakes it when it waits. */
void spool_chunk_free(const struct spool *spool, uint32_t index);

/* Tells the recorder that slots will not be emptied any more. */
void spool_give_up(const struct spool *spool, int error);

/* Tells the recorder that it may make no system calls: the program has got a filter. */
void spool_forbid_calls(const struct spool *spool);

/* Whether the recorder waits for a look at its threads; then tell it when that is done. */
bool spool_wants_look(const struct spool *spool, uint32_t *wanted_ret);
void spool_look_done(const struct spool *spool, uint32_t wanted);

/*
 * Sleeps until a chunk is sealed, spool_poke is called or the time is over. seen is sealed_count
 * as read before the caller last looked at the slots.
 */
void spool_wait(const struct spool *spool, uint32_t seen, uint64_t timeout_ns);
uint32_t spool_sealed_count(const struct spool *spool);

/* Ends the current or next spool_wait; for signal handlers. wake is &live->sealed_count. */
void spool_poke(uint32_t *wake);

#endif
