#include "collect/traced.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>

#include "base/map.h"
#include "base/monotonic.h"
#include "collect/clock.h"
#include "collect/collector_state.h"
#include "collect/rotation.h"
#include "core/hash.h"
#include "scan/objects.h"
#include "tape/codec.h"
#include "trace/perf.h"
#include "trace/tracing.h"

enum {
	POLL_MS = 10,
	CHUNKS_MAX = 64,	   /* that wait to be written; then the kernel's rings fill */
	CHUNK_NS_LIVE = 250000000, /* after which a chunk is written that is not full: watched, */
	CHUNK_NS = 2000000000,	   /* or not */
	CLOCK_PERIOD_NS = 1000000000
};

/* Instead of a stack's number: what happened, happened in the recorder. */
static const uint32_t OF_RECORDER = UINT32_MAX;

VEC_DEFINE(traced_chunks, struct tape_chunk *);

struct traced {
	uint32_t kinds;
	uint32_t pid;
	struct tracing *tracing;
	struct err *err; /* why nothing is taken any more */
	/* Of a tape. From its beginning to its end they are the thread's, */
	enum tape_clock clock;
	unsigned tick_shift;
	uint64_t begin_ns; /* UINT64_MAX: it has not begun */
	bool is_replaced;  /* the process has become another program */
	struct clock_moment then, middle, now;
	uint64_t last_ticks;
	uint32_t stream, next_seq, next_node;
	struct tape_chunk *chunk; /* that is filled; NULL: none is */
	uint32_t chunk_bytes;
	uint64_t chunk_begun_ns, chunk_ns_max;
	struct map nodes;		  /* hash of parent and frame -> number */
	uint64_t own[TAPE_KERNEL_KINDS];  /* of the recorder, */
	uint64_t left[TAPE_KERNEL_KINDS]; /* of others or other times: left out */
	/* but for these: what there was before the tape. */
	uint64_t counted[TAPE_KERNEL_KINDS], recorded[TAPE_KERNEL_KINDS];
	/* Of the thread and the collector. */
	pthread_t thread;
	bool has_thread;
	bool is_off;	  /* nothing is traced any more */
	bool is_stopping; /* atomic */
	uint32_t *wake;
	pthread_mutex_t lock; /* for what follows */
	pthread_cond_t has_room;
	struct traced_chunks full;
};

/* --- time -------------------------------------------------------------------------------------- */

static void time_see(struct traced *traced)
{
	if (traced->clock != TAPE_CLOCK_TSC)
		return;
	traced->now = clock_moment();
	if (traced->now.ns - traced->middle.ns <= CLOCK_PERIOD_NS)
		return;
	traced->then = traced->middle;
	traced->middle = traced->now;
}

/* In the order of the stream. */
static uint64_t ticks_of(struct traced *traced, uint64_t ns)
{
	const struct clock_moment *then = &traced->then, *now = &traced->now;
	uint64_t ticks = ns;

	if (traced->clock == TAPE_CLOCK_TSC && now->ns > then->ns) {
		const double rate =
			(double)(now->ticks - then->ticks) / (double)(now->ns - then->ns);

		ticks = now->ticks + (uint64_t)(int64_t)(rate * (double)(int64_t)(ns - now->ns));
	}
	traced->last_ticks = u64_max(traced->last_ticks, ticks >> traced->tick_shift);
	return traced->last_ticks;
}

/* --- chunks ------------------------------------------------------------------------------------ */

static bool is_told_to_stop(const struct traced *traced)
{
	return __atomic_load_n(&traced->is_stopping, __ATOMIC_ACQUIRE);
}

/* Hands the chunk over to the collector, who may have to write others first. */
static void chunk_seal(struct traced *traced)
{
	struct tape_chunk *chunk = steal(traced->chunk);

	if (!chunk)
		return;
	traced->next_node = chunk->first_node + chunk->node_count;
	pthread_mutex_lock(&traced->lock);
	while (traced->full.count >= CHUNKS_MAX && !is_told_to_stop(traced))
		pthread_cond_wait(&traced->has_room, &traced->lock);
	if (!traced_chunks_push(&traced->full, chunk))
		free(chunk); /* lost, as its number says */
	pthread_mutex_unlock(&traced->lock);
	spool_poke(traced->wake);
}

static size_t chunk_room(const struct traced *traced)
{
	const struct tape_chunk *chunk = traced->chunk;

	return traced->chunk_bytes - sizeof(*chunk) - chunk->used -
	       chunk->node_count * sizeof(struct tape_node);
}

/* One that has room for so much; false: out of memory. */
static bool chunk_reserve(struct traced *traced, size_t bytes)
{
	assert(bytes <= traced->chunk_bytes - sizeof(struct tape_chunk));
	if (traced->chunk && chunk_room(traced) < bytes)
		chunk_seal(traced);
	if (!traced->chunk) {
		traced->chunk = malloc(traced->chunk_bytes);
		if (!traced->chunk)
			return false;
		*traced->chunk = (struct tape_chunk) {
			.magic = TAPE_CHUNK_MAGIC,
			.header_bytes = sizeof(*traced->chunk),
			.codec = TAPE_CODEC_RAW,
			.state = TAPE_CHUNK_SEALED,
			.stream = traced->stream,
			.seq = traced->next_seq++,
			.first_node = traced->next_node,
			.begin_ticks = traced->last_ticks,
		};
		traced->chunk_begun_ns = monotonic_ns();
	}
	return true;
}

/* --- stacks ------------------------------------------------------------------------------------ */

static uint32_t node_put(struct traced *traced, uint32_t parent, const struct code_frame *frame)
{
	const uint64_t words[] = { parent, frame->pc, frame->is_exact };
	bool is_new;
	uint64_t *place;
	struct tape_chunk *chunk;
	struct tape_node node = {
		.parent = parent,
		.pc_low = (uint32_t)frame->pc,
		.pc_high = (uint32_t)(frame->pc >> 32 & 0xffff) |
			   (frame->is_exact ? TAPE_NODE_EXACT : 0),
	};

	if (!chunk_reserve(traced, sizeof(node)))
		return TAPE_NODE_TRUNCATED;
	place = map_put(&traced->nodes, hash_bytes(words, sizeof(words), 1), &is_new);
	if (!place)
		return TAPE_NODE_TRUNCATED;
	if (!is_new)
		return (uint32_t)*place;
	chunk = traced->chunk;
	*place = chunk->first_node + chunk->node_count++;
	memcpy((uint8_t *)chunk + traced->chunk_bytes - chunk->node_count * sizeof(node), &node,
	       sizeof(node));
	return (uint32_t)*place;
}

static bool is_of_recorder(const struct code_frame *frame)
{
	return frame->module && objects_is_recorder(frame->module->path);
}

static uint32_t on_stack(void *context, pid_t pid, const struct tracing_stack *stack)
{
	struct traced *traced = context;
	uint32_t number;

	(void)pid;
	if (!stack)
		return TAPE_NODE_NONE;
	if (stack->count > 0 && is_of_recorder(&stack->frames[0]))
		return OF_RECORDER;
	number = stack->is_whole ? TAPE_NODE_ROOT : TAPE_NODE_TRUNCATED;
	for (size_t i = stack->count; i-- > 0;)
		if (!is_of_recorder(&stack->frames[i]))
			number = node_put(traced, number, &stack->frames[i]);
	return number;
}

/* --- events ------------------------------------------------------------------------------------ */

/* What happens to the process is of the tape from its beginning until it is another program. */
static bool is_of_tape(const struct traced *traced, uint64_t ns, const struct tape_kernel *event)
{
	return ns >= traced->begin_ns && !traced->is_replaced &&
	       (event->kind == TAPE_KERNEL_OOM || event->pid == traced->pid);
}

static bool on_event(void *context, uint64_t ns, uint32_t tid, const struct tape_kernel *event,
		     uint32_t stack)
{
	struct traced *traced = context;
	struct tape_kernel kernel = *event;
	uint8_t *at;

	(void)tid;
	if (!is_of_tape(traced, ns, event)) {
		traced->left[event->kind]++;
		return true;
	}
	if (stack == OF_RECORDER) {
		traced->own[event->kind]++;
		return true;
	}
	if (!chunk_reserve(traced, TAPE_EXTENDED_BYTES + sizeof(kernel)))
		return false;
	kernel.node = stack;
	at = (uint8_t *)(traced->chunk + 1) + traced->chunk->used;
	at = tape_extended_encode(at, TAPE_EXT_KERNEL, ticks_of(traced, ns), &kernel,
				  sizeof(kernel), NULL, 0);
	traced->chunk->used = (uint32_t)(at - (uint8_t *)(traced->chunk + 1));
	return true;
}

/* That a child becomes the program is before the tape begins. */
static void on_executed(void *context, uint64_t ns)
{
	struct traced *traced = context;

	traced->is_replaced |= ns >= traced->begin_ns;
}

static void *take(void *context)
{
	struct traced *traced = context;

	while (!is_told_to_stop(traced) && !traced->err) {
		traced->err = tracing_poll(traced->tracing, POLL_MS);
		time_see(traced);
		if (traced->chunk && monotonic_ns() - traced->chunk_begun_ns > traced->chunk_ns_max)
			chunk_seal(traced);
	}
	return NULL;
}

/* --- begin and end ----------------------------------------------------------------------------- */

/* Those that may be asked for here; says which may not. */
static uint32_t kinds_allowed(const struct collector_settings *settings)
{
	CLEAN(err_destroy) struct err *why = NULL;
	uint32_t missing = 0;

	for (uint32_t kind = 0; kind < TAPE_KERNEL_KINDS; kind++) {
		struct err *err =
			settings->trace_kinds >> kind & 1 ? tracing_kind_check(kind) : NULL;

		if (!err)
			continue;
		missing |= 1U << kind;
		err_destroy(why);
		why = err;
	}
	if (why)
		settings->on_untraced(settings->context, missing, err_message(why));
	return settings->trace_kinds & ~missing;
}

void traced_open(struct collector *collector)
{
	const struct collector_settings *settings = collector->settings;
	const uint32_t kinds = settings->trace_kinds ? kinds_allowed(settings) : 0;
	const struct tracing_settings of = {
		.pid = collector->child.pid,
		.is_paused_child = !collector->child.is_adopted,
		.only_threads = true,
		.kinds = kinds,
		.period = 1,
		.stack_bytes = PERF_STACK_BYTES,
	};
	struct traced *traced = kinds ? calloc(1, sizeof(*traced)) : NULL;
	struct err *err;

	if (!kinds)
		return;
	if (!traced) {
		settings->on_untraced(settings->context, kinds, "out of memory");
		return;
	}
	traced->kinds = kinds;
	traced->pid = (uint32_t)collector->child.pid;
	traced->begin_ns = UINT64_MAX;
	traced->then = traced->middle = traced->now = clock_moment();
	pthread_mutex_init(&traced->lock, NULL);
	pthread_cond_init(&traced->has_room, NULL);
	collector->traced = traced;
	err = tracing_open(&of,
			   &(struct tracing_output) { on_stack, on_event, on_executed, traced },
			   &traced->tracing);
	if (err) {
		settings->on_untraced(settings->context, kinds, err_message(err));
		traced_close(collector);
	} else if (tracing_is_user_only(traced->tracing)) {
		settings->on_untraced(settings->context, 0, NULL);
	}
	err_destroy(err);
}

static void thread_start(struct traced *traced)
{
	sigset_t all, old;

	sigfillset(&all); /* signals are for the collector's first thread */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	traced->has_thread = pthread_create(&traced->thread, NULL, take, traced) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void thread_end(struct traced *traced)
{
	__atomic_store_n(&traced->is_stopping, true, __ATOMIC_RELEASE);
	pthread_mutex_lock(&traced->lock);
	pthread_cond_signal(&traced->has_room);
	pthread_mutex_unlock(&traced->lock);
	if (traced->has_thread)
		pthread_join(traced->thread, NULL);
	traced->has_thread = false;
	traced->is_stopping = false;
}

void traced_begin(struct collector *collector)
{
	struct traced *traced = collector->traced;
	const struct tape_header *header = &collector->header;

	if (!traced)
		return;
	traced->clock = (enum tape_clock)header->clock;
	traced->tick_shift = header->tick_shift;
	traced->begin_ns = header->start_monotonic_ns;
	traced->last_ticks = header->start_ticks;
	traced->stream = __atomic_fetch_add(&spool_live(&collector->spool)->next_stream, 1,
					    __ATOMIC_RELAXED);
	traced->next_seq = 0;
	traced->next_node = TAPE_NODE_FIRST;
	traced->chunk_bytes = collector->spool.chunk_bytes;
	traced->chunk_ns_max = collector->settings->live ? CHUNK_NS_LIVE : CHUNK_NS;
	traced->wake = &spool_live(&collector->spool)->sealed_count;
	if (!traced->err)
		traced->err = tracing_begin(traced->tracing);
	time_see(traced);
	thread_start(traced);
}

/* NULL: there is none. The caller's. */
static struct tape_chunk *chunk_take(struct traced *traced)
{
	struct tape_chunk *chunk = NULL;

	pthread_mutex_lock(&traced->lock);
	if (traced->full.count > 0) {
		chunk = traced->full.items[0];
		traced->full.count--;
		memmove(traced->full.items, traced->full.items + 1,
			traced->full.count * sizeof(*traced->full.items));
	}
	pthread_cond_signal(&traced->has_room);
	pthread_mutex_unlock(&traced->lock);
	return chunk;
}

static void chunks_write(struct collector *collector, bool is_end)
{
	struct traced *traced = collector->traced;
	struct drain *drain = &collector->drain;
	struct tape_chunk *chunk;

	while ((is_end || rotation_has_room(collector)) && (chunk = chunk_take(traced))) {
		struct err *err = drain->fault ? NULL
					       : drain_append(drain, chunk, traced->chunk_bytes,
							      WRITER_NORMAL);

		if (err) {
			drain->fault = err;
			spool_give_up(&collector->spool, err_errno_of(err));
		}
		free(chunk);
	}
}

void traced_stop(struct collector *collector)
{
	struct traced *traced = collector->traced;

	if (traced && !traced->is_off)
		tracing_end(traced->tracing);
	if (traced)
		traced->is_off = true;
}

/* Where nothing is recorded any more, the program need not be slower for it. */
void traced_look(struct collector *collector)
{
	if (!collector->traced)
		return;
	chunks_write(collector, false);
	if (collector->has_ended || collector->drain.fault)
		traced_stop(collector);
}

static void count_write(struct collector *collector, enum tape_kernel_kind kind)
{
	struct traced *traced = collector->traced;
	const struct tracing_count count = tracing_count(traced->tracing, kind);
	const uint64_t all = count.count - traced->counted[kind];
	const uint64_t recorded = count.recorded - traced->recorded[kind];
	const uint64_t left = traced->left[kind], own = traced->own[kind];
	const struct tape_kernel_count of = {
		.kind = kind,
		.period = 1,
		.count = all - u64_min(left, all),
		.lost = all - u64_min(recorded, all),
		.limits = tracing_is_user_only(traced->tracing) ? TAPE_KERNEL_USER_ONLY : 0,
		.own = (uint32_t)u64_min(own, UINT32_MAX),
	};

	if (traced->kinds >> kind & 1)
		collector_note(collector, TAPE_EXT_KERNEL_COUNT, &of, sizeof(of), NULL);
	traced->counted[kind] = count.count;
	traced->recorded[kind] = count.recorded;
	traced->left[kind] = traced->own[kind] = 0;
}

void traced_end(struct collector *collector, bool goes_on)
{
	struct traced *traced = collector->traced;

	if (!traced)
		return;
	if (!goes_on)
		traced_stop(collector);
	thread_end(traced);
	if (!traced->err)
		traced->err = tracing_take(traced->tracing);
	chunk_seal(traced);
	chunks_write(collector, true);
	for (uint32_t kind = 0; kind < TAPE_KERNEL_KINDS; kind++)
		count_write(collector, kind);
	map_deinit(&traced->nodes);
	traced->is_replaced = false;
	traced->begin_ns = UINT64_MAX;
}

void traced_close(struct collector *collector)
{
	struct traced *traced = steal(collector->traced);

	if (!traced)
		return;
	thread_end(traced);
	tracing_close(traced->tracing);
	for (size_t i = 0; i < traced->full.count; i++)
		free(traced->full.items[i]);
	traced_chunks_deinit(&traced->full);
	free(traced->chunk);
	map_deinit(&traced->nodes);
	pthread_mutex_destroy(&traced->lock);
	pthread_cond_destroy(&traced->has_room);
	err_destroy(traced->err);
	free(traced);
}
