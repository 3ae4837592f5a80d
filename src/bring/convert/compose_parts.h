/*
 * compose_parts: the parts of a composer. Internal to convert.
 *
 * Streams of the tape: 0 has the global records (process, modules, origin), written last and dated
 * at the beginning; 1 has what belongs to no thread; from 2 on there is one per thread.
 */
#ifndef MEMTAPE_CONVERT_COMPOSE_PARTS_H
#define MEMTAPE_CONVERT_COMPOSE_PARTS_H

#include <assert.h>

#include "base/map.h"
#include "base/str.h"
#include "capture/packed_stream.h"
#include "convert/compose.h"
#include "write/writer.h"

static const uint64_t COMPOSE_PC_END = UINT64_C(1) << 48; /* limit of the tape format */

enum { COMPOSE_CHUNK_BYTES = 256 << 10 };

enum { COMPOSE_STREAM_FACTS = 0, COMPOSE_STREAM_REST = 1, COMPOSE_STREAM_THREADS = 2 };

/* One stream of the tape. If too many have buffers, one gives its buffer to another. */
struct strand {
	struct packed_stream stream;
	uint32_t tid;
	struct map nodes;	/* stack -> its node number here */
	uint32_t last_stack[2]; /* by [carries no size], with its node: often the same again */
	uint32_t last_node[2];
};

VEC_DEFINE(strand_vec, struct strand *);

struct frame_row {
	uint64_t key;	/* hash of its content */
	uint64_t pc;	/* as on the tape */
	uint32_t names; /* index in composer.names; innermost first */
	uint32_t name_count;
	uint32_t module; /* index in composer.modules */
	bool exact;
};

struct name_row {
	uint32_t function; /* index in composer.texts */
	uint32_t file;	   /* UINT32_MAX: unknown */
	uint32_t line;
	uint16_t column;     /* 0: unknown */
	uint16_t is_address; /* the function is an address, as its name is unknown */
};
/* Compared and hashed as bytes: no padding. */
static_assert(sizeof(struct name_row) == 16, "no padding");

struct module_row {
	const char *path;
	const uint8_t *build_id;
	size_t build_id_bytes;
	uint64_t begin; /* on the tape; begin == end: no code with addresses */
	uint64_t end;
	uint64_t shift; /* added to a pc of the source */
	uint64_t bias;
	uint64_t named_begin; /* range of its frames without addresses; 0: none */
	uint32_t named_count;
	uint32_t object;   /* the first module of the same file, which share their places: */
	struct map places; /* lookup address -> frame + 1, for frames with names */
};

struct stack_row {
	uint32_t caller;
	uint32_t frame;
	uint32_t depth;
};

/* A block without an address in the source. */
struct own_block {
	uint64_t address;
	uint64_t size;
	uint32_t next; /* older one in its list, or in the free list; UINT32_MAX: none */
	uint32_t stack;
};

struct level {
	uint32_t stack;
	uint32_t youngest; /* its blocks */
	uint64_t count;	   /* number of them */
	uint64_t bytes;
	uint64_t wanted_count;
	uint64_t wanted_bytes;
	uint64_t unknown_count; /* how often only bytes were missing */
};

struct amount {
	uint64_t count;
	uint64_t bytes;
};

/* The live blocks of a sum at the peak or at the end, kept until all freed together is written. */
struct live_sum {
	struct strand *strand;
	uint32_t stack;
	uint32_t youngest;   /* of the blocks freed */
	struct amount stays; /* alive at the peak and at the end, */
	struct amount goes;  /* only at the peak, */
	struct amount late;  /* only at the end */
};

VEC_DEFINE(live_sum_vec, struct live_sum);
VEC_DEFINE(frame_vec, struct frame_row);
VEC_DEFINE(name_vec, struct name_row);
VEC_DEFINE(module_vec, struct module_row);
VEC_DEFINE(stack_vec, struct stack_row);
VEC_DEFINE(own_block_vec, struct own_block);
VEC_DEFINE(level_vec, struct level);
VEC_DEFINE(text_vec, const char *);

struct composer {
	struct err *err; /* the first failure */
	struct arena arena;
	struct writer writer;
	struct packed_file *chunks; /* into the writer */
	uint64_t event_count;

	struct tape_header header;
	struct str process; /* payload of the PROCESS record; empty: none */
	uint32_t missing;
	const char *format, *tool, *file;
	struct text_vec notes;

	struct interner texts;
	struct interner module_keys;
	struct interner object_keys;
	struct vec_u32 objects; /* first modules, indexed by the key's number */
	uint64_t moved_bytes;
	struct map frame_ids; /* content hash -> frame */
	struct map stack_ids; /* caller << 32 | frame -> stack */
	struct frame_vec frames;
	struct name_vec names;
	struct module_vec modules;
	struct stack_vec stacks;

	uint64_t now;
	bool had_event; /* at the current time */
	struct strand_vec strands;
	struct strand_vec open; /* those with buffers; a ring, oldest first */
	size_t open_next;
	struct map strand_of_tid;
	struct strand *strand; /* of the current thread */
	bool may_be_empty;
	bool is_torn;
	const char *torn_note; /* the first reason; NULL: no note */
	struct tape_end end;

	struct own_block_vec blocks;
	uint32_t free_block; /* UINT32_MAX: none */
	uint64_t next_address;
	struct map groups; /* group -> youngest block */
	struct map level_ids;
	struct level_vec levels;
	struct live_sum_vec live_sums;
	uint64_t peak_ns; /* of sums; what was alive only then is freed at it */
	uint64_t peak_end_ns;
	uint64_t sum_gone; /* blocks written for sums and freed */
	uint64_t sum_live; /* and not freed */
	uint64_t sum_told; /* allocations claimed by sums, */
	uint64_t sum_lost; /* of which this many have no block */
};

/* Keeps the first failure; takes ownership of err, which may be NULL. */
void compose_fail(struct composer *composer, struct err *err);

/* --- compose_strand.c ------------------------------------------------------------------------- */

/* The strand with this number, created if missing; NULL after a failure. */
struct strand *compose_strand(struct composer *composer, uint32_t number);
void compose_strand_destroy(struct strand *strand);

struct compose_event {
	enum tape_fn fn;
	uint64_t address;
	uint64_t size;
	uint64_t usable;
	uint32_t stack;
};

void compose_event(struct composer *composer, struct strand *strand,
		   const struct compose_event *event);

/* node_at: payload offset of the stack's node; 0: it has none. */
struct compose_record {
	enum tape_extended type;
	const void *payload;
	size_t bytes;
	const void *tail;
	size_t tail_bytes;
	size_t node_at;
	uint32_t stack;
};

void compose_record(struct composer *composer, struct strand *strand, uint64_t ticks,
		    const struct compose_record *record);

/* Packs all open chunks. */
void compose_flush(struct composer *composer);

/* --- compose_blocks.c ------------------------------------------------------------------------- */

/* Writes the live blocks of all sums, at the current time. */
void compose_live_sums(struct composer *composer);

/* --- compose_stacks.c ------------------------------------------------------------------------- */

bool compose_stacks_init(struct composer *composer);
void compose_stacks_deinit(struct composer *composer);

/* MODULE records. */
void compose_write_modules(struct composer *composer, struct strand *strand);

/* All names in the tape's encoding; empty: there are none. */
struct err *compose_names(const struct composer *composer, struct vec_u8 *out);

#endif
