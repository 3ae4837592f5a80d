/*
 * Data files of memusage: any bytes are records or an error, and what the head promises holds for
 * the records.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "memusage/memusage.h"

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void visit(void *context, const struct memusage_record *records, size_t count)
{
	uint64_t *total = context;

	check(records != NULL);
	check(count > 0 && count <= MEMUSAGE_BATCH);
	*total += count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEAN(memusage_close) struct memusage *memusage = NULL;
	const int fd = memfd_create("fuzz", MFD_CLOEXEC);
	uint64_t total = 0;
	struct err *err;

	check(fd >= 0);
	check(write(fd, data, size) == (ssize_t)size);
	err = memusage_open_fd(fd, "fuzz", &memusage);
	if (err) {
		check(err_code_of(err) == ERR_FORMAT);
		err_destroy(err);
		return 0;
	}
	check(memusage_head(memusage)->end_ticks >= memusage_head(memusage)->begin_ticks);
	check(!memusage_each(memusage, visit, &total));
	check(total == memusage_head(memusage)->record_count);
	check(total <= size / MEMUSAGE_RECORD_BYTES);
	return 0;
}
