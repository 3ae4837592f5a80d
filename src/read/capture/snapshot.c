#include "capture/snapshot.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "capture/capture.h"
#include "capture/pack.h"

enum {
	NUMBER_MAX = 9999,
	PART_BYTES = 1 << 20,
	SPARE_BYTES = 16 << 20 /* disk space left free, besides the copies */
};

static const char extension[] = ".mtape";

/* What is copied: everything up to the last chunk that is not too late. */
struct extent {
	uint64_t end;
	uint64_t event_count;
	uint32_t flags;		/* of the header */
	uint32_t collector_seq; /* of the next chunk of the collector's stream */
};

static struct extent extent_find(const struct capture *capture, uint64_t until_bytes)
{
	struct extent extent = { .end = TAPE_HEADER_BYTES,
				 .flags = capture_header(capture)->flags };

	for (size_t i = 0; i < capture_chunk_count(capture); i++) {
		const struct capture_chunk *chunk = capture_chunk_get(capture, i);
		const uint64_t end =
			chunk->offset + sizeof(struct tape_chunk) + chunk->stored_bytes;

		if (end > until_bytes)
			continue;
		extent.end = u64_max(extent.end, end);
		extent.event_count += chunk->event_count;
		if (chunk->stream == TAPE_COLLECTOR_STREAM)
			extent.collector_seq =
				(uint32_t)u64_max(extent.collector_seq, (uint64_t)chunk->seq + 1);
	}
	return extent;
}

static struct err *write_all(int fd, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	while (len > 0) {
		const ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_errno_new(n ? errno : ENOSPC, "write");
		at += n;
		len -= (size_t)n;
	}
	return NULL;
}

static struct err *copy_bytes(int in, int out, uint64_t bytes,
			      const struct capture_snapshot_settings *settings)
{
	CLEAN(free) uint8_t *part = malloc(PART_BYTES);
	struct err *err = part ? NULL : err_nomem();

	for (uint64_t at = 0; at < bytes && !err;) {
		const ssize_t n = pread(in, part, u64_min(bytes - at, PART_BYTES), (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? err_errno("read") : err_new(ERR_STATE, "the tape was cut");
		err = write_all(out, part, (size_t)n);
		at += (uint64_t)n;
		if (!err)
			err = settings->check(settings->context);
	}
	return err;
}

/* The collector's last chunk: the program still runs. */
static struct err *write_end(int fd, const struct extent *extent, uint64_t ticks,
			     uint64_t *bytes_ret)
{
	CLEAN(capture_packer_destroy)
	struct capture_packer *packer = capture_packer_create(CAPTURE_PACK_LEVEL);
	CLEAN(free) struct tape_chunk *image = calloc(1, TAPE_CHUNK_BYTES_MIN);
	CLEAN(free) uint8_t *packed = malloc(capture_pack_bound(TAPE_CHUNK_BYTES_MIN));
	const struct tape_end end = { .kind = TAPE_END_RUNNING };
	struct err *err;
	size_t bytes;

	if (!packer || !image || !packed)
		return err_nomem();
	*image = (struct tape_chunk) {
		.magic = TAPE_CHUNK_MAGIC,
		.header_bytes = sizeof(*image),
		.codec = TAPE_CODEC_RAW,
		.state = TAPE_CHUNK_SEALED,
		.stream = TAPE_COLLECTOR_STREAM,
		.seq = extent->collector_seq,
		.first_node = TAPE_NODE_FIRST,
		.begin_ticks = ticks,
	};
	image->used = (uint32_t)(tape_extended_encode((uint8_t *)(image + 1), TAPE_EXT_END, ticks,
						      &end, sizeof(end), NULL, 0) -
				 (uint8_t *)(image + 1));
	err = capture_pack(packer, image, TAPE_CHUNK_BYTES_MIN, packed, &bytes, NULL);
	if (!err)
		err = write_all(fd, packed, bytes);
	if (!err)
		*bytes_ret = bytes;
	return err;
}

/* A recording stops when its disk is full: the copy must not cause that. */
static struct err *check_space(int fd, uint64_t bytes)
{
	const uint64_t wanted = 2 * bytes + SPARE_BYTES;
	struct statvfs disk;
	uint64_t free_bytes;

	if (fstatvfs(fd, &disk) < 0)
		return err_errno("statvfs");
	free_bytes = disk.f_bavail * disk.f_frsize;
	if (free_bytes >= wanted)
		return NULL;
	return err_new(ERR_LIMIT,
		       "the copy has %llu MiB, of the disk %llu MiB are free, and the recording "
		       "needs room to go on: make %llu MiB free",
		       (unsigned long long)(bytes >> 20), (unsigned long long)(free_bytes >> 20),
		       (unsigned long long)div_up(wanted, 1 << 20));
}

/* A new file beside the tape, with its name in *name. */
static struct err *snapshot_create(const char *path, struct str *name, int *fd_ret)
{
	size_t stem = strlen(path);
	int fd = -1;

	if (stem > strlen(extension) && strcmp(path + stem - strlen(extension), extension) == 0)
		stem -= strlen(extension);
	for (int number = 1; number <= NUMBER_MAX && fd < 0; number++) {
		str_clear(name);
		str_printf(name, "%.*s-%d%s", (int)stem, path, number, extension);
		if (name->failed)
			return err_nomem();
		fd = file_create(name->ptr);
		if (fd < 0 && errno != EEXIST)
			return err_errno("create %s", name->ptr);
	}
	if (fd < 0)
		return err_new(ERR_LIMIT, "%s and those before it are taken", name->ptr);
	*fd_ret = fd;
	return NULL;
}

/* The copy is complete, and has no spool. */
static struct err *write_flags(int fd, uint32_t flags)
{
	flags = arch_little_u32(flags & ~(uint32_t)TAPE_FLAG_RECORDING);
	if (pwrite(fd, &flags, sizeof(flags), offsetof(struct tape_header, flags)) !=
	    (ssize_t)sizeof(flags))
		return err_errno("write");
	return NULL;
}

static struct err *write_snapshot(int in, int out, const struct extent *extent,
				  const struct capture_snapshot_settings *settings,
				  uint64_t *bytes_ret)
{
	uint64_t end_bytes = 0;
	struct err *err = check_space(out, extent->end);

	if (!err)
		err = copy_bytes(in, out, extent->end, settings);
	if (!err)
		err = write_end(out, extent, settings->ticks, &end_bytes);
	if (!err)
		err = write_flags(out, extent->flags);
	if (!err)
		*bytes_ret = extent->end + end_bytes;
	return err;
}

struct err *capture_snapshot(const char *path, const struct capture_snapshot_settings *settings,
			     struct capture_snapshot *snapshot_ret)
{
	CLEAN(close) int in = open(path, O_RDONLY | O_CLOEXEC);
	CLEAN(capture_destroy) struct capture *capture = NULL;
	CLEAN(str_deinit) struct str name = { 0 };
	struct err *err = in < 0 ? err_errno("%s", path) : capture_open(path, &capture);
	struct capture_snapshot snapshot = { 0 };
	struct extent extent;
	int out = -1;

	assert(settings->uuid);
	if (err)
		return err;
	if (capture_header(capture)->kind != TAPE_KIND_PACKED ||
	    memcmp(capture_header(capture)->uuid, settings->uuid, TAPE_UUID_BYTES) != 0)
		return err_new(ERR_STATE, "%s is now the tape of another recording", path);
	extent = extent_find(capture, settings->until_bytes);
	err = snapshot_create(path, &name, &out);
	if (err)
		return err;
	err = write_snapshot(in, out, &extent, settings, &snapshot.tape_bytes);
	if (close(out) < 0 && !err)
		err = err_errno("close");
	if (err) {
		unlink(name.ptr);
		return err_wrap(err, "%s", name.ptr);
	}
	snapshot.event_count = extent.event_count;
	snapshot.path = steal(name.ptr);
	*snapshot_ret = snapshot;
	return NULL;
}
