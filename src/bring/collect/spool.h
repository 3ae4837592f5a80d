/*
 * spool: the memory shared by a recorder and its collector while a program runs.
 *
 * It is laid out as a raw tape: a header page and slots of equal size, each a chunk. The recorder
 * opens it by path and maps it; the memory outlives the target, so that data recorded before a
 * SIGKILL is read afterwards.
 *
 * It is a file next to the tape (TAPE_SPOOL_SUFFIX), so that its contents also outlive the
 * collector, and is locked (flock) as long as the collector lives. Its blocks are allocated before
 * the recorder may use them: a hole would be a SIGBUS in the target. Where the file system cannot
 * guarantee that (network file systems, FUSE ...) it is anonymous memory.
 *
 * Its contents are untrusted: bugs of the target can write here. Chunks are copied out and clamped.
 */
#ifndef MEMTAPE_COLLECT_SPOOL_H
#define MEMTAPE_COLLECT_SPOOL_H

#include "base/err.h"
#include "tape/tape.h"
#include "tape/tape_exec.h"
#include "tape/tape_spool.h"

enum {
	SPOOL_CHUNK_BYTES = 128 << 10,
	SPOOL_CHUNK_COUNT = 32, /* limit of those waiting to be collected; */
	SPOOL_OPEN_COUNT = 192, /* plus slots that threads write to: they cost memory once used */
	SPOOL_CHUNK_COUNT_MIN = 2,
	SPOOL_CHUNK_COUNT_MAX = 1 << 16,
	SPOOL_READY_COUNT = 16 /* slots with allocated blocks in the file initially */
};

struct spool {
	int fd;
	uint8_t *map;
	size_t bytes;
	uint32_t chunk_bytes; /* of a slot; private copy, as the target can corrupt the header's */
	uint32_t chunk_count;
	uint32_t flags;	      /* of the header, likewise */
	uint32_t ready_count; /* of these, with allocated blocks in the file */
	uint32_t used_count;  /* ever used by the recorder, as far as examined */
	char *name;	      /* of the file; NULL: anonymous memory */
};

/*
 * Creates a spool with a filled header in directory; flags are enum tape_header_flag. Undone by
 * spool_close, which removes the file.
 */
struct err *spool_open(struct spool *spool, uint32_t chunk_bytes, uint32_t chunk_count,
		       uint32_t flags, const char *directory);
void spool_close(struct spool *spool);

/*
 * "MEMTAPE_SPOOL=..." for the program's environment: the path by which other processes of this user
 * open it. The string is in the spool itself, so that a child forked before spool_rename sees the
 * new name, too.
 */
char *spool_variable(const struct spool *spool);
/* Renames it, replacing any file of that name; anonymous memory stays anonymous. */
struct err *spool_rename(struct spool *spool, const char *name);
/* Unlinks it: other processes cannot find its contents from now on. */
void spool_unlink(struct spool *spool);

/* Adds slots if the recorder will need them soon and the disk has room. */
void spool_grow(struct spool *spool);

/*
 * Resets it to its initial state, keeping its name, for the next program's recorder; its contents
 * are gone. No recorder may write to it meanwhile.
 */
struct err *spool_renew(struct spool *spool);

/* The recorder's request after an exec, and the reply, which ends its wait. */
bool spool_is_asked(const struct spool *spool);
void spool_answer(const struct spool *spool, enum tape_exec_state answer);

/* Lets the next recorder, which has filled in the header, go on if it has waited for this. */
void spool_is_named(const struct spool *spool);

struct tape_header *spool_header(const struct spool *spool);
struct tape_live *spool_live(const struct spool *spool);

/* index < chunk_count. */
struct tape_chunk *spool_chunk(const struct spool *spool, uint32_t index);

/* Acquires what the recorder wrote before setting the state. */
uint32_t spool_chunk_state(const struct spool *spool, uint32_t index);

/*
 * Copies the chunk of a slot to chunk (chunk_bytes long, 8-aligned): a full slot image with a
 * consistent header (counts in range, magic correct). False: the slot holds no usable chunk.
 */
bool spool_chunk_copy(const struct spool *spool, uint32_t index, struct tape_chunk *chunk);

/*
 * Visits slots appended by a recorder that believed the collector dead. visit gets a copy of each
 * usable one; chunk is the buffer for it.
 */
struct err *spool_appended_each(const struct spool *spool, struct tape_chunk *chunk,
				void (*visit)(void *context, struct tape_chunk *chunk),
				void *context);

/*
 * The same for a chunk being written: whole records, and the nodes they reference. False: there are
 * none yet.
 */
bool spool_chunk_peek(const struct spool *spool, uint32_t index, struct tape_chunk *chunk);

/* Returns the slot to the recorder and wakes it if it is waiting. */
void spool_chunk_free(const struct spool *spool, uint32_t index);

/* Tells the recorder that slots will not be emptied any more. */
void spool_give_up(const struct spool *spool, int error);

/* Tells the recorder to make no system calls: the program has installed a seccomp filter. */
void spool_forbid_calls(const struct spool *spool);

/* Whether the recorder waits for its threads to be examined; reply when that is done. */
bool spool_wants_look(const struct spool *spool, uint32_t *wanted_ret);
void spool_look_done(const struct spool *spool, uint32_t wanted);

/* The same for a leak scan, which it wants before its process ends. */
bool spool_wants_scan(const struct spool *spool, uint32_t *wanted_ret);
void spool_scan_done(const struct spool *spool, uint32_t wanted);

/* What it wants while it runs; done is the word of tape_live on which it waits. */
void spool_asked_done(uint32_t *done, uint32_t wanted);

/*
 * Sleeps until a chunk is sealed, spool_poke is called or the timeout expires. seen is sealed_count
 * as read before the caller last examined the slots.
 */
void spool_wait(const struct spool *spool, uint32_t seen, uint64_t timeout_ns);
uint32_t spool_sealed_count(const struct spool *spool);

/* Ends the current or next spool_wait; for signal handlers. wake is &live->sealed_count. */
void spool_poke(uint32_t *wake);

#endif
