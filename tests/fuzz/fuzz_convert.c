/*
 * Other tools' files, one program a reader (IMPORTER is its name): any bytes are an error, or a
 * tape that is sound - its chunks decode, its names can be read, and its events are as many as were
 * told.
 */
#include <stdio.h>
#include <stdlib.h>

#include "capture/capture.h"
#include "capture/embedded.h"
#include "convert/importer.h"
#include "symbol/embedded.h"

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void visit(void *context, const struct capture_chunk *chunk, uint64_t event_count,
		  const char *error)
{
	uint64_t *total = context;

	(void)chunk;
	check(error == NULL);
	*total += event_count;
}

static void tape_check(const char *path, const struct compose_result *result)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	CLEAN(embedded_deinit) struct embedded embedded = { 0 };
	CLEAN(free) uint8_t *names = NULL;
	uint64_t total = 0;
	size_t size = 0;

	check(!capture_open(path, &capture));
	check(capture_damage_count(capture) == 0);
	check(!capture_verify(capture, visit, &total));
	check(total == result->event_count);
	check(!capture_embedded_read(path, &names, &size));
	if (names)
		check(!embedded_view(names, size, &embedded));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEAN(source_close) struct source *source = source_of_bytes(data, size);
	CLEAN(composer_destroy) struct composer *composer = NULL;
	const struct importer *importer = importer_find(IMPORTER);
	struct compose_result result;
	char path[64];
	struct err *err;

	snprintf(path, sizeof(path), "/dev/shm/fuzz_convert_%s.%d", IMPORTER, (int)getpid());
	check(source && importer);
	check(!composer_create(path, true, &composer));
	composer_source(composer, importer->name, "fuzz");
	err = importer->read(source, composer);
	if (err) {
		check(err_code_of(err) == ERR_FORMAT || err_code_of(err) == ERR_LIMIT ||
		      err_code_of(err) == ERR_UNSUPPORTED);
		err_destroy(err);
		return 0;
	}
	source_tell(source, composer);
	err = composer_finish(composer, &result);
	if (err)
		check(err_code_of(err) == ERR_LIMIT || err_code_of(err) == ERR_FORMAT);
	else
		tape_check(path, &result);
	err_destroy(err);
	unlink(path);
	return 0;
}
