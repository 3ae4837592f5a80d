/*
 * gatherer: receives tapes of many senders at once. Each connection has a thread and one buffer; who
 * has not proved yet to know the token has ten seconds, and no more than a few of those are let in: the
 * oldest of them goes when another one comes. Senders that announce themselves are connected to, by as many
 * connections as there may be strangers among them.
 */
#ifndef MEMTAPE_GATHER_GATHERER_H
#define MEMTAPE_GATHER_GATHERER_H

#include <signal.h>

#include "gather/crypto.h"
#include "gather/crypto_tls.h"
#include "gather/shelf.h"

enum {
	GATHER_STREAMS_DEFAULT = 256,
	GATHER_STREAMS_MAX = 10000,
	GATHER_STRANGERS_MAX = 64, /* connections that have proved nothing yet */
	GATHER_FOUND_MAX = 32	   /* of those that were made to announced addresses */
};

enum gather_kind {
	GATHER_BEGUN,
	GATHER_RESUMED,
	GATHER_COMPLETE,
	GATHER_CUT,    /* the sender is gone; it may come back */
	GATHER_REFUSED /* what it sent was not accepted */
};

struct gather_event {
	enum gather_kind kind;
	const char *name;   /* of the file; NULL: it came to none */
	uint64_t bytes;	    /* of the tape that are there */
	const char *reason; /* of CUT and REFUSED */
	const char *from;   /* the address of a sender that was found; NULL: it came by itself */
};

struct gather_counts {
	uint64_t complete_count; /* tapes */
	uint64_t cut_count;	 /* streams that ended before their tape did */
	uint64_t refused_count;	 /* connections: strangers, wrong tokens, nonsense */
	uint64_t byte_count;	 /* of tapes, received */
	uint64_t ignored_count;	 /* datagrams that announce nothing */
};

struct gather_settings {
	int listener;			   /* borrowed */
	int datagrams;			   /* borrowed; -1: no announcements are listened for */
	const struct shelf *shelf;	   /* borrowed */
	const struct token_secret *secret; /* borrowed */
	const struct tls_context *tls;	   /* borrowed; NULL: what is sent can be overheard */
	uint64_t stream_count_max;
	/* Called by any thread, one at a time. */
	void (*tell)(void *context, const struct gather_event *event);
	void *context;
};

/*
 * Until one of the process's signals in `signals` comes, which are blocked. An error: threads go on, and
 * use whatever the settings point to.
 */
struct err *gather_until_signal(const struct gather_settings *settings, const sigset_t *signals,
				struct gather_counts *counts_ret);

#endif
