#include "convert/source.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "convert/compose.h"
#include "convert/unpack.h"

enum { READ_BYTES = 256 << 10 };

struct source {
	char *name;
	int fd; /* -1: bytes in memory, all in buf */
	uint64_t file_bytes;
	uint64_t file_offset;
	struct unpack *unpack; /* NULL: the file is not compressed */
	uint8_t *packed;       /* READ_BYTES, for unpack */
	size_t packed_at, packed_count;
	char *buf; /* capacity + 1 bytes */
	size_t capacity;
	size_t at, count; /* unread bytes: buf[at .. count - 1] */
	uint64_t offset;  /* of buf[at] in the decompressed file */
	bool is_at_end;
	bool line_is_torn;
	uint64_t line_number;
	struct err *err;
	void (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes);
	void *progress_context;
};

static struct err *fill_plain(struct source *source, char *out, size_t room, size_t *got_ret)
{
	ssize_t got;

	do
		got = read(source->fd, out, room);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_errno("read");
	source->file_offset += (uint64_t)got;
	if (source->progress)
		source->progress(source->progress_context, source->file_offset, source->file_bytes);
	*got_ret = (size_t)got;
	return NULL;
}

/* Truncated compressed data: the file is torn. */
static struct err *fill_packed(struct source *source, char *out, size_t room, size_t *got_ret)
{
	*got_ret = 0;
	while (*got_ret == 0) {
		size_t used = 0;
		struct err *err = NULL;

		if (source->packed_at == source->packed_count) {
			source->packed_at = 0;
			err = fill_plain(source, (char *)source->packed, READ_BYTES,
					 &source->packed_count);
		}
		if (err)
			return err;
		if (source->packed_count == 0)
			return unpack_is_between(source->unpack)
				       ? NULL
				       : err_new(ERR_FORMAT, "the compressed file is truncated");
		err = unpack_run(source->unpack, source->packed + source->packed_at,
				 source->packed_count - source->packed_at, &used, out, room,
				 got_ret);
		source->packed_at += used;
		if (err)
			return err;
	}
	return NULL;
}

static void fill(struct source *source)
{
	size_t got = 0;
	struct err *err;

	if (source->is_at_end)
		return;
	err = source->unpack ? fill_packed(source, source->buf + source->count,
					   source->capacity - source->count, &got)
			     : fill_plain(source, source->buf + source->count,
					  source->capacity - source->count, &got);
	source->count += got;
	if (err || got == 0) {
		source->is_at_end = true;
		source->err = err;
	}
}

/* Makes room at the end: moves the data to the front, or grows the buffer. False: out of memory. */
static bool make_room(struct source *source, size_t wanted)
{
	size_t capacity = u64_max(source->capacity, READ_BYTES);
	char *buf;

	if (source->at > 0) {
		memmove(source->buf, source->buf + source->at, source->count - source->at);
		source->count -= source->at;
		source->at = 0;
	}
	while (capacity < wanted)
		capacity *= 2;
	if (capacity == source->capacity)
		return true;
	buf = realloc(source->buf, capacity + 1);
	if (!buf) {
		err_destroy(source->err);
		source->err = err_nomem();
		source->is_at_end = true;
		return false;
	}
	source->buf = buf;
	source->capacity = capacity;
	return true;
}

void source_peek(struct source *source, size_t wanted, const char **bytes_ret, size_t *count_ret)
{
	assert(wanted <= SOURCE_PEEK_MAX);
	assert(source->at <= source->count && source->count <= source->capacity);
	wanted = u64_min(wanted, SOURCE_PEEK_MAX);
	while (source->count - source->at < wanted && !source->is_at_end) {
		if (source->at + wanted > source->capacity && !make_room(source, wanted))
			break;
		fill(source);
	}
	*bytes_ret = source->buf ? source->buf + source->at : "";
	*count_ret = source->count - source->at;
}

void source_skip(struct source *source, size_t count)
{
	assert(count <= source->count - source->at);
	source->at += count;
	source->offset += count;
}

bool source_take(struct source *source, void *out, size_t count)
{
	uint8_t *to = out;
	const char *bytes;
	size_t got;

	assert(out || count == 0);
	if (count <= SOURCE_PEEK_MAX) {
		source_peek(source, count, &bytes, &got);
		if (got < count)
			return false;
		memcpy(out, bytes, count);
		source_skip(source, count);
		return true;
	}
	while (count > 0) {
		source_peek(source, u64_min(count, SOURCE_PEEK_MAX), &bytes, &got);
		got = u64_min(got, count);
		if (got == 0)
			return false;
		memcpy(to, bytes, got);
		source_skip(source, got);
		to += got;
		count -= got;
	}
	return true;
}

/* Length of the line that begins here, up to its end or that of the file. */
static size_t line_bytes(struct source *source, bool *found_ret)
{
	size_t seen = 0;

	for (;;) {
		const char *begin = source->buf ? source->buf + source->at : "";
		const size_t count = source->count - source->at;
		const char *end = memchr(begin + seen, '\n', count - seen);

		*found_ret = end != NULL;
		if (end || source->is_at_end || count >= SOURCE_LINE_MAX)
			return end ? (size_t)(end - begin) : count;
		seen = count;
		if (source->count == source->capacity &&
		    !make_room(source, u64_max(READ_BYTES, count * 2)))
			return count;
		fill(source);
	}
}

bool source_line(struct source *source, char **line_ret, size_t *len_ret)
{
	bool found;
	size_t len;

	assert(source->at <= source->count);
	if (!source->buf && !make_room(source, READ_BYTES))
		return false;
	len = line_bytes(source, &found);
	if (len == 0 && !found)
		return false;
	source->line_number++;
	source->line_is_torn = !found;
	if (!found && !source->is_at_end) {
		source->err =
			err_new(ERR_LIMIT, "line %llu is longer than %d MiB",
				(unsigned long long)source->line_number, SOURCE_LINE_MAX >> 20);
		source->is_at_end = true;
		source_skip(source, len);
		return false;
	}
	*line_ret = source->buf + source->at;
	source_skip(source, len + found);
	if (found && len > 0 && (*line_ret)[len - 1] == '\r')
		len--;
	(*line_ret)[len] = '\0'; /* replaces its newline, or the byte after all data */
	*len_ret = len;
	return true;
}

bool source_line_is_torn(const struct source *source)
{
	return source->line_is_torn;
}

uint64_t source_line_number(const struct source *source)
{
	return source->line_number;
}

uint64_t source_offset(const struct source *source)
{
	return source->offset;
}

uint64_t source_file_offset(const struct source *source)
{
	return source->file_offset;
}

uint64_t source_file_bytes(const struct source *source)
{
	return source->file_bytes;
}

void source_progress(struct source *source,
		     void (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes),
		     void *context)
{
	source->progress = progress;
	source->progress_context = context;
}

const char *source_name(const struct source *source)
{
	return source->name;
}

bool source_failed(const struct source *source)
{
	return source->err != NULL;
}

/* --- positions -------------------------------------------------------------------------------- */

static void place_add(const struct source *source, struct str *out)
{
	if (source->line_number > 0)
		str_printf(out, "line %llu", (unsigned long long)source->line_number);
	else
		str_printf(out, "byte %llu%s", (unsigned long long)source->offset,
			   source->unpack ? " of what is compressed" : "");
}

static void args_add(struct str *out, const char *fmt, va_list args)
{
	char text[512];

	vsnprintf(text, sizeof(text), fmt, args);
	str_add_terminal(out, text);
}

struct err *source_error(const struct source *source, const char *fmt, ...)
{
	CLEAN(str_deinit) struct str text = { 0 };
	va_list args;

	place_add(source, &text);
	str_add(&text, ": ");
	va_start(args, fmt);
	args_add(&text, fmt, args);
	va_end(args);
	return err_new(ERR_FORMAT, "%s", str_text(&text));
}

void source_torn(const struct source *source, struct composer *composer, const char *fmt, ...)
{
	CLEAN(str_deinit) struct str text = { 0 };
	va_list args;

	str_add(&text, "read up to ");
	place_add(source, &text);
	str_add(&text, " only: ");
	va_start(args, fmt);
	args_add(&text, fmt, args);
	va_end(args);
	composer_note(composer, "%s", str_text(&text));
	composer_torn(composer);
}

void source_tell(const struct source *source, struct composer *composer)
{
	if (source->err)
		source_torn(source, composer, "%s", err_message(source->err));
}

/* --- a file ----------------------------------------------------------------------------------- */

static struct err *open_file(struct source *source, const char *path)
{
	struct stat status;
	const char *slash = strrchr(path, '/');

	source->name = strdup(slash ? slash + 1 : path);
	source->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (source->fd < 0 || fstat(source->fd, &status) != 0)
		return err_errno("open %s", path);
	if (S_ISDIR(status.st_mode))
		return err_new(ERR_STATE, "%s is a directory", path);
	source->file_bytes = S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
	return source->name ? NULL : err_nomem();
}

/* The bytes read so far are compressed: moves them to the compressed buffer. */
static struct err *begin_unpack(struct source *source)
{
	const uint8_t *bytes = (const uint8_t *)source->buf;
	struct err *err = unpack_create(bytes, source->count, &source->unpack);

	if (err || !source->unpack)
		return err;
	source->packed = malloc(READ_BYTES);
	if (!source->packed)
		return err_nomem();
	memcpy(source->packed, bytes, source->count);
	source->packed_count = source->count;
	source->count = 0;
	source->is_at_end = false;
	return NULL;
}

struct err *source_open(const char *path, struct source **source_ret)
{
	CLEAN(source_close) struct source *source = calloc(1, sizeof(*source));
	struct err *err;

	if (!source)
		return err_nomem();
	source->fd = -1;
	err = open_file(source, path);
	if (err)
		return err;
	if (!make_room(source, READ_BYTES))
		return err_nomem();
	fill(source);
	if (source->err)
		return err_wrap(steal(source->err), "%s", path);
	err = begin_unpack(source);
	if (err)
		return err_wrap(err, "%s", path);
	*source_ret = steal(source);
	return NULL;
}

struct source *source_of_bytes(const void *bytes, size_t count)
{
	CLEAN(source_close) struct source *source = calloc(1, sizeof(*source));

	assert(bytes || count == 0);
	if (!source)
		return NULL;
	source->fd = -1;
	source->name = strdup("bytes");
	source->buf = malloc(count + 1);
	if (!source->name || !source->buf)
		return NULL;
	if (count > 0)
		memcpy(source->buf, bytes, count);
	source->capacity = source->count = count;
	source->file_bytes = count;
	source->is_at_end = true;
	return steal(source);
}

void source_close(struct source *source)
{
	if (!source)
		return;
	if (source->fd >= 0)
		close(source->fd);
	unpack_destroy(source->unpack);
	err_destroy(source->err);
	free(source->packed);
	free(source->buf);
	free(source->name);
	free(source);
}
