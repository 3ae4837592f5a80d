#include <lz4frame.h>

#include "convert/unpack.h"

static void *create(void)
{
	LZ4F_dctx *context = NULL;

	return LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)) ? NULL
										     : context;
}

static void destroy(void *state)
{
	LZ4F_freeDecompressionContext(state);
}

static struct err *run(void *state, const uint8_t *in, size_t in_count, size_t *used_ret, char *out,
		       size_t room, size_t *got_ret, bool *is_end)
{
	size_t used = in_count, got = room;
	const size_t rest = LZ4F_decompress(state, out, &got, in, &used, NULL);

	*used_ret = used;
	*got_ret = got;
	*is_end = rest == 0;
	if (LZ4F_isError(rest))
		return err_new(ERR_FORMAT, "the compressed file is damaged: %s",
			       LZ4F_getErrorName(rest));
	return NULL;
}

const struct unpack_kind unpack_lz4 = {
	.magic = { 0x04, 0x22, 0x4d, 0x18 },
	.magic_bytes = 4,
	.create = create,
	.destroy = destroy,
	.run = run,
};
