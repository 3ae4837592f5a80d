/*
 * spool: slots change hands by their state alone (FREE -> OPEN by the recorder's compare-exchange,
 * OPEN -> SEALED by its release, SEALED -> FREE by ours), so neither side can hold the other up by
 * dying at a bad moment.
 */
#include "collect/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"

static struct err *spool_file(const char *directory, size_t bytes, int *fd_ret)
{
	CLEAN(str_deinit) struct str path = { 0 };
	CLEAN(close) int fd = -1;
	int rc;

	str_printf(&path, "%s/.memtape-spool-XXXXXX", directory);
	if (path.failed)
		return err_nomem();
	fd = mkostemp(path.ptr, O_CLOEXEC);
	if (fd < 0)
		return err_errno("create %s", path.ptr);
	unlink(path.ptr);
	rc = posix_fallocate(fd, 0, (off_t)bytes); /* a hole would be a SIGBUS in the target */
	if (rc)
		return err_errno_new(rc, "reserve %zu bytes in %s", bytes, directory);
	*fd_ret = steal_fd(&fd);
	return NULL;
}

static struct err *spool_memory(size_t bytes, const char *directory, int *fd_ret)
{
	CLEAN(close) int fd = memfd_create("memtape-spool", MFD_CLOEXEC);

	if (fd < 0)
		return spool_file(directory, bytes, fd_ret);
	if (ftruncate(fd, (off_t)bytes) < 0)
		return err_errno("reserve %zu bytes of memory for the spool", bytes);
	*fd_ret = steal_fd(&fd);
	return NULL;
}

static void spool_fill_header(const struct spool *spool, uint32_t flags)
{
	struct tape_header *header = spool_header(spool);
	struct tape_live *live = spool_live(spool);

	memcpy(header->magic, TAPE_MAGIC, sizeof(header->magic));
	header->version = TAPE_VERSION;
	header->header_bytes = TAPE_HEADER_BYTES;
	header->kind = TAPE_KIND_RAW;
	header->chunk_bytes = spool->chunk_bytes;
	header->flags = flags;
	live->chunk_count = spool->chunk_count;
	live->sealed_max = spool->chunk_count > SPOOL_OPEN_COUNT + SPOOL_CHUNK_COUNT_MIN
				   ? spool->chunk_count - SPOOL_OPEN_COUNT
				   : (spool->chunk_count + 1) / 2;
	live->next_stream = 1; /* 0 is the collector's */
	live->collector_pid = (uint32_t)getpid();
	live->collector_waits = 1; /* a wake-up too many is cheaper than one too few */
	__atomic_store_n(&live->collector_state, TAPE_COLLECTOR_RUNNING, __ATOMIC_RELEASE);
}

struct err *spool_open(struct spool *spool, uint32_t chunk_bytes, uint32_t chunk_count,
		       uint32_t flags, const char *directory)
{
	size_t bytes = TAPE_HEADER_BYTES + (size_t)chunk_count * chunk_bytes;
	CLEAN(close) int fd = -1;
	struct err *err = spool_memory(bytes, directory, &fd);
	void *map;

	if (err)
		return err;
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return err_errno("map the spool");
	*spool = (struct spool) {
		.fd = steal_fd(&fd),
		.map = map,
		.bytes = bytes,
		.chunk_bytes = chunk_bytes,
		.chunk_count = chunk_count,
	};
	spool_fill_header(spool, flags);
	return NULL;
}

void spool_close(struct spool *spool)
{
	if (spool->map)
		munmap(spool->map, spool->bytes);
	if (spool->fd >= 0)
		close(spool->fd);
	*spool = (struct spool) { .fd = -1 };
}

struct err *spool_path(const struct spool *spool, char *path, size_t path_bytes)
{
	str_format(path, path_bytes, "/proc/%d/fd/%d", (int)getpid(), spool->fd);
	if (access(path, R_OK | W_OK) < 0)
		return err_errno("%s cannot be opened, is /proc mounted?", path);
	return NULL;
}

struct tape_header *spool_header(const struct spool *spool)
{
	return (struct tape_header *)spool->map;
}

struct tape_live *spool_live(const struct spool *spool)
{
	return (struct tape_live *)spool_header(spool)->live;
}

struct tape_chunk *spool_chunk(const struct spool *spool, uint32_t index)
{
	return (struct tape_chunk *)(spool->map + TAPE_HEADER_BYTES +
				     (size_t)index * spool->chunk_bytes);
}

uint32_t spool_chunk_state(const struct spool *spool, uint32_t index)
{
	return __atomic_load_n(&spool_chunk(spool, index)->state, __ATOMIC_ACQUIRE);
}

bool spool_chunk_copy(const struct spool *spool, uint32_t index, struct tape_chunk *chunk)
{
	const uint8_t *slot = (const uint8_t *)spool_chunk(spool, index);
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
	memcpy(chunk + 1, slot + sizeof(*chunk), chunk->used);
	memcpy((uint8_t *)chunk + spool->chunk_bytes - nodes_bytes,
	       slot + spool->chunk_bytes - nodes_bytes, nodes_bytes);
	return true;
}

bool spool_chunk_peek(const struct spool *spool, uint32_t index, struct tape_chunk *chunk)
{
	/*
	 * Pairs with the release after each record. Slots are given back with 0 here, so what is
	 * not 0 is of the chunk whose header is there now; nodes are defined before they are named.
	 */
	const uint32_t used = __atomic_load_n(&spool_chunk(spool, index)->used, __ATOMIC_ACQUIRE);

	if (used == 0 || !spool_chunk_copy(spool, index, chunk) || chunk->used < used)
		return false;
	chunk->used = used;
	return true;
}

static void futex_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
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

uint32_t spool_sealed_count(const struct spool *spool)
{
	return __atomic_load_n(&spool_live(spool)->sealed_count, __ATOMIC_ACQUIRE);
}

void spool_wait(const struct spool *spool, uint32_t seen, uint64_t timeout_ns)
{
	struct timespec timeout = { .tv_sec = (time_t)(timeout_ns / 1000000000),
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
