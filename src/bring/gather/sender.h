/*
 * sender: sends a tape to a gatherer, a finished one or one that grows. It only reads the tape, so
 * whoever writes it neither knows nor waits. A connection that is cut is made again, and goes on where
 * the gatherer says that the tape ends there.
 */
#ifndef MEMTAPE_GATHER_SENDER_H
#define MEMTAPE_GATHER_SENDER_H

#include "gather/address.h"
#include "gather/crypto.h"
#include "gather/crypto_tls.h"

struct sender_settings {
	const char *path;
	const char *program; /* for the file's name at the gatherer */
	struct address address;
	const struct token_secret *secret; /* borrowed */
	const struct tls_context *tls;	   /* borrowed; NULL: without */
	bool allows_strangers;		   /* without a token also to other machines */
	bool follows;	  /* until the tape is finished; it need not be there yet */
	uint64_t wait_ns; /* how long a gatherer is waited for when the tape is finished */
	/* Whether the recording goes on, also between two tapes of the name. NULL: only the tape says. */
	bool (*goes_on)(void *context);
	/* Asked several times a second; true: end now. */
	bool (*is_stopped)(void *context);
	void *context;
};

struct sender_result {
	bool is_complete;     /* all of it is there, and equal */
	uint64_t there_bytes; /* of the tape, as far as the gatherer has said */
	uint64_t tape_bytes;
	uint32_t tape_count;	/* a program that becomes another one begins another tape */
	uint32_t connect_count; /* connections that were made */
	char name[WIRE_NAME_BYTES_MAX + 1]; /* at the gatherer; "": it never said */
};

/* The result is filled in on errors, too: what is there is there. */
struct err *sender_run(const struct sender_settings *settings, struct sender_result *result);

#endif
