#include "http/sink.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>

#include "base/file.h"

enum { FIRST_BYTES = 16 << 10 };

/* Whether this many more bytes may be written; if not, keeps the reason. */
static bool may_write(struct sink *sink, size_t bytes)
{
	if (sink->err)
		return false;
	if (bytes > sink->bytes_max - sink->size)
		sink->err = err_new(ERR_LIMIT, "the answer has more than %llu MiB",
				    (unsigned long long)(sink->bytes_max >> 20));
	else
		sink->err = sweep_check(sink->limits);
	return !sink->err;
}

static ssize_t memory_write(void *context, const char *buf, size_t bytes)
{
	struct sink *sink = context;
	size_t wanted;
	char *grown;

	if (!may_write(sink, bytes))
		return 0;
	if (bytes > sink->capacity - sink->size) {
		wanted = u64_max(u64_max(2 * sink->capacity, FIRST_BYTES), sink->size + bytes);
		grown = realloc(sink->bytes, wanted);
		if (!grown) {
			sink->err = err_nomem();
			return 0;
		}
		sink->bytes = grown;
		sink->capacity = wanted;
	}
	memcpy(sink->bytes + sink->size, buf, bytes);
	sink->size += bytes;
	return (ssize_t)bytes;
}

static ssize_t file_write(void *context, const char *buf, size_t bytes)
{
	struct sink *sink = context;
	size_t written = 0;

	while (written < bytes && may_write(sink, bytes - written)) {
		const ssize_t now = write(sink->fd, buf + written, bytes - written);

		if (now <= 0 && errno != EINTR)
			sink->err = err_errno("write a temporary file");
		if (now > 0) {
			written += (size_t)now;
			sink->size += (size_t)now;
		}
	}
	return (ssize_t)written;
}

static struct err *open_stream(struct sink *sink, cookie_write_function_t *write_function)
{
	const cookie_io_functions_t functions = { .write = write_function };

	sink->out = fopencookie(sink, "w", functions);
	if (!sink->out)
		return err_nomem();
	return NULL;
}

struct err *sink_open(struct sink *sink, const struct sweep_limits *limits)
{
	assert(limits);
	*sink = (struct sink) { .fd = -1, .limits = limits, .bytes_max = SINK_MEMORY_BYTES };
	return open_stream(sink, memory_write);
}

struct err *sink_open_file(struct sink *sink, const struct sweep_limits *limits, uint64_t bytes_max)
{
	const char *dir = getenv("TMPDIR");
	struct err *err;

	assert(limits && bytes_max > 0);
	dir = dir && *dir ? dir : "/tmp";
	*sink = (struct sink) { .fd = -1, .limits = limits, .bytes_max = bytes_max };
	sink->fd = file_create_unnamed(dir);
	if (sink->fd < 0)
		return err_errno("create a temporary file in %s", dir);
	err = open_stream(sink, file_write);
	if (err)
		close(sink->fd);
	return err;
}

struct err *sink_close(struct sink *sink, struct err *err, struct answer *answer)
{
	assert(sink->fd < 0 || !sink->bytes);
	assert(sink->size <= sink->bytes_max);
	/* Closing flushes the stream. */
	if (sink->out && fclose(sink->out) != 0 && !err && !sink->err)
		sink->err = err_errno("write the answer");
	if (sink->err) {
		err_destroy(err);
		err = sink->err;
	}
	if (err) {
		free(sink->bytes);
		if (sink->fd >= 0)
			close(sink->fd);
		return err;
	}
	if (sink->fd >= 0) {
		answer->fd = sink->fd;
		answer->size = sink->size;
		return NULL;
	}
	answer->blob = blob_create(sink->bytes, sink->size);
	return answer->blob ? NULL : err_nomem();
}
