/*
 * stream: the tape of a process sent to `memtape gather` by the recorder itself, where nothing else of
 * memtape is installed (docs/stream-protocol.md). A process of our own does it: it shares no memory
 * with the program but one page, has none of its descriptors, is in no process group or session of
 * it, is not a child that it could wait for, and sends it no signal. It reads the tape's file as it grows.
 *
 * All of it runs without libc's heap, stdio, errno and thread-local storage.
 */
#ifndef MEMTAPE_STREAM_STREAM_H
#define MEMTAPE_STREAM_STREAM_H

#include "core/core.h"
#include "tape/tape_stream.h"

#define STREAM_PREFIX "tcp://"

enum { STREAM_PATTERN_BYTES = 4096, STREAM_NAME_BYTES = 256, STREAM_SLOT_BYTES = 128 << 10 };

/* What MEMTAPE_OUTPUT or MEMTAPE_BROADCAST asks for. */
struct stream_target {
	bool is_announced; /* gatherers connect to the sender: the address is where it announces itself */
	bool is_everywhere;   /* that is to all networks; the address is none */
	uint16_t listen_port; /* the first that is tried for gatherers; 0: any */
	bool is_v6;
	uint16_t port;
	uint8_t address[16]; /* in the network's order; 4 bytes of it for IPv4 */
	bool no_token;	     /* other machines may have the tape without one */
	bool has_file;	     /* `pattern` is its name; "": the usual one */
	bool drops;	     /* without a file: events are lost at once where the memory is full */
	char pattern[STREAM_PATTERN_BYTES];
};

/*
 * "tcp://HOST:PORT", then words behind commas: none (no file), drop, no-token, or a file's name. HOST is
 * an address in numbers, IPv6 in brackets, or a name of /etc/hosts. NULL, or what is wrong.
 */
const char *stream_target_parse(const char *text, struct stream_target *target);

/*
 * MEMTAPE_BROADCAST: "1" (all networks) or "HOST[:PORT]", HOST as above, perhaps with ",no-token" behind it.
 * port: the value of MEMTAPE_BROADCAST_PORT, or NULL. NULL, or what is wrong.
 */
const char *stream_announced_parse(const char *text, const char *port,
				   struct stream_target *target);

bool stream_target_is_loopback(const struct stream_target *target);

struct stream_token {
	uint8_t bytes[WIRE_TOKEN_BYTES_MAX];
	size_t len; /* 0: there is none */
};

/* NULL, or what is wrong with the file. */
const char *stream_token_load(const char *path, struct stream_token *token);

/* How far it has come; those from REFUSED on are final. */
enum stream_state {
	STREAM_BEGUN = 0,
	STREAM_CONNECTED,
	STREAM_DONE, /* all of the tape is there, and equal */
	STREAM_REFUSED,
	STREAM_NOT_A_GATHERER,
	STREAM_WANTS_TLS,
	STREAM_OTHER_VERSION,
	STREAM_WANTS_TOKEN,
	STREAM_HAS_NO_TOKEN,
	STREAM_WRONG_TOKEN,
	STREAM_IS_NO_FRIEND, /* it does not know the token */
	STREAM_UNEQUAL,	     /* what is there is not what was sent */
	STREAM_LOST_PLACE,   /* what it had is gone, and not here either */
	STREAM_NO_TAPE,	     /* it could not be read here */
	STREAM_NO_PORT	     /* to listen on for gatherers */
};

/* The page that sender and program share. */
struct stream_shared {
	uint32_t
		owner; /* sender's thread; the kernel sets STREAM_OWNER_DIED in it. A robust futex */
	_Atomic uint32_t state;
	_Atomic uint32_t connect_count;
	_Atomic uint32_t is_ending;		/* the program has said that it ends */
	_Atomic uint64_t there_bytes;		/* of the tape, as the gatherer has said */
	char reason[WIRE_REASON_BYTES_MAX + 1]; /* of REFUSED: its words, as printable ASCII */
};

enum { STREAM_OWNER_DIED = 0x40000000 };

/* The program's side of one sender. All zeros: there is none. */
struct stream {
	struct stream_shared *shared;
	void *life; /* as long as it is mapped the program is there */
	size_t page_bytes;
	int32_t pid; /* the sender's, as this process sees it */
};

/*
 * Where this library and the C library are. Found once, by the loader's list: in a forked child another
 * thread of the parent's may have had the list locked for ever. Zeros: not looked for yet.
 */
struct stream_objects {
	struct stream_range {
		uint64_t begin, end;
	} own, libc;
};

struct stream_settings {
	const struct stream_target *target;
	const struct stream_token *token;
	int tape_fd;	 /* -1: the tape is in `region` alone */
	uint8_t *region; /* shared with the program: header and slots */
	uint64_t region_bytes;
	struct stream_objects *objects; /* filled in the first time */
	const char *program;		/* its name, for the gatherer's file */
	size_t page_bytes;		/* the kernel's */
	bool may_probe; /* a filter of system calls was inherited: try first whether they kill */
};

/*
 * Starts a sender of the tape whose header is filled in. 0, or -errno: there is none then; -ENOSYS: the kernel
 * has no files in memory, and there is no place for one (life.h). The program's
 * thread waits until the sender has let go of its descriptors; other threads may go on.
 */
int stream_begin(struct stream *stream, const struct stream_settings *settings);

enum stream_state stream_state(const struct stream *stream);

/* Whether the sender is there no more, as far as that is known; may_ask: system calls may be made. */
bool stream_is_dead(const struct stream *stream, bool may_ask);

/* In words, for one line; NULL: there is nothing to complain about. */
const char *stream_complaint(enum stream_state state);

/* In a forked child: it is the parent's, whose pages are mapped there only where the kernel did not obey. */
void stream_forget(struct stream *stream, bool is_mapped);

/* The program ends, and the sender with it: what there is is all. Any thread may still record. */
void stream_end(struct stream *stream);

#endif
