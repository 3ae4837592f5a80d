/*
 * index_base: a small index with something of everything, from a tape made by hand. What only tapes
 * of millions of events bring about - late news about rows, checkpoints - is put in afterwards.
 */
#ifndef MEMTAPE_TESTS_FUZZ_INDEX_BASE_H
#define MEMTAPE_TESTS_FUZZ_INDEX_BASE_H

#include <sys/mman.h>

#include "../unit/tape_writer.h"
#include "model/index.h"
#include "tape/tape_thread.h"

enum { BASE_STEPS = 60, BASE_PLACES = 20, BASE_APPENDED_MAX = 32 << 10 };

static inline void index_base_check(bool holds)
{
	if (!holds)
		abort();
}

static inline void base_process(struct writer *writer)
{
	static const char texts[] = "/opt/shop/bin/till\0/opt/shop\0till\0-v";
	const struct tape_process process = {
		.pid = 42, .parent_pid = 1, .argc = 2, .page_bytes = 4096
	};
	const struct tape_thread threads[] = { { .tid = 42, .handle = 0x7000 },
					       { .tid = 43, .handle = 0x8000 } };
	const struct tape_thread_create creation = { .handle = 0x8000, .node = TAPE_NODE_ROOT };
	const struct tape_stack_use stack_use = { .tid = 42,
						  .flags = TAPE_STACK_USE_FINAL,
						  .top = 0x7f0000000000,
						  .reserved_bytes = 65536,
						  .seen_bytes = 500,
						  .touched_bytes = 61440 };
	uint8_t payload[sizeof(process) + sizeof(texts)];

	memcpy(payload, &process, sizeof(process));
	memcpy(payload + sizeof(process), texts, sizeof(texts));
	writer_extended(writer, 1, TAPE_EXT_PROCESS, 1000, payload, sizeof(payload), NULL);
	writer_extended(writer, 1, TAPE_EXT_THREAD, 1001, &threads[0], sizeof(threads[0]), "till");
	writer_extended(writer, 1, TAPE_EXT_THREAD_CREATE, 1002, &creation, sizeof(creation), NULL);
	writer_extended(writer, 2, TAPE_EXT_THREAD, 1003, &threads[1], sizeof(threads[1]), "bell");
	writer_extended(writer, 1, TAPE_EXT_STACK_USE, 1003, &stack_use, sizeof(stack_use), NULL);
}

static inline void base_modules(struct writer *writer)
{
	struct {
		struct tape_module module;
		uint8_t build_id[20];
	} loaded = { { .id = 1, .build_id_bytes = 20, .begin = 0x400000, .end = 0x500000 },
		     "0123456789abcdefghi" };

	static_assert(sizeof(loaded) >= sizeof(struct tape_module) + 20, "no gap between");
	writer_extended(writer, 1, TAPE_EXT_MODULE, 1004, &loaded, sizeof(struct tape_module) + 20,
			"/opt/shop/bin/till");
	loaded.module = (struct tape_module) {
		.id = 2, .build_id_bytes = 20, .begin = 0x600000, .end = 0x700000
	};
	writer_extended(writer, 1, TAPE_EXT_MODULE, 1005, &loaded, sizeof(struct tape_module) + 20,
			"libshelf.so");
}

static inline void base_notes(struct writer *writer, uint64_t ticks)
{
	static const char space[] = "400000 500000 r-xp - 16 0 0 - /opt/shop/bin/till\n"
				    "900000 910000 rw-p - 32 32 0 2,3 [heap]\n"
				    "a00000 a40000 rw-p n 8 8 0 0,2 \n";
	const struct tape_map map = {
		.address = 0xa00000, .bytes = 0x40000, .prot = 3, .flags = 0x22, .fd = -1
	};
	const struct tape_space head = { .begin_ticks = ticks,
					 .flags = TAPE_SPACE_WHOLE | TAPE_SPACE_LAST };
	const struct tape_setting setting = { .key = -1, .value = 4096, .result = 1 };
	const struct tape_usage usage = { .rss_bytes = 1 << 20, .virtual_bytes = 1 << 24 };
	const struct tape_system system = { .memory_bytes = 1 << 30, .available_bytes = 1 << 24 };
	const struct tape_cgroup cgroup = { .version = 2 };
	const struct tape_node_use use = { .begin_ticks = ticks };
	const struct tape_node_use last = { ticks, 1, TAPE_NODE_USE_LAST };
	const struct tape_huge_lost lost = { 0x900000, 0x910000, 1 << 22, 0, 1 << 22, 1 << 21 };
	const struct tape_mark mark = { .node = TAPE_NODE_NONE };

	writer_extended(writer, 1, TAPE_EXT_MMAP, ticks, &map, sizeof(map), NULL);
	writer_extended(writer, 1, TAPE_EXT_MPROTECT, ticks + 1, &map, sizeof(map), NULL);
	writer_extended(writer, 0, TAPE_EXT_SPACE, ticks + 2, &head, sizeof(head), space);
	writer_extended(writer, 0, TAPE_EXT_USAGE, ticks + 3, &usage, sizeof(usage), NULL);
	writer_extended(writer, 0, TAPE_EXT_CGROUP, ticks + 3, &cgroup, sizeof(cgroup), "/shop");
	writer_extended(writer, 0, TAPE_EXT_SYSTEM, ticks + 3, &system, sizeof(system), NULL);
	writer_extended(writer, 0, TAPE_EXT_NODE_USE, ticks + 3, &use, sizeof(use),
			"0 0 0:4:900,1:40:0\n");
	writer_extended(writer, 0, TAPE_EXT_NODE_USE, ticks + 3, &last, sizeof(last),
			"900000 910000 0:4,1:40\n");
	writer_extended(writer, 0, TAPE_EXT_HUGE_LOST, ticks + 3, &lost, sizeof(lost), NULL);
	writer_extended(writer, 1, TAPE_EXT_MALLOPT, ticks + 4, &setting, sizeof(setting), NULL);
	writer_extended(writer, 1, TAPE_EXT_MARK, ticks + 5, &mark, sizeof(mark), "open");
	writer_extended(writer, 1, TAPE_EXT_MUNMAP, ticks + 6, &map, sizeof(map), NULL);
}

/* Places are given out, then half of them grown, then most given back. */
static inline void base_events(struct writer *writer)
{
	static const uint64_t pcs[] = {
		0x400010, 0x400020, 0x600030, 0x400040, 0x800050, 0x900060
	};
	uint32_t nodes[3][array_size(pcs)];
	uint64_t ticks = 2000;

	for (unsigned stream = 1; stream <= 2; stream++)
		for (uint32_t i = 0; i < array_size(pcs); i++)
			nodes[stream][i] = writer_node(writer, stream,
						       i ? nodes[stream][i / 2] : TAPE_NODE_ROOT,
						       pcs[i], ticks);
	for (uint32_t i = 0; i < BASE_STEPS; i++) {
		const unsigned stream = 1 + i / 3 % 2;
		const uint64_t address = 0x900000 + i % BASE_PLACES * 0x800;
		const uint32_t node = nodes[stream][i % array_size(pcs)];

		ticks += 5000;
		if (i < BASE_PLACES) {
			writer_event(writer, stream, TAPE_FN_MALLOC, ticks, address, i * 70, node);
		} else if (i < 2 * BASE_PLACES && i % 2) {
			writer_event(writer, stream, TAPE_FN_REALLOC_OUT, ticks, address, 0, node);
			writer_event(writer, stream, TAPE_FN_REALLOC_IN, ++ticks, address, i * 40,
				     node);
		} else if (i % 5) {
			writer_event(writer, stream, TAPE_FN_FREE, ticks, address, 0, node);
		}
		if (i == BASE_STEPS / 2)
			base_notes(writer, ticks + 1000);
	}
}

static inline struct model *base_model(uint32_t more_flags)
{
	const struct tape_end end = { .kind = TAPE_END_EXIT, .status = 3 };
	const int fd = memfd_create("tape", MFD_CLOEXEC);
	struct capture *capture = NULL;
	struct model *model = NULL;
	struct writer writer;
	char path[32];

	writer_init(&writer, TAPE_CHUNK_BYTES_MIN);
	writer_header(&writer)->flags |= more_flags;
	base_process(&writer);
	base_modules(&writer);
	base_events(&writer);
	writer_extended(&writer, 0, TAPE_EXT_END, 400000, &end, sizeof(end), NULL);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	writer_save(&writer, path);
	writer_deinit(&writer);
	index_base_check(!capture_open(path, &capture));
	index_base_check(!model_load_capture(capture, MODEL_FULL, &model));
	capture_destroy(capture);
	close(fd);
	return model;
}

/* Puts items at the end of the file; where they are. */
static inline uint64_t base_append(uint8_t *bytes, size_t *size, const void *items, size_t count)
{
	const uint64_t at = (*size + 7) / 8 * 8;

	memcpy(bytes + at, items, count);
	*size = at + count;
	return at;
}

static inline void base_add_patches(uint8_t *bytes, size_t *size)
{
	struct index_header *header = (struct index_header *)(void *)bytes;
	struct segment *segment =
		(struct segment *)(void *)(bytes + header->parts[INDEX_SEGMENTS].offset);
	const struct patch patches[] = {
		{ .time = 300000, .row = 4, .stack = 4, .chain = ROW_NONE, .fn = TAPE_FN_FREE },
		{ .time = 310000, .row = 9, .stack = 5, .thread = 1, .chain = 1, .flags = 1 },
	};
	uint8_t patched[PATCHED_BYTES];

	segment->patch_count = array_size(patches);
	segment->patches_offset = base_append(bytes, size, patches, sizeof(patches));
	segment_bound_patches(segment, patches, patched);
	segment->patched_offset = base_append(bytes, size, patched, sizeof(patched));
}

static inline void base_add_moments(uint8_t *bytes, size_t *size, const struct model *model)
{
	static const uint32_t ties[] = { 3, 5, 11 };
	struct index_header *header = (struct index_header *)(void *)bytes;
	const size_t stacks = model_stack_count(model);
	struct model_stack_moment *moments = calloc(stacks, sizeof(*moments));
	struct checkpoint point = { .row_count = 10, .freed_count = 2, .stack_count = stacks };

	index_base_check(moments != NULL);
	point.offset = base_append(bytes, size, moments, stacks * sizeof(*moments));
	free(moments);
	header->parts[INDEX_CHECKPOINTS] =
		(struct index_part) { base_append(bytes, size, &point, sizeof(point)),
				      sizeof(point) };
	header->parts[INDEX_PEAK_TIES] =
		(struct index_part) { base_append(bytes, size, ties, sizeof(ties)), sizeof(ties) };
}

/*
 * The file and its size; kept until the end. Of a tape with these flags more: with
 * TAPE_FLAG_LATENCY it is ten times as large.
 */
static inline uint8_t *index_base_make(uint32_t more_flags, size_t *size_ret)
{
	struct model *model = base_model(more_flags);
	const size_t size = model->table.file_bytes;
	uint8_t *bytes = calloc(1, size + BASE_APPENDED_MAX);

	index_base_check(bytes != NULL);
	memcpy(bytes, model->table.file, size);
	*size_ret = size;
	base_add_patches(bytes, size_ret);
	base_add_moments(bytes, size_ret, model);
	index_base_check(model_row_count(model) > 10 && model_free_count(model) > 2);
	index_base_check(model_chain_count(model) > 1 && *size_ret <= size + BASE_APPENDED_MAX);
	model_destroy(model);
	return bytes;
}

#endif
