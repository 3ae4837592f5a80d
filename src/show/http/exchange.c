#include "http/exchange.h"

#include <assert.h>
#include <strings.h>

struct header *request_header(struct request *request, const char *name)
{
	assert(name);
	if (strcasecmp(name, "Host") == 0)
		return &request->host;
	if (strcasecmp(name, "Origin") == 0)
		return &request->origin;
	if (strcasecmp(name, "Sec-Fetch-Site") == 0)
		return &request->fetch_site;
	if (strcasecmp(name, "Sec-Fetch-Mode") == 0)
		return &request->fetch_mode;
	if (strcasecmp(name, "Authorization") == 0)
		return &request->authorization;
	if (strcasecmp(name, "Content-Type") == 0)
		return &request->content_type;
	if (strcasecmp(name, "If-None-Match") == 0)
		return &request->if_none_match;
	if (strcasecmp(name, "Accept-Encoding") == 0)
		return &request->accept_encoding;
	if (strcasecmp(name, "Last-Event-ID") == 0)
		return &request->last_event_id;
	return NULL;
}

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
	const unsigned refs = __atomic_add_fetch(&blob->refs, 1, __ATOMIC_RELAXED);

	assert(refs > 1);
	(void)refs;
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
	assert(!answer->blob || !answer->stream);
	blob_put(answer->blob);
	if (answer->stream)
		answer->stream->destroy(answer->stream);
	if (answer->fd >= 0)
		close(answer->fd);
	answer_init(answer);
}
