/*
 * shelf: the folder of a gatherer. A tape that is received has its file there from the beginning, is
 * only appended to, and is locked and marked as being recorded until all of it is there and equal to
 * the sender's. Names are made here of what the sender says, of few characters; nothing is written
 * outside the folder, through a link, or into a file that is not this tape's.
 *
 * A shelf is for any number of threads; a shelved tape for one.
 */
#ifndef MEMTAPE_GATHER_SHELF_H
#define MEMTAPE_GATHER_SHELF_H

#include "gather/wire.h"

struct shelf {
	int dir;
	uint64_t tape_bytes_max; /* 0: no limit */
};

struct shelved {
	int fd;
	uint64_t end;	  /* bytes of the tape that are there */
	bool is_complete; /* all of it was there before */
	bool is_resumed;  /* some of it was */
	uint8_t uuid[TAPE_UUID_BYTES];
	uint8_t page[TAPE_HEADER_BYTES]; /* the sender's */
	char name[WIRE_NAME_BYTES_MAX + 1];
};

/* Makes the folder if it is not there. */
struct err *shelf_open(struct shelf *shelf, const char *path, uint64_t tape_bytes_max);
void shelf_close(struct shelf *shelf);
CLEAN_DEFINE_DEINIT(shelf_close, struct shelf);

/* "host.program.pid.20261126-180000.mtape", of hostile texts; number: from 2 on, of equal ones. */
void shelf_name(const struct wire_tape *tape, unsigned number, char name[WIRE_NAME_BYTES_MAX + 1]);

/* Finds the tape's file by its uuid, or makes one. ERR_STATE: another process writes it. */
struct err *shelf_take(const struct shelf *shelf, const struct wire_tape *tape,
		       struct shelved *shelved);
void shelved_close(struct shelved *shelved);
CLEAN_DEFINE_DEINIT(shelved_close, struct shelved);

/* The last bytes that are there. */
struct err *shelved_tail(const struct shelved *shelved, struct wire_ready *ready);

/* Errors are words for the sender; after ERR_STATE the tape is as it was. */
struct err *shelved_append(const struct shelf *shelf, struct shelved *shelved, uint64_t offset,
			   const uint8_t *bytes, size_t len);
struct err *shelved_header(struct shelved *shelved, const uint8_t page[TAPE_HEADER_BYTES]);
struct err *shelved_rewind(struct shelved *shelved, uint64_t end);

/* Whether all of it is there; then it is on the disk, and complete. */
struct err *shelved_finish(struct shelved *shelved, const struct wire_end *end, bool *is_equal_ret);

#endif
