#include <zstd.h>

#include "convert/unpack.h"

static void *create(void)
{
	return ZSTD_createDCtx();
}

static void destroy(void *state)
{
	ZSTD_freeDCtx(state);
}

static struct err *run(void *state, const uint8_t *in, size_t in_count, size_t *used_ret, char *out,
		       size_t room, size_t *got_ret, bool *is_end)
{
	ZSTD_inBuffer input = { in, in_count, 0 };
	ZSTD_outBuffer output = { out, room, 0 };
	const size_t rest = ZSTD_decompressStream(state, &output, &input);

	*used_ret = input.pos;
	*got_ret = output.pos;
	*is_end = rest == 0;
	if (ZSTD_isError(rest))
		return err_new(ERR_FORMAT, "the compressed file is damaged: %s",
			       ZSTD_getErrorName(rest));
	return NULL;
}

const struct unpack_kind unpack_zstd = {
	.magic = { 0x28, 0xb5, 0x2f, 0xfd },
	.magic_bytes = 4,
	.create = create,
	.destroy = destroy,
	.run = run,
};
