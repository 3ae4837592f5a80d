#include "http/exchange.h"

struct blob *blob_create(char *bytes_take, size_t size)
{
	struct blob *blob = calloc(1, sizeof(*blob));

	if (!blob) {
		free(bytes_take);
		return NULL;
	}
	*blob = (struct blob) { .bytes = bytes_take, .size = size, .refs = 1 };
	return blob;
}

struct blob *blob_get(struct blob *blob)
{
	__atomic_add_fetch(&blob->refs, 1, __ATOMIC_RELAXED);
	return blob;
}

void blob_put(struct blob *blob)
{
	if (!blob || __atomic_sub_fetch(&blob->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	free(blob->bytes);
	free(blob);
}

void answer_init(struct answer *answer)
{
	*answer = (struct answer) { .fd = -1 };
}

void answer_deinit(struct answer *answer)
{
	blob_put(answer->blob);
	if (answer->stream)
		answer->stream->destroy(answer->stream);
	if (answer->fd >= 0)
		close(answer->fd);
	answer_init(answer);
}
