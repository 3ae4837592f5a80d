/*
 * The datagrams that a gatherer takes from anybody, as announcements of senders.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gather/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes =
		malloc(size ? size : 1); /* of its own size: what is read beyond it is found */
	struct wire_announcement words;
	struct err *err;

	must(bytes != NULL);
	memset(&words, 0, sizeof(words));
	memcpy(bytes, data, size);
	err = wire_announcement_parse(bytes, size, &words);
	if (!err) {
		must(size == sizeof(words) && words.port > 0);
		must(memcmp(&words, bytes, size) == 0);
		must(memcmp(words.magic, WIRE_ANNOUNCE_MAGIC, sizeof(words.magic)) == 0);
	}
	err_destroy(err);
	free(bytes);
	return 0;
}
