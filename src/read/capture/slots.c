/*
 * slots: chunks of raw tapes, and of the spools of packed ones.
 *
 * A collector that is killed leaves a tape and a spool. A chunk is in one, in the other, or, if the
 * collector was killed between writing it and freeing its slot, in both; then the tape's is used.
 * Chunks of a stream have the same numbers in both, unless they are taken in parts: then numbering
 * continues after the tape's last.
 */
#include <assert.h>
#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/sort.h"
#include "base/str.h"
#include "capture/chunk.h"
#include "capture/columns.h"

/* The part of a slot that is read: its offset, and its size. */
struct slot {
	uint64_t offset;
	uint64_t rest;
	bool in_spool;
};

/*
 * The header of a slot. *found_ret false: no chunk is there, or it is damaged. A file truncated
 * inside a slot has lost its nodes, which are at the slot's end, but has the records. Slots of a
 * running program change: the result is a snapshot.
 */
static struct err *read_slot(struct capture *capture, const struct slot *slot,
			     struct tape_chunk *header, bool *found_ret)
{
	const uint32_t chunk_bytes = capture->header.chunk_bytes;
	const int fd = slot->in_spool ? capture->spool_fd : capture->fd;
	struct err *err;
	size_t bytes;

	*found_ret = false;
	err = capture_read_some(fd, header, sizeof(*header), slot->offset, &bytes);
	if (err || (bytes == sizeof(*header) && header->magic == 0) ||
	    (header->magic == TAPE_CHUNK_MAGIC && header->state == TAPE_CHUNK_FREE))
		return err;
	if (bytes < sizeof(*header))
		return capture_add_damage(capture, slot->offset,
					  "the file ends inside a chunk header");
	if (header->magic != TAPE_CHUNK_MAGIC || header->header_bytes != sizeof(*header) ||
	    header->codec != TAPE_CODEC_RAW || header->state > TAPE_CHUNK_SEALED ||
	    !chunk_fits(header, chunk_bytes))
		return capture_add_damage(capture, slot->offset,
					  "the header of a chunk is damaged");
	if (slot->rest < chunk_bytes) {
		err = capture_add_damage(capture, slot->offset, "the file ends inside a chunk");
		header->used = (uint32_t)u64_min(header->used, slot->rest - sizeof(*header));
		header->node_count = 0;
		header->state = TAPE_CHUNK_OPEN;
	}
	*found_ret = !err;
	return err;
}

static struct err *add_slot(struct capture *capture, const struct slot *slot,
			    struct tape_chunk *header)
{
	struct capture_chunk *chunk;
	struct err *err;

	header->stored_bytes =
		header->used + header->node_count * (uint32_t)sizeof(struct tape_node);
	header->event_count = 0;
	err = capture_add_chunk(capture, slot->offset, header);
	if (err)
		return err;
	chunk = &capture->chunks.items[capture->chunks.count - 1];
	chunk->is_slot = true;
	chunk->in_spool = slot->in_spool;
	return NULL;
}

struct err *capture_scan_slots(struct capture *capture)
{
	const uint64_t end = capture->facts.file_bytes, step = capture->header.chunk_bytes;
	struct err *err = NULL;

	assert(capture->header.chunk_bytes >= TAPE_CHUNK_BYTES_MIN);
	for (uint64_t at = TAPE_HEADER_BYTES; at < end && !err; at += step) {
		const struct slot slot = { .offset = at, .rest = end - at };
		struct tape_chunk header;
		bool found;

		err = read_slot(capture, &slot, &header, &found);
		if (!err && found)
			err = add_slot(capture, &slot, &header);
	}
	return err;
}

/* --- the spool ------------------------------------------------------------------------------- */

/* The tape's chunk numbers, sorted. */
struct numbers {
	struct sort_pair *pairs;
	size_t count;
};

static uint64_t number(uint32_t stream, uint32_t seq)
{
	return (uint64_t)stream << 32 | seq;
}

static struct err *numbers_take(struct numbers *numbers, const struct capture *capture)
{
	numbers->count = capture->chunks.count;
	numbers->pairs = calloc(numbers->count + 1, sizeof(*numbers->pairs));
	if (!numbers->pairs)
		return err_nomem();
	for (size_t i = 0; i < numbers->count; i++) {
		const struct capture_chunk *chunk = &capture->chunks.items[i];

		numbers->pairs[i].key = number(chunk->stream, chunk->seq);
	}
	return sort_pairs(numbers->pairs, numbers->count) ? NULL : err_nomem();
}

/* How many are less than key. */
static size_t numbers_below(const struct numbers *numbers, uint64_t key)
{
	size_t low = 0, high = numbers->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (numbers->pairs[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool numbers_have(const struct numbers *numbers, uint32_t stream, uint32_t seq)
{
	const size_t at = numbers_below(numbers, number(stream, seq));

	return at < numbers->count && numbers->pairs[at].key == number(stream, seq);
}

/* The number after the last of a stream on the tape. */
static uint32_t numbers_next(const struct numbers *numbers, uint32_t stream)
{
	const size_t end = numbers_below(numbers, number(stream, UINT32_MAX));

	if (end == 0 || numbers->pairs[end - 1].key >> 32 != stream)
		return 0;
	return (uint32_t)numbers->pairs[end - 1].key + 1;
}

/*
 * How much of a chunk is on the tape. An open chunk without records may have half a header; no
 * record refers to its nodes.
 */
static bool is_taken(const struct capture *capture, const struct numbers *numbers,
		     const struct tape_chunk *header, struct tape_taken *taken_ret)
{
	struct tape_taken taken;

	*taken_ret = (struct tape_taken) { 0 };
	if (header->used == 0 && header->state == TAPE_CHUNK_OPEN)
		return true;
	if (!capture->live.in_parts)
		return numbers_have(numbers, header->stream, header->seq);
	memcpy(&taken, (const uint8_t *)header + offsetof(struct tape_chunk, event_count),
	       sizeof(taken));
	if (taken.seq == 0)
		return false;
	if (numbers_have(numbers, header->stream, taken.seq - 1)) {
		taken.used = taken.next_used;
		taken.nodes = taken.next_nodes;
	}
	*taken_ret = taken;
	return taken.used >= header->used &&
	       (taken.nodes >= header->node_count || header->state == TAPE_CHUNK_OPEN);
}

/* Spool chunks, from `first` on, are numbered after those of the tape. */
static struct err *number_on(struct capture *capture, const struct numbers *numbers, size_t first)
{
	const size_t count = capture->chunks.count - first;
	CLEAN(free) struct sort_pair *pairs = calloc(count + 1, sizeof(*pairs));
	uint32_t next = 0;

	if (!pairs)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const struct capture_chunk *chunk = &capture->chunks.items[first + i];

		pairs[i] = (struct sort_pair) { .key = number(chunk->stream, chunk->seq),
						.index = (uint32_t)i };
	}
	if (!sort_pairs(pairs, count))
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		struct capture_chunk *chunk = &capture->chunks.items[first + pairs[i].index];

		if (i == 0 || pairs[i].key >> 32 != pairs[i - 1].key >> 32)
			next = numbers_next(numbers, chunk->stream);
		chunk->seq = next++;
	}
	return NULL;
}

static struct err *add_spooled(struct capture *capture, const struct numbers *numbers)
{
	const uint64_t end = capture->facts.spool_bytes, step = capture->header.chunk_bytes;
	const size_t first = capture->chunks.count;
	struct err *err = NULL;

	for (uint64_t at = TAPE_HEADER_BYTES; at < end && !err; at += step) {
		const struct slot slot = { .offset = at, .rest = end - at, .in_spool = true };
		struct tape_chunk header;
		struct tape_taken taken;
		bool found;

		err = read_slot(capture, &slot, &header, &found);
		if (err || !found || is_taken(capture, numbers, &header, &taken))
			continue;
		err = add_slot(capture, &slot, &header);
		if (err)
			break;
		capture->chunks.items[capture->chunks.count - 1].taken_used = taken.used;
		capture->chunks.items[capture->chunks.count - 1].taken_nodes = taken.nodes;
	}
	if (!err && capture->live.in_parts)
		err = number_on(capture, numbers, first);
	return err;
}

/* Takes own_fd, which may be -1, and returns it if it is the tape's spool; else -1. */
static int check_spool(const struct capture *capture, int own_fd, struct tape_header *header_ret,
		       uint64_t *bytes_ret)
{
	static const uint8_t nobody[TAPE_UUID_BYTES];
	CLEAN(close) int fd = own_fd;
	struct stat status;
	struct err *err;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    pread(fd, header_ret, sizeof(*header_ret), 0) != (ssize_t)sizeof(*header_ret))
		return -1;
	err = capture_check_header(header_ret, sizeof(*header_ret));
	if (err || header_ret->kind != TAPE_KIND_RAW || header_ret->pid == 0) {
		err_destroy(err);
		return -1;
	}
	if (memcmp(capture->header.uuid, nobody, sizeof(nobody)) != 0 &&
	    (memcmp(capture->header.uuid, header_ret->uuid, sizeof(nobody)) != 0 ||
	     capture->header.chunk_bytes != header_ret->chunk_bytes))
		return -1;
	*bytes_ret = (uint64_t)status.st_size;
	return steal_fd(&fd);
}

/* -1: there is none, or none that belongs to this tape. */
static int open_spool(const struct capture *capture, const char *path,
		      struct tape_header *header_ret, uint64_t *bytes_ret)
{
	CLEAN(str_deinit) struct str name = { 0 };

	str_printf(&name, "%s" TAPE_SPOOL_SUFFIX, path);
	if (name.failed)
		return -1;
	return check_spool(capture, open(name.ptr, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW),
			   header_ret, bytes_ret);
}

/* Whether the process still has the spool mapped: its pid may have been reused. */
static bool process_maps(uint32_t pid, int fd)
{
	char path[32], line[512];
	CLEAN(fclose) FILE *maps = NULL;
	struct stat status;

	str_format(path, sizeof(path), "/proc/%u/maps", pid);
	if (fstat(fd, &status) < 0)
		return false;
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long long inode = 0;

		if (sscanf(line, "%*s %*s %*s %*s %llu", &inode) == 1 && inode == status.st_ino &&
		    strstr(line, TAPE_SPOOL_SUFFIX))
			return true;
	}
	return false;
}

static const char *killed_words(const struct capture *capture)
{
	if (capture->live.recorder_state == TAPE_RECORDER_ENDED)
		return "memtape was killed while it recorded; the program went on to its end, and "
		       "all of it is here, but its exit status";
	if (capture->live.recorder_state == TAPE_RECORDER_STOPPED)
		return "memtape was killed while it recorded; the program went on without being "
		       "recorded";
	if (capture->is_written)
		return "memtape was killed while it recorded; the program still runs and is "
		       "recorded, and this is what there is so far";
	return "memtape was killed while it recorded; the program is gone as well, killed perhaps, "
	       "or cannot be seen from here; everything up to its last event is here";
}

/* After the spool was opened and its live state taken. */
static void note_killed(struct capture *capture)
{
	capture->is_written = capture->live.recorder_state == TAPE_RECORDER_RUNNING &&
			      process_maps(capture->header.pid, capture->spool_fd);
	capture->killed_text = killed_words(capture);
	if (capture->live.fault == TAPE_FAULT_NONE)
		capture->live.fault = TAPE_FAULT_KILLED;
}

/* The spool is open. */
static struct err *join(struct capture *capture, const struct tape_header *header)
{
	struct numbers numbers = { 0 };
	struct err *err;

	memcpy(&capture->live, header->live, sizeof(capture->live));
	capture->has_live = true;
	err = numbers_take(&numbers, capture);
	if (!err)
		err = add_spooled(capture, &numbers);
	free(numbers.pairs);
	return err;
}

struct err *capture_join_spool_of(struct capture *capture, int fd)
{
	struct tape_header header;

	assert(capture->fd >= 0 && capture->spool_fd < 0);
	capture->is_written = true;
	capture->spool_fd = check_spool(capture, fcntl(fd, F_DUPFD_CLOEXEC, 0), &header,
					&capture->facts.spool_bytes);
	if (capture->spool_fd < 0)
		return err_new(ERR_STATE, "its spool is another tape's");
	return join(capture, &header);
}

struct err *capture_join_spool(struct capture *capture, const char *path)
{
	struct tape_header header;
	struct err *err;

	assert(capture->fd >= 0 && capture->spool_fd < 0);
	capture->is_written = file_is_locked(capture->fd);
	if (capture->is_written)
		return NULL;
	capture->spool_fd = open_spool(capture, path, &header, &capture->facts.spool_bytes);
	if (capture->spool_fd < 0) {
		capture->killed_text =
			"memtape was killed while it recorded, and the file of this name with "
			".spool at its end is missing, which has the last events";
		return NULL;
	}
	err = join(capture, &header);
	note_killed(capture);
	return err;
}

bool capture_open_spool_alone(struct capture *capture, const char *path)
{
	struct tape_header header;
	uint64_t bytes;
	int fd;

	assert(capture->spool_fd < 0);
	/* Only for a tape that is empty and has no writer. */
	if (capture->facts.file_bytes != 0 || file_is_locked(capture->fd))
		return false;
	memset(&capture->header, 0, sizeof(capture->header));
	fd = open_spool(capture, path, &header, &bytes);
	if (fd < 0)
		return false;
	close(capture->fd);
	capture->fd = fd;
	capture->header = header;
	capture->facts.file_bytes = bytes;
	memcpy(&capture->live, header.live, sizeof(capture->live));
	capture->has_live = true;
	capture->spool_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* a second descriptor, for queries */
	note_killed(capture);
	return true;
}
