/*
 * announcer: a sender that gatherers find. It listens on a port of TCP, and says so by datagrams, once a
 * second, while it waits for somebody to connect. They have the tape's uuid in them, and nothing of the
 * program but its number: strangers hear them, too. Internal to stream.
 */
#ifndef MEMTAPE_STREAM_ANNOUNCER_H
#define MEMTAPE_STREAM_ANNOUNCER_H

#include "stream/line.h"

struct announcer {
	int listener, datagrams; /* -1: none */
	uint64_t next_ns;	 /* by the monotonic clock: when it is to be said again */
	struct wire_announcement words;
};

/* page: the tape's first, as it is sent. */
void announcer_init(struct announcer *announcer, const uint8_t *page, bool has_token);

/*
 * Listens, if it does not yet: on the loopback where the announcements stay there, else everywhere. False: on
 * no port.
 */
bool announcer_listen(struct announcer *announcer, const struct stream_target *target);
void announcer_close(struct announcer *announcer);

/* Until somebody connects, whose line it is then. False: the line's owner gives up. */
bool announcer_await(struct announcer *announcer, const struct stream_target *target,
		     struct line *line);

#endif
