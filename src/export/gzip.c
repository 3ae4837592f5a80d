#include "export/gzip.h"

#include <limits.h>
#include <zlib.h>

enum { BUFFER_BYTES = 1 << 16, GZIP_WINDOW = 15 + 16 /* with gzip's head */ };

static struct err *deflate_all(z_stream *stream, const uint8_t *bytes, size_t size, FILE *out)
{
	uint8_t buffer[BUFFER_BYTES];
	int rc = Z_OK;

	while (rc != Z_STREAM_END) {
		if (stream->avail_in == 0) {
			stream->next_in = (Bytef *)bytes;
			stream->avail_in = (uInt)u64_min(size, UINT_MAX);
			bytes += stream->avail_in;
			size -= stream->avail_in;
		}
		stream->next_out = buffer;
		stream->avail_out = sizeof(buffer);
		rc = deflate(stream, size == 0 ? Z_FINISH : Z_NO_FLUSH);
		if (rc == Z_STREAM_ERROR)
			return err_new(ERR_STATE, "zlib failed");
		if (fwrite(buffer, 1, sizeof(buffer) - stream->avail_out, out) !=
		    sizeof(buffer) - stream->avail_out)
			return err_errno("write");
	}
	return NULL;
}

struct err *gzip_write(const void *bytes, size_t size, FILE *out)
{
	z_stream stream = { 0 };
	struct err *err;

	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return err_nomem();
	err = deflate_all(&stream, bytes, size, out);
	deflateEnd(&stream);
	return err;
}
