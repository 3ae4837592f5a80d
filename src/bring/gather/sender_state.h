/*
 * sender_state: a sender, and the tape that it follows by its name. Internal to gather.
 */
#ifndef MEMTAPE_GATHER_SENDER_STATE_H
#define MEMTAPE_GATHER_SENDER_STATE_H

#include <sys/stat.h>
#include <sys/types.h>

#include "gather/sender.h"

struct sender {
	const struct sender_settings *settings;
	struct sender_result *result;
	int fd; /* of the tape; -1: it is not there yet */
	struct stat status;
	struct tape_header header;
	uint8_t page[TAPE_HEADER_BYTES]; /* as it is */
	uint8_t said[TAPE_HEADER_BYTES]; /* as the gatherer has it */
	uint64_t bytes;			 /* of the tape */
	uint64_t sent_end;
	uint64_t ended_ns;    /* when it was seen to be finished; 0: it grows */
	uint64_t over_ns;     /* when the recording was seen to be over */
	uint64_t progress_ns; /* when the gatherer last had more of it */
	uint64_t looked_ns;   /* while waiting */
	uint32_t file_count;  /* that had the tape's name */
	bool is_replaced;     /* another tape has its name */
	bool is_final;	      /* the error is one that stays */
	int unequal_count;
	pid_t parent;
};

/* Whether somebody still writes it: its writer marks and locks it; a killed one leaves the mark alone. */
bool tape_has_writer(int fd, const uint8_t *page);

/* Opens it, if it is there. */
struct err *tape_open(struct sender *sender, bool *is_there_ret);

/* How it is now. If another file has its name, that is gone on with, or is_replaced is set. */
struct err *tape_look(struct sender *sender);
struct err *tape_follow_name(struct sender *sender);

/* An error about it, which stays. */
struct err *tape_final(struct sender *sender, struct err *err);

#endif
