/*
 * spool: how a program gets the spool made by its collector (chunk.c), also if it had it before an
 * exec, as another program.
 */
#include "rec/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>

#include "rec/attach.h"

#include "core/poison.h"

/* of <linux/futex.h>, which musl installations lack */
enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1 };

enum { WAIT_ROUNDS = 250, WAIT_MS = 20 };

static bool spool_fits(const struct tape_header *header, uint64_t file_bytes)
{
	const struct tape_live *live = (const struct tape_live *)header->live;

	return memcmp(header->magic, TAPE_MAGIC, sizeof(header->magic)) == 0 &&
	       header->version == TAPE_VERSION && header->kind == TAPE_KIND_RAW &&
	       header->chunk_bytes >= TAPE_CHUNK_BYTES_MIN &&
	       header->chunk_bytes <= TAPE_CHUNK_BYTES_MAX && live->chunk_count > 1 &&
	       live->sealed_max > 0 && live->chunk_count <= (1u << 20) && live->slots_ready > 0 &&
	       live->slots_ready <= live->chunk_count &&
	       file_bytes >= TAPE_HEADER_BYTES + (uint64_t)live->chunk_count * header->chunk_bytes;
}

static bool spool_claim(uint64_t file_bytes)
{
	uint32_t absent = TAPE_RECORDER_ABSENT;

	if (!spool_fits(rec.header, file_bytes) ||
	    !atomic_compare_exchange_strong(LIVE(recorder_state), &absent, TAPE_RECORDER_RUNNING))
		return false;
	atomic_store(&rec.sealed, atomic_load(LIVE(freed_count)));
	rec.chunk_bytes = rec.header->chunk_bytes;
	rec.slots = (uint8_t *)rec.header + TAPE_HEADER_BYTES;
	rec.slot_count = rec.live->chunk_count;
	/* The slots that may be open at once must leave some to be sealed. */
	rec.lanes_max = (uint32_t)u64_min(rec.slot_count - (rec.slot_count + 3) / 4, REC_LANES_MAX);
	return true;
}

static bool has_name(const char *path)
{
	return strncmp(path, "/proc/", 6) != 0;
}

/*
 * Its path once the collector is gone; unnamed memory is in /proc until then, and what was handed
 * over has none here.
 */
static void spool_remember(const char *path, const ARCH_STAT *st)
{
	const size_t bytes = strlen(path) + 1;

	rec.file.path[0] = '\0';
	if (has_name(path) && bytes <= sizeof(rec.file.path))
		memcpy(rec.file.path, path, bytes);
	rec.file.id[0] = st->st_dev;
	rec.file.id[1] = st->st_ino;
}

/* Written at the start, on one thread. */
static bool is_next; /* of a program that had the spool before */

static void spool_forget(void)
{
	rec.file.path[0] = '\0';
	rec.file.id[0] = rec.file.id[1] = 0;
}

bool rec_spool_is_ours(const char *path)
{
	enum {
		STATE = offsetof(struct tape_header, live) +
			offsetof(struct tape_live, recorder_state)
	};
	const int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	uint32_t state, pid;
	bool is_ours;

	if (fd < 0)
		return false;
	is_ours = sys_pread(fd, &state, sizeof(state), STATE) == sizeof(state) &&
		  sys_pread(fd, &pid, sizeof(pid), offsetof(struct tape_header, pid)) ==
			  sizeof(pid) &&
		  (state == TAPE_RECORDER_ABSENT || pid == (uint32_t)sys_getpid());
	sys_close(fd);
	return is_ours;
}

/* Waits for another state; no longer than for a free slot: the collector may be dead. */
static void collector_ask(enum tape_exec_state state)
{
	const struct sys_timeout interval = { .nanoseconds = WAIT_MS * 1000000L };

	atomic_store(LIVE(exec_state), state);
	atomic_fetch_add(LIVE(sealed_count), 1);
	sys_call6(SYS_futex, (long)&rec.live->sealed_count, FUTEX_WAKE, 1, 0, 0, 0);
	for (int round = 0; round < WAIT_ROUNDS && atomic_load(LIVE(exec_state)) == state;
	     round++) {
		if (rec_collector_is_gone())
			break;
		sys_call6(SYS_futex, (long)&rec.live->exec_state, FUTEX_WAIT, state,
			  (long)&interval, 0, 0);
	}
}

/*
 * This process has had the spool since before an exec. Data recorded then is first taken out of it
 * by a collector that may be dead or busy: we wait no longer than for a free slot. A collector that
 * has given up wants nothing of the next program either.
 */
static enum tape_exec_state spool_ask_again(void)
{
	uint32_t asked = TAPE_EXEC_ASKED;

	collector_ask(asked);
	if (!atomic_compare_exchange_strong(LIVE(exec_state), &asked, TAPE_EXEC_NONE))
		return (enum tape_exec_state)asked;
	return atomic_load(LIVE(collector_state)) == TAPE_COLLECTOR_GONE ? TAPE_EXEC_REFUSED
									 : TAPE_EXEC_NONE;
}

static void spool_leave(uint64_t file_bytes)
{
	spool_forget();
	sys_munmap(rec.header, (size_t)file_bytes);
	rec.header = NULL;
	rec.live = NULL;
}

static enum rec_spool spool_take(uint64_t file_bytes)
{
	enum tape_exec_state again;

	if (spool_claim(file_bytes))
		return REC_SPOOL_TAKEN;
	if (!spool_fits(rec.header, file_bytes) || !rec.options.exec ||
	    rec.header->pid != (uint32_t)sys_getpid() ||
	    atomic_load(LIVE(exec_state)) != TAPE_EXEC_BEGUN)
		return REC_SPOOL_NONE;
	again = spool_ask_again();
	if (again == TAPE_EXEC_GRANTED && spool_claim(file_bytes)) {
		is_next = true;
		return REC_SPOOL_TAKEN;
	}
	return again == TAPE_EXEC_REFUSED ? REC_SPOOL_REFUSED : REC_SPOOL_ORPHAN;
}

/* A collector that has closed its tape removes the spool's name; a dead one does not. */
static enum rec_spool spool_missing(const char *path, int error)
{
	return error == ENOENT && has_name(path) && rec_exec_is_after() ? REC_SPOOL_REFUSED
									: REC_SPOOL_NONE;
}

enum rec_spool rec_tape_open_spool(const char *path)
{
	const int handed = rec_attach_spool();
	enum rec_spool result;
	ARCH_STAT st;
	bool done;

	CHECK(path[0] != '\0');
	rec.file.fd = handed >= 0 ? handed : sys_open(path, O_RDWR | O_CLOEXEC, 0);
	if (rec.file.fd < 0)
		return spool_missing(path, -rec.file.fd);
	done = sys_fstat(rec.file.fd, &st) == 0 && (uint64_t)st.st_size > TAPE_HEADER_BYTES &&
	       rec_tape_map((uint64_t)st.st_size);
	if (handed < 0)
		sys_close(rec.file.fd);
	rec.file.fd = -1;
	if (!done)
		return REC_SPOOL_NONE;
	spool_remember(handed >= 0 ? "" : path, &st);
	result = spool_take((uint64_t)st.st_size);
	if (result == REC_SPOOL_TAKEN)
		return result;
	spool_leave((uint64_t)st.st_size);
	return result;
}

/* Whether the tape with the spool's name, without the suffix, is the spool's. */
static bool tape_has_name(void)
{
	char path[REC_PATH_BYTES];
	uint8_t uuid[TAPE_UUID_BYTES] = { 0 };
	const size_t len = strlen(rec.file.path), suffix = sizeof(TAPE_SPOOL_SUFFIX) - 1;
	int fd;

	if (len <= suffix)
		return true; /* memory, which has ended with the collector */
	memcpy(path, rec.file.path, len - suffix);
	path[len - suffix] = '\0';
	fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return true;
	sys_pread(fd, uuid, sizeof(uuid), offsetof(struct tape_header, uuid));
	sys_close(fd);
	return memcmp(uuid, rec.uuid, sizeof(uuid)) == 0;
}

bool rec_spool_await_tape(void)
{
	uint32_t filled = TAPE_EXEC_FILLED;

	if (!is_next)
		return true;
	is_next = false;
	collector_ask(filled);
	if (!atomic_compare_exchange_strong(LIVE(exec_state), &filled, TAPE_EXEC_NONE) ||
	    atomic_load(LIVE(collector_state)) != TAPE_COLLECTOR_RUNNING ||
	    !rec_collector_is_gone() || tape_has_name())
		return true;
	SYS_CALL3(SYS_unlinkat, AT_FDCWD, rec.file.path, 0);
	spool_leave(rec.mapped_bytes);
	return false;
}
