#include "export/gzip.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <zlib.h>

enum { BUFFER_BYTES = 1 << 16, GZIP_WINDOW = 15 + 16 /* with gzip header */ };

struct gzip {
	z_stream stream;
	FILE *out;
	uint8_t buffer[BUFFER_BYTES];
};

static struct gzip *gzip_create(FILE *out)
{
	struct gzip *gzip = calloc(1, sizeof(*gzip));

	if (!gzip || deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
				  Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gzip);
		return NULL;
	}
	gzip->out = out;
	return gzip;
}

static void gzip_destroy(struct gzip *gzip)
{
	if (!gzip)
		return;
	deflateEnd(&gzip->stream);
	free(gzip);
}
CLEAN_DEFINE(gzip_destroy, struct gzip *);

/* Compresses the stream's input, and with Z_FINISH ends it: false with errno. */
static bool deflate_given(struct gzip *gzip, int flush)
{
	z_stream *stream = &gzip->stream;

	do {
		size_t size;

		stream->next_out = gzip->buffer;
		stream->avail_out = sizeof(gzip->buffer);
		deflate(stream, flush);
		size = sizeof(gzip->buffer) - stream->avail_out;
		if (fwrite(gzip->buffer, 1, size, gzip->out) != size)
			return false;
	} while (stream->avail_out == 0);
	return true;
}

static bool deflate_all(struct gzip *gzip, const void *bytes, size_t size)
{
	gzip->stream.next_in = (Bytef *)bytes;
	while (size > 0) {
		const size_t part = u64_min(size, UINT_MAX);

		gzip->stream.avail_in = (uInt)part;
		size -= part;
		if (!deflate_given(gzip, Z_NO_FLUSH))
			return false;
	}
	return true;
}

struct err *gzip_write(const void *bytes, size_t size, FILE *out)
{
	CLEAN(gzip_destroy) struct gzip *gzip = gzip_create(out);

	assert(bytes || size == 0);
	if (!gzip)
		return err_nomem();
	if (!deflate_all(gzip, bytes, size) || !deflate_given(gzip, Z_FINISH))
		return err_errno("write");
	return NULL;
}

static ssize_t cookie_write(void *cookie, const char *bytes, size_t size)
{
	return deflate_all(cookie, bytes, size) ? (ssize_t)size : 0; /* 0 is an error here */
}

static int cookie_close(void *cookie)
{
	const bool is_written = deflate_given(cookie, Z_FINISH);

	gzip_destroy(cookie);
	return is_written ? 0 : EOF;
}

FILE *gzip_open(FILE *out)
{
	const cookie_io_functions_t functions = { .write = cookie_write, .close = cookie_close };
	struct gzip *gzip = gzip_create(out);
	FILE *file = gzip ? fopencookie(gzip, "w", functions) : NULL;

	assert(out);
	if (!file)
		gzip_destroy(gzip);
	return file;
}
