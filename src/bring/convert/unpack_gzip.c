#include <limits.h>
#include <zlib.h>

#include "convert/unpack.h"

enum { WINDOW_BITS_GZIP = 15 + 16 };

static void *create(void)
{
	z_stream *stream = calloc(1, sizeof(*stream));

	if (stream && inflateInit2(stream, WINDOW_BITS_GZIP) != Z_OK) {
		free(stream);
		return NULL;
	}
	return stream;
}

static void destroy(void *state)
{
	inflateEnd(state);
	free(state);
}

static struct err *run(void *state, const uint8_t *in, size_t in_count, size_t *used_ret, char *out,
		       size_t room, size_t *got_ret, bool *is_end)
{
	z_stream *stream = state;
	const unsigned in_bytes = (unsigned)u64_min(in_count, UINT_MAX);
	const unsigned out_bytes = (unsigned)u64_min(room, UINT_MAX);
	int rc;

	stream->next_in = (uint8_t *)(uintptr_t)in;
	stream->avail_in = in_bytes;
	stream->next_out = (uint8_t *)out;
	stream->avail_out = out_bytes;
	rc = inflate(stream, Z_NO_FLUSH);
	*used_ret = in_bytes - stream->avail_in;
	*got_ret = out_bytes - stream->avail_out;
	*is_end = rc == Z_STREAM_END;
	if (rc == Z_STREAM_END) /* another one may follow */
		rc = inflateReset(stream);
	if (rc == Z_OK || rc == Z_BUF_ERROR)
		return NULL;
	if (rc == Z_MEM_ERROR)
		return err_nomem();
	return err_new(ERR_FORMAT, "the compressed file is damaged: %s",
		       stream->msg ? stream->msg : "not a gzip file");
}

const struct unpack_kind unpack_gzip = {
	.magic = { 0x1f, 0x8b },
	.magic_bytes = 2,
	.create = create,
	.destroy = destroy,
	.run = run,
};
