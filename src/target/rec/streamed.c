#include "rec/streamed.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

#include "rec/attach.h"
#include "rec/file.h"
#include "rec/log.h"
#include "rec/path.h"
#include "rec/text.h"
#include "stream/stream.h"
#include "tape/tape_thread.h"

#include "core/poison.h"

enum {
	MEMORY_BYTES = 7 << 20, /* of a tape without a file, all in all */
	MEMORY_CHUNK_BYTES = 32 << 10,
	MEMORY_SLOTS = (MEMORY_BYTES - TAPE_HEADER_BYTES) / MEMORY_CHUNK_BYTES,
	END_WAIT_MS = 5000,
	END_LOOK_MS = 10
};

/* Written at the start, on one thread, but for the last ones. */
static struct {
	bool is_decided, is_wanted;
	struct stream_target target;
	struct stream_token *token; /* in memory that no core dump has */
	char program[STREAM_NAME_BYTES];
	struct stream_objects objects;
	struct stream stream;
	_Atomic uint32_t has_complained;
	_Atomic uint32_t waited_at;  /* freed_count, + 1, when it was waited for in vain */
	_Atomic uint32_t gaps;	     /* times that events began to be lost */
	_Atomic uint32_t gaps_noted; /* after which modules were noted again */
} own;

static void complain(const char *why, const char *more)
{
	static char line[1024]; /* once in a process */
	struct rec_text text = { .ptr = line, .room = sizeof(line) };

	if (atomic_exchange(&own.has_complained, 1))
		return;
	rec_text_add(&text, own.target.is_announced ? "memtape: MEMTAPE_BROADCAST"
						    : "memtape: MEMTAPE_OUTPUT");
	rec_text_add(&text, ": the tape is not sent: ");
	rec_text_add(&text, why);
	rec_text_add(&text, more);
	rec_text_add(&text, "\n");
	rec_fd_write(2, line, text.len);
	REC_LOG(REC_LOG_ERROR, "the tape is not sent: %s%s", why, more);
}

/* --- what is asked for --------------------------------------------------------------------- */

/* NULL, or what is wrong. */
static const char *token_read(void)
{
	const char *path = rec_env_get("MEMTAPE_TOKEN_FILE");

	own.token = sys_map_private(sizeof(*own.token));
	if (!own.token)
		return "there is no memory";
	if (path && path[0])
		return stream_token_load(path, own.token);
	if (own.target.no_token || stream_target_is_loopback(&own.target))
		return NULL;
	return own.target.is_announced
		       ? "others can reach it; MEMTAPE_TOKEN_FILE names a token, or add ,no-token "
			 "if whoever comes may have it"
		       : "it is another machine; MEMTAPE_TOKEN_FILE names a token, or add "
			 ",no-token "
			 "if whoever answers there may have it";
}

static void decide(const char *output)
{
	const char *why;

	if (own.is_decided)
		return;
	own.is_decided = true;
	why = stream_target_parse(output, &own.target);
	if (why) /* then it is recorded as usual */
		own.target = (struct stream_target) { .has_file = true };
	else
		why = token_read();
	own.is_wanted = !why;
	if (why)
		complain(why, "");
}

/* Beside a file that nobody collects; a gatherer that has a name is not looked for. */
static void decide_announced(void)
{
	const char *wanted = rec_env_get("MEMTAPE_BROADCAST");
	const char *why;

	if (own.is_decided)
		return;
	own.is_decided = true;
	if (!wanted || !wanted[0] || strcmp(wanted, "0") == 0)
		return;
	why = stream_announced_parse(wanted, rec_env_get("MEMTAPE_BROADCAST_PORT"), &own.target);
	if (!why)
		why = token_read();
	own.is_wanted = !why;
	if (why)
		complain(why, "");
}

const char *rec_streamed_pattern(const char *output, const char *usual)
{
	if (strncmp(output, STREAM_PREFIX, sizeof(STREAM_PREFIX) - 1) != 0)
		return output;
	decide(output);
	if (!own.target.has_file)
		return NULL;
	return own.target.pattern[0] ? own.target.pattern : usual;
}

/* --- a tape without a file ----------------------------------------------------------------- */

bool rec_streamed_open_memory(void)
{
	const uint64_t bytes = TAPE_HEADER_BYTES + (uint64_t)MEMORY_SLOTS * MEMORY_CHUNK_BYTES;
	long map;

	if (!own.is_wanted)
		return false;
	map = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sys_failed(map))
		return false;
	rec.is_streamed = true;
	rec.header = (struct tape_header *)map;
	rec.live = (struct tape_live *)rec.header->live;
	rec.mapped_bytes = bytes;
	rec.slots = (uint8_t *)map + TAPE_HEADER_BYTES;
	rec.slot_count = MEMORY_SLOTS;
	rec.chunk_bytes = MEMORY_CHUNK_BYTES;
	rec.lanes_max = MEMORY_SLOTS - (MEMORY_SLOTS + 3) / 4;
	rec.live->chunk_count = rec.live->slots_ready = rec.live->sealed_max = MEMORY_SLOTS;
	rec.live->collector_state = TAPE_COLLECTOR_RUNNING;
	return true;
}

bool rec_streamed_is_dead(void)
{
	return !own.stream.shared || stream_is_dead(&own.stream, rec_may_call());
}

bool rec_streamed_waits(void)
{
	return !own.target.drops &&
	       atomic_load(&own.waited_at) != atomic_load(LIVE(freed_count)) + 1;
}

void rec_streamed_gap(void)
{
	atomic_store(&own.waited_at, atomic_load(LIVE(freed_count)) + 1);
	atomic_fetch_add(&own.gaps, 1);
}

void rec_streamed_note_again(struct rec_lane *lane)
{
	const uint32_t gaps = atomic_load(&own.gaps);
	const struct tape_thread thread = { .tid = lane->tid,
					    .lane = lane->nested,
					    .handle = (uint64_t)pthread_self() };

	if (likely(lane->gaps == gaps))
		return;
	lane->gaps = gaps;
	lane->tables->crowded = true; /* emptied before the next event: kept stacks lack nodes */
	if (lane->tid)
		rec_note(lane, TAPE_EXT_THREAD, &thread, sizeof(thread), lane->name,
			 strnlen(lane->name, sizeof(lane->name)));
	if (atomic_exchange(&own.gaps_noted, gaps) != gaps)
		rec_modules_note_all(lane);
}

/* --- the sender ---------------------------------------------------------------------------- */

static bool sender_begin(void)
{
	const struct stream_settings settings = {
		.target = &own.target,
		.token = own.token,
		.tape_fd = rec.is_streamed ? -1 : rec.file.fd,
		.region = rec.is_streamed ? (uint8_t *)rec.header : NULL,
		.region_bytes = rec.is_streamed ? rec.mapped_bytes : 0,
		.objects = &own.objects,
		.program = own.program,
		.page_bytes = (size_t)rec.page_bytes,
		.may_probe = atomic_load(&rec.sandbox) == REC_SANDBOX_INHERITED,
	};
	int rc;

	if (!rec_path_expand("%e", 0, own.program, sizeof(own.program)))
		own.program[0] = '\0';
	rc = stream_begin(&own.stream, &settings);
	if (rc < 0)
		complain(rc == -ENOSYS ? "before Linux 3.17 it takes /dev/urandom, and /dev/shm or "
					 "/tmp to write to"
				       : "no process can be started for it",
			 "");
	if (rec.is_streamed)
		rec.header_is_inherited = !rec_fork_keep_out(rec.header, (size_t)rec.mapped_bytes);
	REC_LOG(REC_LOG_INFO, "sent by process %d (error %d)", own.stream.pid, -rc);
	return rc == 0 || !rec.is_streamed;
}

bool rec_streamed_begin(void)
{
	if ((rec.slots && !rec.is_streamed) || rec.options.table)
		return true;
	decide_announced();
	return !own.is_wanted || sender_begin();
}

void *rec_streamed_page(void)
{
	return own.stream.shared;
}

void rec_streamed_child(void)
{
	stream_forget(&own.stream, atomic_load(&rec.tape_is_inherited));
	own.waited_at = own.gaps = own.gaps_noted = 0;
	rec.is_streamed = false;
}

void rec_streamed_look(void)
{
	enum stream_state state;

	if (likely(!own.stream.shared) || atomic_load(&own.has_complained) || !rec_may_call())
		return;
	state = stream_state(&own.stream);
	if (stream_complaint(state))
		complain(stream_complaint(state),
			 state == STREAM_REFUSED ? own.stream.shared->reason : "");
}

/* Progress is waited for, and not the end of it: a gatherer that takes all the time is not left. */
void rec_streamed_end(void)
{
	const struct sys_timeout moment = { .nanoseconds = END_LOOK_MS * 1000000L };
	uint64_t there = 0;

	rec_streamed_look();
	if (!own.stream.shared || !rec_may_call() || sys_getpid() != 1)
		return;
	stream_end(&own.stream);
	for (unsigned idle_ms = 0; idle_ms < END_WAIT_MS; idle_ms += END_LOOK_MS) {
		const uint64_t now = atomic_load(&own.stream.shared->there_bytes);

		if (stream_is_dead(&own.stream, true))
			return;
		if (now > there)
			idle_ms = 0;
		there = now;
		SYS_CALL2(SYS_nanosleep, &moment, NULL);
	}
}
