#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_f_zstd1_magicless */
#include "capture/zst.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>
#include <zstd.h>

/* --- pieces: the library's contexts under our names ----------------------------------------- */

static ZSTD_CCtx *packer_context(struct zst_packer *packer)
{
	return (ZSTD_CCtx *)packer;
}

static ZSTD_DCtx *unpacker_context(struct zst_unpacker *unpacker)
{
	return (ZSTD_DCtx *)unpacker;
}

struct zst_packer *zst_packer_create(int level)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();

	if (!context)
		return NULL;
	ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(context, ZSTD_c_format, ZSTD_f_zstd1_magicless);
	ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
	ZSTD_CCtx_setParameter(context, ZSTD_c_literalCompressionMode, ZSTD_ps_enable);
	return (struct zst_packer *)context;
}

void zst_packer_destroy(struct zst_packer *packer)
{
	ZSTD_freeCCtx(packer_context(packer));
}

struct zst_unpacker *zst_unpacker_create(void)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();

	if (context)
		ZSTD_DCtx_setParameter(context, ZSTD_d_format, ZSTD_f_zstd1_magicless);
	return (struct zst_unpacker *)context;
}

void zst_unpacker_destroy(struct zst_unpacker *unpacker)
{
	ZSTD_freeDCtx(unpacker_context(unpacker));
}

size_t zst_bound(size_t bytes)
{
	return ZSTD_compressBound(bytes);
}

size_t zst_pack(struct zst_packer *packer, void *out, size_t room, const void *from, size_t bytes)
{
	const size_t done = ZSTD_compress2(packer_context(packer), out, room, from, bytes);

	assert(out && from);
	return ZSTD_isError(done) ? SIZE_MAX : done;
}

size_t zst_unpack(struct zst_unpacker *unpacker, void *out, size_t room, const void *from,
		  size_t bytes)
{
	const size_t done = ZSTD_decompressDCtx(unpacker_context(unpacker), out, room, from, bytes);

	assert(out || room == 0);
	return ZSTD_isError(done) ? SIZE_MAX : done;
}

/* --- files ------------------------------------------------------------------------------------ */

enum { FILE_LEVEL = 3, FILE_BUFFER_BYTES = 1 << 16 };

struct stream {
	ZSTD_CCtx *context;
	FILE *out;
	uint8_t buffer[FILE_BUFFER_BYTES];
};

static void stream_destroy(struct stream *stream)
{
	if (!stream)
		return;
	ZSTD_freeCCtx(stream->context);
	free(stream);
}

static struct stream *stream_create(FILE *out)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->out = out;
	stream->context = ZSTD_createCCtx();
	if (!stream->context) {
		stream_destroy(stream);
		return NULL;
	}
	ZSTD_CCtx_setParameter(stream->context, ZSTD_c_compressionLevel, FILE_LEVEL);
	ZSTD_CCtx_setParameter(stream->context, ZSTD_c_checksumFlag, 1);
	return stream;
}

/* Accepts all of the bytes, and with ZSTD_e_end flushes everything: false with errno. */
static bool stream_feed(struct stream *stream, const void *bytes, size_t size,
			ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = { bytes, size, 0 };
	size_t left;

	do {
		ZSTD_outBuffer out = { stream->buffer, sizeof(stream->buffer), 0 };

		left = ZSTD_compressStream2(stream->context, &out, &in, end);
		if (ZSTD_isError(left)) {
			errno = ENOMEM; /* any other failure is impossible */
			return false;
		}
		if (fwrite(stream->buffer, 1, out.pos, stream->out) != out.pos)
			return false;
	} while (in.pos < in.size || (end == ZSTD_e_end && left > 0));
	return true;
}

static ssize_t cookie_write(void *cookie, const char *bytes, size_t size)
{
	return stream_feed(cookie, bytes, size, ZSTD_e_continue) ? (ssize_t)size : 0; /* an error */
}

static int cookie_close(void *cookie)
{
	const bool is_written = stream_feed(cookie, NULL, 0, ZSTD_e_end);

	stream_destroy(cookie);
	return is_written ? 0 : EOF;
}

FILE *zst_open(FILE *out)
{
	const cookie_io_functions_t functions = { .write = cookie_write, .close = cookie_close };
	struct stream *stream = stream_create(out);
	FILE *file = stream ? fopencookie(stream, "w", functions) : NULL;

	assert(out);
	if (!file)
		stream_destroy(stream);
	return file;
}
