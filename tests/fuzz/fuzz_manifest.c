/*
 * The manifest of a session: it is read, or an error; names of tapes are names in its folder.
 */
#include <stdlib.h>

#include "session/manifest.h"

static void check(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(manifest_deinit) struct manifest manifest = { 0 };
	CLEAN(free) char *text = malloc(size ? size : 1);
	struct err *err;
	size_t lines = 1;

	check(text != NULL);
	memcpy(text, data, size);
	err = manifest_parse(text, size, &arena, &manifest);
	if (err) {
		check(err_code_of(err) == ERR_FORMAT);
		err_destroy(err);
		return 0;
	}
	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	check(manifest.tapes.count + manifest.damaged_count < lines + 1);
	for (size_t i = 0; i < manifest.command_count; i++)
		check(manifest.command[i] != NULL);
	for (size_t i = 0; i < manifest.tapes.count; i++)
		check(manifest.tapes.items[i][0] && manifest.tapes.items[i][0] != '.' &&
		      !strchr(manifest.tapes.items[i], '/'));
	return 0;
}
