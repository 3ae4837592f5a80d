/*
 * spool: slots change hands by their state alone (FREE -> OPEN by the recorder's compare-exchange,
 * OPEN -> SEALED by its release, SEALED -> FREE by ours), so neither side can hold the other up by
 * dying at a bad moment.
 */
#include "collect/spool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"

enum { VARIABLE_OFFSET = 512 }; /* in the header page, beyond what readers need of it */

static const char variable[] = "MEMTAPE_SPOOL=";

/*
 * Whether allocated blocks can be written, even repeatedly, however full the disk is: not so on
 * file systems that write each time to a new place (copy-on-write), or to another machine.
 */
static bool keeps_promises(int fd)
{
	int flags = FS_NOCOW_FL;
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	switch ((uint32_t)fs.f_type) {
	case EXT4_SUPER_MAGIC: /* 2 and 3 as well */
	case XFS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case OVERLAYFS_SUPER_MAGIC:
		return true;
	case BTRFS_SUPER_MAGIC:
		return ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
	default:
		return false;
	}
}

static uint64_t slot_offset(const struct spool *spool, uint32_t index)
{
	return TAPE_HEADER_BYTES + (uint64_t)index * spool->chunk_bytes;
}

/* False: no file can be created here, or none that is safe to map. */
static bool open_file(struct spool *spool, const char *directory)
{
	CLEAN(str_deinit) struct str path = { 0 };

	str_printf(&path, "%s/.memtape-spool-XXXXXX", directory);
	if (path.failed)
		return false;
	spool->fd = mkostemp(path.ptr, O_CLOEXEC);
	if (spool->fd < 0)
		return false;
	spool->ready_count = (uint32_t)u64_min(SPOOL_READY_COUNT, spool->chunk_count);
	if (keeps_promises(spool->fd) && file_lock(spool->fd) &&
	    fallocate(spool->fd, 0, 0, (off_t)slot_offset(spool, spool->ready_count)) == 0 &&
	    ftruncate(spool->fd, (off_t)spool->bytes) == 0) {
		spool->name = realpath(path.ptr, NULL);
		if (spool->name)
			return true;
	}
	unlink(path.ptr);
	close(spool->fd);
	spool->fd = -1;
	return false;
}

static struct err *open_memory(struct spool *spool)
{
	spool->fd = file_create_in_memory("memtape-spool");
	if (spool->fd < 0)
		return err_errno("memory for the spool");
	if (ftruncate(spool->fd, (off_t)spool->bytes) < 0)
		return err_errno("reserve %zu bytes of memory for the spool", spool->bytes);
	spool->ready_count = spool->chunk_count;
	return NULL;
}

static void spool_fill_header(const struct spool *spool)
{
	struct tape_header *header = spool_header(spool);
	struct tape_live *live = spool_live(spool);

	memcpy(header->magic, TAPE_MAGIC, sizeof(header->magic));
	header->version = TAPE_VERSION;
	header->header_bytes = TAPE_HEADER_BYTES;
	header->kind = TAPE_KIND_RAW;
	header->chunk_bytes = spool->chunk_bytes;
	header->flags = spool->flags;
	live->chunk_count = spool->chunk_count;
	live->sealed_max = spool->chunk_count > SPOOL_OPEN_COUNT + SPOOL_CHUNK_COUNT_MIN
				   ? spool->chunk_count - SPOOL_OPEN_COUNT
				   : (spool->chunk_count + 1) / 2;
	live->next_stream = 1; /* 0 is the collector's */
	live->next_slot = spool->chunk_count;
	live->slots_ready = spool->ready_count;
	live->collector_pid = (uint32_t)getpid();
	live->collector_waits = 1; /* one wake-up too many is cheaper than one too few */
	__atomic_store_n(&live->collector_state, TAPE_COLLECTOR_RUNNING, __ATOMIC_RELEASE);
}

static struct err *map_and_fill(struct spool *spool)
{
	void *map = mmap(NULL, spool->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, spool->fd, 0);

	if (map == MAP_FAILED)
		return err_errno("map the spool");
	spool->map = map;
	spool_fill_header(spool);
	if (!spool->name) {
		str_format(spool_variable(spool), TAPE_HEADER_BYTES - VARIABLE_OFFSET,
			   "%s/proc/%d/fd/%d", variable, (int)getpid(), spool->fd);
		if (access(spool_variable(spool) + strlen(variable), R_OK | W_OK) < 0)
			return err_errno("cannot open %s; is /proc mounted?",
					 spool_variable(spool) + strlen(variable));
		return NULL;
	}
	return spool_rename(spool, spool->name);
}

struct err *spool_open(struct spool *spool, uint32_t chunk_bytes, uint32_t chunk_count,
		       uint32_t flags, const char *directory)
{
	struct spool opened = { .fd = -1,
				.bytes = TAPE_HEADER_BYTES + (size_t)chunk_count * chunk_bytes,
				.chunk_bytes = chunk_bytes,
				.chunk_count = chunk_count,
				.flags = flags };
	struct err *err = open_file(&opened, directory) ? NULL : open_memory(&opened);

	assert(chunk_bytes > sizeof(struct tape_chunk) && chunk_bytes <= TAPE_CHUNK_BYTES_MAX);
	assert(chunk_bytes % sizeof(uint64_t) == 0);
	assert(chunk_count > 0);
	if (!err)
		err = map_and_fill(&opened);
	if (err) {
		spool_close(&opened);
		return err;
	}
	*spool = opened;
	return NULL;
}

void spool_unlink(struct spool *spool)
{
	if (spool->name)
		unlink(spool->name);
	free(steal(spool->name));
}

/* Resets the slots that were used, as gather() in drain.c determines them. */
static void slots_renew(struct spool *spool)
{
	for (uint32_t i = 0; i < spool->ready_count; i++) {
		struct tape_chunk *chunk = spool_chunk(spool, i);

		if (spool_chunk_state(spool, i) == TAPE_CHUNK_FREE && chunk->magic == 0)
			break;
		memset(chunk, 0, sizeof(*chunk));
	}
	spool->used_count = 0;
}

/*
 * The next recorder watches this: its request (exec_state), its futex and our liveness are left
 * untouched. Readers take the spool as ownerless until that recorder has filled in its pid.
 */
struct err *spool_renew(struct spool *spool)
{
	struct tape_header *header = spool_header(spool);
	struct tape_live *live = spool_live(spool);

	assert(spool->map);
	__atomic_store_n(&header->pid, 0, __ATOMIC_SEQ_CST);
	memset(header->uuid, 0, sizeof(header->uuid));
	memset(header->parent_uuid, 0, sizeof(header->parent_uuid));
	slots_renew(spool);
	if (ftruncate(spool->fd, (off_t)spool->bytes) < 0) /* removes appended slots */
		return err_errno("cut the spool to %zu bytes", spool->bytes);
	memset(live->lost, 0, sizeof(live->lost));
	live->recorder_bytes = live->recorder_ticks = live->exit_ticks = 0;
	live->fault = TAPE_FAULT_NONE;
	live->fault_errno = 0;
	live->recorder_waits = live->slots_wanted = 0;
	live->in_parts = live->no_wakes = live->no_calls = 0;
	live->looks_wanted = live->looks_done = 0;
	live->stack_board = live->stack_count = 0;
	live->scans_wanted = live->scans_done = live->scan_tid = 0;
	live->asked_scans = live->asked_done = 0;
	live->snapshots_wanted = live->snapshots_done = 0;
	if (live->paused)
		live->paused = TAPE_PAUSE_EVENTS;
	live->exec_left = TAPE_EXEC_FOLLOWED;
	spool_fill_header(spool);
	__atomic_store_n(&live->recorder_state, TAPE_RECORDER_ABSENT, __ATOMIC_RELEASE);
	return NULL;
}

void spool_close(struct spool *spool)
{
	spool_unlink(spool);
	if (spool->map)
		munmap(spool->map, spool->bytes);
	if (spool->fd >= 0)
		close(spool->fd);
	*spool = (struct spool) { .fd = -1 };
}

char *spool_variable(const struct spool *spool)
{
	return (char *)spool->map + VARIABLE_OFFSET;
}

struct err *spool_rename(struct spool *spool, const char *name)
{
	const size_t room = TAPE_HEADER_BYTES - VARIABLE_OFFSET - sizeof(variable);
	char *own;

	assert(spool->map);
	if (!spool->name)
		return NULL;
	if (strlen(name) > room)
		return err_new(ERR_LIMIT, "%s: the path is too long", name);
	own = strdup(name);
	if (!own)
		return err_nomem();
	if (rename(spool->name, own) < 0) {
		free(own);
		return err_errno("rename %s to %s", spool->name, name);
	}
	free(spool->name);
	spool->name = own;
	str_format(spool_variable(spool), TAPE_HEADER_BYTES - VARIABLE_OFFSET, "%s%s", variable,
		   own);
	return NULL;
}

static void futex_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Doubles the slots once half of them were used. */
void spool_grow(struct spool *spool)
{
	struct tape_live *live = spool_live(spool);
	const uint32_t wanted = __atomic_load_n(&live->slots_wanted, __ATOMIC_RELAXED);
	const uint32_t count =
		(uint32_t)u64_min((uint64_t)spool->ready_count * 2, spool->chunk_count);
	const uint64_t begin = slot_offset(spool, spool->ready_count);

	assert(spool->ready_count <= spool->chunk_count);
	if (spool->ready_count == spool->chunk_count)
		return;
	while (spool->used_count < spool->ready_count &&
	       spool_chunk(spool, spool->used_count)->magic != 0)
		spool->used_count++;
	if (spool->used_count * 2 <= spool->ready_count && wanted <= spool->ready_count)
		return;
	if (fallocate(spool->fd, 0, (off_t)begin, (off_t)(slot_offset(spool, count) - begin)) < 0)
		return; /* the recorder makes do with the existing ones */
	spool->ready_count = count;
	__atomic_store_n(&live->slots_ready, count, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&live->recorder_waits, __ATOMIC_SEQ_CST))
		futex_wake(&live->freed_count);
}

struct tape_header *spool_header(const struct spool *spool)
{
	assert(spool->map);
	return (struct tape_header *)spool->map;
}

struct tape_live *spool_live(const struct spool *spool)
{
	return (struct tape_live *)spool_header(spool)->live;
}

struct tape_chunk *spool_chunk(const struct spool *spool, uint32_t index)
{
	assert(index < spool->chunk_count);
	return (struct tape_chunk *)(spool->map + TAPE_HEADER_BYTES +
				     (size_t)index * spool->chunk_bytes);
}

uint32_t spool_chunk_state(const struct spool *spool, uint32_t index)
{
	return __atomic_load_n(&spool_chunk(spool, index)->state, __ATOMIC_ACQUIRE);
}

static bool slot_copy(const struct spool *spool, const void *from, struct tape_chunk *chunk)
{
	const uint8_t *slot = from;
	const size_t room = spool->chunk_bytes - sizeof(*chunk);
	size_t nodes_bytes;

	memcpy(chunk, slot, sizeof(*chunk));
	if (chunk->magic != TAPE_CHUNK_MAGIC || chunk->header_bytes != sizeof(*chunk) ||
	    chunk->stream == TAPE_COLLECTOR_STREAM ||
	    chunk->node_count > room / sizeof(struct tape_node))
		return false;
	nodes_bytes = chunk->node_count * sizeof(struct tape_node);
	if (chunk->used > room - nodes_bytes)
		return false;
	chunk->codec = TAPE_CODEC_RAW;
	memset(&chunk->event_count, 0, offsetof(struct tape_taken, oldest_node));
	memcpy(chunk + 1, slot + sizeof(*chunk), chunk->used);
	memcpy((uint8_t *)chunk + spool->chunk_bytes - nodes_bytes,
	       slot + spool->chunk_bytes - nodes_bytes, nodes_bytes);
	return true;
}

bool spool_chunk_copy(const struct spool *spool, uint32_t index, struct tape_chunk *chunk)
{
	assert((uintptr_t)chunk % sizeof(uint64_t) == 0);
	return slot_copy(spool, spool_chunk(spool, index), chunk);
}

struct err *spool_appended_each(const struct spool *spool, struct tape_chunk *chunk,
				void (*visit)(void *context, struct tape_chunk *chunk),
				void *context)
{
	struct stat st;

	if (fstat(spool->fd, &st) < 0)
		return err_errno("the spool");
	for (uint32_t i = spool->chunk_count; slot_offset(spool, i + 1) <= (uint64_t)st.st_size;
	     i++) {
		void *slot = mmap(NULL, spool->chunk_bytes, PROT_READ, MAP_SHARED, spool->fd,
				  (off_t)slot_offset(spool, i));

		if (slot == MAP_FAILED)
			return err_errno("map a slot of the spool");
		if (slot_copy(spool, slot, chunk))
			visit(context, chunk);
		munmap(slot, spool->chunk_bytes);
	}
	return NULL;
}

bool spool_chunk_peek(const struct spool *spool, uint32_t index, struct tape_chunk *chunk)
{
	/*
	 * Pairs with the release after each record. Slots are returned with 0 here, so a nonzero
	 * value belongs to the chunk whose header is there now; nodes are defined before they are
	 * referenced.
	 */
	const uint32_t used = __atomic_load_n(&spool_chunk(spool, index)->used, __ATOMIC_ACQUIRE);

	assert((uintptr_t)chunk % sizeof(uint64_t) == 0);
	if (used == 0 || !spool_chunk_copy(spool, index, chunk) || chunk->used < used)
		return false;
	chunk->used = used;
	return true;
}

void spool_chunk_free(const struct spool *spool, uint32_t index)
{
	struct tape_live *live = spool_live(spool);

	__atomic_store_n(&spool_chunk(spool, index)->used, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&spool_chunk(spool, index)->state, TAPE_CHUNK_FREE, __ATOMIC_RELEASE);
	__atomic_fetch_add(&live->freed_count, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&live->recorder_waits, __ATOMIC_SEQ_CST))
		futex_wake(&live->freed_count);
}

void spool_give_up(const struct spool *spool, int error)
{
	struct tape_live *live = spool_live(spool);

	__atomic_store_n(&live->fault_errno, error, __ATOMIC_RELAXED);
	__atomic_store_n(&live->collector_state, TAPE_COLLECTOR_GONE, __ATOMIC_RELEASE);
	__atomic_fetch_add(&live->freed_count, 1, __ATOMIC_SEQ_CST);
	futex_wake(&live->freed_count);
}

bool spool_is_asked(const struct spool *spool)
{
	return __atomic_load_n(&spool_live(spool)->exec_state, __ATOMIC_ACQUIRE) == TAPE_EXEC_ASKED;
}

static void exec_state_change(const struct spool *spool, uint32_t from, uint32_t to)
{
	uint32_t *state = &spool_live(spool)->exec_state;

	if (__atomic_compare_exchange_n(state, &from, to, false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED))
		futex_wake(state);
}

void spool_answer(const struct spool *spool, enum tape_exec_state answer)
{
	exec_state_change(spool, TAPE_EXEC_ASKED, answer);
}

void spool_is_named(const struct spool *spool)
{
	exec_state_change(spool, TAPE_EXEC_FILLED, TAPE_EXEC_NONE);
}

uint32_t spool_sealed_count(const struct spool *spool)
{
	return __atomic_load_n(&spool_live(spool)->sealed_count, __ATOMIC_ACQUIRE);
}

void spool_forbid_calls(const struct spool *spool)
{
	struct tape_live *live = spool_live(spool);

	__atomic_store_n(&live->no_wakes, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&live->no_calls, 1, __ATOMIC_RELEASE);
}

bool spool_wants_look(const struct spool *spool, uint32_t *wanted_ret)
{
	const struct tape_live *live = spool_live(spool);

	*wanted_ret = __atomic_load_n(&live->looks_wanted, __ATOMIC_ACQUIRE);
	return *wanted_ret != __atomic_load_n(&live->looks_done, __ATOMIC_RELAXED);
}

void spool_look_done(const struct spool *spool, uint32_t wanted)
{
	struct tape_live *live = spool_live(spool);

	__atomic_store_n(&live->looks_done, wanted, __ATOMIC_RELEASE);
	futex_wake(&live->looks_done);
}

bool spool_wants_scan(const struct spool *spool, uint32_t *wanted_ret)
{
	const struct tape_live *live = spool_live(spool);

	*wanted_ret = __atomic_load_n(&live->scans_wanted, __ATOMIC_ACQUIRE);
	return *wanted_ret != __atomic_load_n(&live->scans_done, __ATOMIC_RELAXED);
}

void spool_scan_done(const struct spool *spool, uint32_t wanted)
{
	struct tape_live *live = spool_live(spool);

	__atomic_store_n(&live->scans_done, wanted, __ATOMIC_RELEASE);
	futex_wake(&live->scans_done);
}

void spool_asked_done(uint32_t *done, uint32_t wanted)
{
	__atomic_store_n(done, wanted, __ATOMIC_RELEASE);
	futex_wake(done);
}

enum { NO_WAKES_PERIOD_NS = 2000000 };

void spool_wait(const struct spool *spool, uint32_t seen, uint64_t timeout_ns)
{
	struct timespec timeout;

	if (__atomic_load_n(&spool_live(spool)->no_wakes, __ATOMIC_RELAXED))
		timeout_ns = u64_min(timeout_ns, NO_WAKES_PERIOD_NS);
	timeout = (struct timespec) { .tv_sec = (time_t)(timeout_ns / 1000000000),
				      .tv_nsec = (long)(timeout_ns % 1000000000) };
	syscall(SYS_futex, &spool_live(spool)->sealed_count, FUTEX_WAIT, seen, &timeout, NULL, 0);
}

void spool_poke(uint32_t *wake)
{
	int saved = errno;

	__atomic_fetch_add(wake, 1, __ATOMIC_SEQ_CST);
	futex_wake(wake);
	errno = saved;
}
