/*
 * Any bytes as a core dump: an error, or mappings that ascend and can be read, objects in them, and
 * maybe a heap.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "scan/core.h"
#include "scan/objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void look(const struct core *core)
{
	const struct memory memory = core_memory(core);
	uint8_t bytes[5000];

	check(core->pieces.count == core->maps.entries.count);
	for (size_t i = 0; i < core->maps.entries.count; i++) {
		const struct maps_entry *entry = &core->maps.entries.items[i];

		check(entry->begin < entry->end);
		check(i == 0 || entry[-1].end <= entry->begin);
		check(strlen(maps_name(&core->maps, entry)) < core->maps.texts.len);
		check(memory.read(memory.context, entry->begin, bytes, sizeof(bytes)) <=
		      sizeof(bytes));
		memory.read(memory.context, entry->end - 1, bytes, sizeof(bytes));
	}
	core_exe(core);
}

static void walk(const struct core *core)
{
	const struct memory memory = core_memory(core);
	CLEAN(heap_ranges_deinit) struct heap_ranges data = { 0 };
	CLEAN(heap_deinit) struct heap heap = { 0 };
	CLEAN(capture_stacks_deinit) struct capture_stacks stacks;

	check(capture_stacks_init(&stacks));
	check(!objects_find("", &core->maps, &memory, &stacks));
	check(!objects_data(&core->maps, &stacks, &data));
	err_destroy(heap_walk(&(struct heap_request) { memory, &core->maps, &core->stop, &data },
			      &heap));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEAN(core_close) struct core core = { .fd = -1 };
	CLEAN(close) int fd = memfd_create("core", MFD_CLOEXEC);
	struct err *err;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	err = core_open_fd(fd, "core", NULL, &core);
	if (err) {
		check(core.fd == -1 && core.maps.entries.count == 0);
		err_destroy(err);
		return 0;
	}
	look(&core);
	walk(&core);
	return 0;
}
