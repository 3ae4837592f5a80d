/*
 * memray's capture files: allocations of a Python program, with the Python stack of each event, or
 * (--aggregate) the sums of each stack at the peak and at the end. Records are a byte with type and
 * flags, followed by numbers; most are differences to the last one of their kind.
 *
 * C frames below those of Python (--native) are left out.
 */
#include <assert.h>
#include <inttypes.h>

#include "convert/memray.h"

#include <inttypes.h>

#include "convert/memray_lines.h"

enum {
	VERSION_FIRST = 12,
	VERSION_PATHS = 13, /* from this version on, Python's module paths follow the header */
	TABLE_MAX = 1 << 20,
	NS_PER_MS = 1000000
};

enum record {
	RECORD_FILLER = 0,
	RECORD_TRAILER = 1,
	RECORD_MEMORY = 2,
	RECORD_NATIVE = 5,
	RECORD_MAPS = 6,
	RECORD_SEGMENTS = 7,
	RECORD_SEGMENT = 8,
	RECORD_THREAD = 10,
	RECORD_SWITCH = 12,
	RECORD_CODE = 14,
	RECORD_POP = 16,
	RECORD_OBJECT = 32,
	RECORD_PUSH = 64,
	RECORD_ALLOCATION = 128
};

enum allocator {
	FREE_PY = 1,
	MALLOC_PY,
	CALLOC_PY,
	REALLOC_PY,
	FREE,
	MALLOC,
	REALLOC,
	CALLOC,
	POSIX_MEMALIGN,
	ALIGNED_ALLOC,
	MEMALIGN,
	VALLOC,
	PVALLOC,
	MMAP,
	MUNMAP,
	ALLOCATORS
};

static void memray_deinit(struct memray *memray)
{
	interner_deinit(&memray->texts);
	vec_u8_deinit(&memray->tables);
	memray_code_vec_deinit(&memray->codes);
	map_deinit(&memray->code_at);
	map_deinit(&memray->frame_of);
	for (size_t i = 0; i < memray->threads.count; i++)
		vec_u32_deinit(&memray->threads.items[i].stacks);
	memray_thread_vec_deinit(&memray->threads);
	map_deinit(&memray->thread_at);
	map_deinit(&memray->maps);
	map_deinit(&memray->frame_at);
	memray_node_vec_deinit(&memray->nodes);
	str_deinit(&memray->text);
}

CLEAN_DEFINE_DEINIT(memray_deinit, struct memray);

static uint32_t text_keep(struct memray *memray, const char *text)
{
	const uint32_t id = interner_put(&memray->texts, text, strlen(text));

	if (id == UINT32_MAX)
		memray_fail(memray, "out of memory");
	return id;
}

/* --- the header ------------------------------------------------------------------------------- */

static void paths_pass(struct memray *memray)
{
	const char *bytes;
	size_t count;

	do {
		while (memray_text_read(memray)[0])
			;
		source_peek(memray->source, 1, &bytes, &count);
		/* an empty path is the current directory: the list continues */
	} while (!memray->why && !memray->has_objects && count > 0 && *bytes == '/');
}

static struct err *header_read(struct memray *memray)
{
	char magic[7], tool[STR_SHORT_BYTES];
	uint32_t version;

	memray_bytes_read(memray, magic, sizeof(magic));
	if (memray->why || memcmp(magic, "memray", sizeof(magic)) != 0)
		return source_error(memray->source, "a header of memray was expected");
	version = memray_u32_read(memray);
	if (version < VERSION_FIRST || version > VERSION_PATHS)
		return source_error(memray->source,
				    "version %u of memray's files is not known, only %d and %d: "
				    "record it with memray 1.19 or later",
				    version, VERSION_FIRST, VERSION_PATHS);
	memray->python_version = memray_u32_read(memray);
	memray->has_native = memray_u8_read(memray);
	memray->is_sums = memray_u8_read(memray);
	memray_u64_read(memray); /* number of allocations and frames */
	memray_u64_read(memray);
	memray_u64_read(memray); /* start and end time */
	memray_u64_read(memray);
	composer_command_line(memray->composer, memray_text_read(memray));
	memray_u32_read(memray); /* pid */
	memray->main_tid = memray_u64_read(memray);
	memray->skipped_frames = memray_u64_read(memray);
	memray_u8_read(memray);
	memray_u8_read(memray);
	memray->has_objects = memray_u8_read(memray);
	if (version >= VERSION_PATHS)
		paths_pass(memray);
	if (memray->why)
		return source_error(memray->source, "%s", memray->why);
	composer_tool(memray->composer,
		      str_format(tool, sizeof(tool), "memray, file version %u", version));
	return NULL;
}

/* --- frames ----------------------------------------------------------------------------------- */

static void code_take(struct memray *memray)
{
	const uint64_t number = memray_varint_read(memray);
	struct memray_code code = { .function = text_keep(memray, memray_text_read(memray)) };

	code.file = text_keep(memray, memray_text_read(memray));
	memray->line += memray_delta_read(memray);
	code.line = (int64_t)memray->line;
	code.table = memray->tables.count;
	code.table_bytes = memray_varint_read(memray);
	if (code.table_bytes > TABLE_MAX)
		memray_fail(memray, "a table of lines is longer than any is");
	if (memray->why)
		return;
	if (!vec_u8_reserve(&memray->tables, memray->tables.count + code.table_bytes + 1)) {
		memray_fail(memray, "out of memory");
		return;
	}
	memray_bytes_read(memray, memray->tables.items + memray->tables.count, code.table_bytes);
	memray->tables.count += code.table_bytes;
	memray_put(memray, &memray->code_at, number, memray->codes.count);
	if (!memray_code_vec_push(&memray->codes, code))
		memray_fail(memray, "out of memory");
}

static uint32_t frame_make(struct memray *memray, uint64_t code_number, int64_t offset)
{
	const uint64_t *place = map_find(&memray->code_at, code_number);
	struct compose_name name = { .function = "???" };

	if (place) {
		const struct memray_code *code = &memray->codes.items[*place];

		name.function = memray->texts.texts[code->function];
		name.file = memray->texts.texts[code->file];
		name.line = memray_line(memray->python_version, memray->tables.items + code->table,
					code->table_bytes, code->line, offset);
	}
	return composer_frame(memray->composer,
			      &(struct compose_frame) { .names = &name, .name_count = 1 });
}

uint32_t memray_frame_of(struct memray *memray, uint64_t code_number, int64_t offset)
{
	const uint64_t key = code_number << 32 | (uint32_t)offset;
	const uint64_t *known = map_find(&memray->frame_of, key);
	uint32_t frame;

	if (known)
		return (uint32_t)*known;
	frame = frame_make(memray, code_number, offset);
	memray_put(memray, &memray->frame_of, key, frame);
	return frame;
}

/* --- threads ---------------------------------------------------------------------------------- */

void memray_thread_switch(struct memray *memray, uint64_t tid)
{
	const struct memray_thread fresh = { .tid = tid, .name = UINT32_MAX };
	bool is_new;
	uint64_t *place = map_put(&memray->thread_at, tid, &is_new);

	if (place && is_new)
		*place = memray->threads.count;
	if (!place || (is_new && !memray_thread_vec_push(&memray->threads, fresh))) {
		memray_fail(memray, "out of memory");
		return;
	}
	memray->thread = *place;
}

/* memray uses pthread_t values as ids: renumbered here. */
void memray_thread_tell(struct memray *memray)
{
	const uint32_t name = memray->threads.items[memray->thread].name;

	assert(memray->thread < memray->threads.count);
	composer_thread(memray->composer, (uint32_t)memray->thread + 1,
			name == UINT32_MAX ? NULL : memray->texts.texts[name]);
}

static struct memray_thread *thread_get(struct memray *memray)
{
	if (memray->threads.count == 0)
		memray_thread_switch(memray, memray->main_tid);
	return memray->threads.count ? &memray->threads.items[memray->thread] : NULL;
}

static uint32_t stack_now(struct memray *memray)
{
	const struct memray_thread *thread = thread_get(memray);

	if (!thread || thread->stacks.count == 0)
		return COMPOSE_NO_STACK;
	return thread->stacks.items[thread->stacks.count - 1];
}

static void push_take(struct memray *memray)
{
	const uint64_t code = memray_varint_read(memray);
	const uint64_t offset = memray_delta_read(memray);
	struct memray_thread *thread = thread_get(memray);
	uint32_t stack;

	if (memray->why || !thread)
		return;
	if (thread->stacks.count >= COMPOSE_DEPTH_MAX) {
		memray_fail(memray, "a stack is deeper than any is");
		return;
	}
	stack = thread->stacks.count ? thread->stacks.items[thread->stacks.count - 1]
				     : COMPOSE_ROOT;
	if (thread->tid != memray->main_tid || thread->stacks.count >= memray->skipped_frames)
		stack = composer_stack(memray->composer, stack,
				       memray_frame_of(memray, code, (int64_t)offset));
	if (!vec_u32_push(&thread->stacks, stack))
		memray_fail(memray, "out of memory");
}

/* --- events ----------------------------------------------------------------------------------- */

static uint64_t pointer_read(struct memray *memray, unsigned cached)
{
	if (cached < MEMRAY_CACHE_COUNT)
		return memray->cache[cached];
	memray->pointer += memray_delta_read(memray);
	memmove(memray->cache + 1, memray->cache, sizeof(memray->cache) - sizeof(*memray->cache));
	memray->cache[0] = memray->pointer << 3;
	return memray->cache[0];
}

static enum tape_fn fn_of(unsigned allocator)
{
	static const enum tape_fn fns[ALLOCATORS] = {
		[CALLOC_PY] = TAPE_FN_CALLOC,
		[REALLOC_PY] = TAPE_FN_REALLOC,
		[REALLOC] = TAPE_FN_REALLOC,
		[CALLOC] = TAPE_FN_CALLOC,
		[POSIX_MEMALIGN] = TAPE_FN_POSIX_MEMALIGN,
		[ALIGNED_ALLOC] = TAPE_FN_ALIGNED_ALLOC,
		[MEMALIGN] = TAPE_FN_MEMALIGN,
		[VALLOC] = TAPE_FN_VALLOC,
		[PVALLOC] = TAPE_FN_PVALLOC,
	};

	return fns[allocator];
}

/* As in memray: a mapping is a block, freed when it is unmapped as a whole. */
static void unmap_take(struct memray *memray, uint64_t address, uint64_t size)
{
	const uint64_t *bytes = map_find(&memray->maps, address);

	if (!bytes || *bytes != size) {
		memray->odd_unmaps++;
		return;
	}
	map_remove(&memray->maps, address, NULL);
	composer_freed(memray->composer, TAPE_FN_FREE, address, stack_now(memray));
}

static void allocation_take(struct memray *memray, uint8_t flags)
{
	struct compose_block block = { 0 };
	unsigned allocator = flags & 7;
	bool is_free;

	block.address = pointer_read(memray, flags >> 3 & 15);
	if (allocator == 0)
		allocator = memray_u8_read(memray);
	if (allocator == 0 || allocator >= ALLOCATORS || block.address >> 56) {
		memray_fail(memray, "unknown allocator: what follows cannot be parsed");
		return;
	}
	is_free = allocator == FREE || allocator == FREE_PY;
	if (memray->has_native && !is_free)
		memray->native_count += memray_delta_read(memray) != 0;
	block.size = block.usable = is_free ? 0 : memray_varint_read(memray);
	if (memray->why || !thread_get(memray))
		return;
	memray_thread_tell(memray);
	block.stack = stack_now(memray);
	block.fn = fn_of(allocator);
	if (is_free) {
		composer_freed(memray->composer, TAPE_FN_FREE, block.address, COMPOSE_NO_STACK);
	} else if (allocator == MUNMAP) {
		unmap_take(memray, block.address, block.size);
	} else {
		composer_allocated(memray->composer, &block);
		if (allocator == MMAP)
			memray_put(memray, &memray->maps, block.address, block.size);
	}
}

static void usage_take(struct memray *memray, uint64_t rss_bytes, uint64_t ms)
{
	struct tape_usage usage;

	memset(&usage, 0xff, sizeof(usage));
	usage.rss_bytes = rss_bytes;
	composer_time(memray->composer, u64_min(ms, UINT64_MAX / 4 / NS_PER_MS) * NS_PER_MS);
	composer_usage(memray->composer, &usage);
}

/* --- records ---------------------------------------------------------------------------------- */

static void segments_pass(struct memray *memray)
{
	uint64_t left;

	memray_text_read(memray);
	left = memray_varint_read(memray);
	memray_u64_read(memray);
	for (; left > 0 && !memray->why; left--) {
		if (memray_u8_read(memray) != RECORD_SEGMENT)
			memray_fail(memray, "a segment was expected");
		memray_u64_read(memray);
		memray_varint_read(memray);
	}
}

bool memray_common_take(struct memray *memray, uint8_t record)
{
	struct memray_thread *thread;

	switch (record) {
	case RECORD_NATIVE:
		memray_varint_read(memray);
		memray_varint_read(memray);
		return true;
	case RECORD_MAPS:
		return true;
	case RECORD_SEGMENTS:
		segments_pass(memray);
		return true;
	case RECORD_THREAD:
		thread = thread_get(memray);
		if (thread)
			thread->name = text_keep(memray, memray_text_read(memray));
		return true;
	case RECORD_SWITCH:
		memray_thread_switch(memray, memray_u64_read(memray));
		return true;
	case RECORD_CODE:
		code_take(memray);
		return true;
	default:
		return false;
	}
}

static void record_take(struct memray *memray, uint8_t record)
{
	uint64_t rss;
	struct memray_thread *thread;

	if (record & RECORD_ALLOCATION) {
		allocation_take(memray, record & (RECORD_ALLOCATION - 1));
	} else if (record & RECORD_PUSH) {
		push_take(memray);
	} else if (record & RECORD_OBJECT) {
		pointer_read(memray, record >> 1 & 15);
		if (memray->has_native && (record & 1))
			memray_varint_read(memray);
	} else if (record & RECORD_POP) {
		thread = thread_get(memray);
		if (thread)
			thread->stacks.count -=
				u64_min(thread->stacks.count, (record & (RECORD_POP - 1)) + 1);
	} else if (record == RECORD_MEMORY) {
		rss = memray_varint_read(memray);
		usage_take(memray, rss, memray_varint_read(memray));
	} else if (record == RECORD_TRAILER) {
		memray->ended = true;
	} else if (record != RECORD_FILLER && !memray_common_take(memray, record)) {
		memray_fail(memray, "unknown record type: what follows cannot be parsed");
	}
}

/* --- the file --------------------------------------------------------------------------------- */

static void facts_write(struct memray *memray)
{
	struct composer *composer = memray->composer;

	composer_missing(composer, TAPE_MISSING_USABLE | TAPE_MISSING_FREE_STACKS);
	if (memray->is_sums) {
		composer_missing(composer,
				 TAPE_MISSING_TIMES | TAPE_MISSING_FREED | TAPE_MISSING_FUNCTIONS);
		composer_note(composer, "the file has totals at the peak and at the end only "
					"(--aggregate); other frees are not known");
	} else {
		composer_note(composer, "times are those of samples of resident memory, some "
					"milliseconds apart");
	}
	composer_note(composer,
		      "stacks are those of Python%s; mappings count as blocks, as memray "
		      "counts them",
		      memray->has_native ? ", those of C (--native) are left out" : "");
	if (memray->python_version < 0x030b0000)
		composer_note(composer, "line numbers need Python 3.11 or later");
	if (memray->odd_unmaps > 0)
		composer_note(composer,
			      "mappings that were unmapped in part, or were not seen: %" PRIu64,
			      memray->odd_unmaps);
}

static struct err *memray_read(struct source *source, struct composer *composer)
{
	CLEAN(memray_deinit) struct memray memray = { .source = source, .composer = composer };
	struct err *err = header_read(&memray);
	const char *bytes;
	size_t count;

	if (err)
		return err;
	while (!memray.why && !memray.ended && !composer_failed(composer)) {
		source_peek(source, 1, &bytes, &count);
		if (count == 0) {
			memray_fail(&memray,
				    "the file ends before its trailer: the program was killed, or "
				    "still runs");
			break;
		}
		if (memray.is_sums)
			memray_sum_record_take(&memray, memray_u8_read(&memray));
		else
			record_take(&memray, memray_u8_read(&memray));
	}
	if (memray.why)
		source_torn(source, composer, "%s", memray.why);
	facts_write(&memray);
	return NULL;
}

static enum importer_match memray_probe(const char *bytes, size_t count)
{
	return count > 11 && memcmp(bytes, "memray", 7) == 0 ? IMPORTER_YES : IMPORTER_NO;
}

const struct importer importer_memray = {
	.name = "memray",
	.title = "memray's capture files, memray-PROGRAM.PID.bin",
	.recipe = "memray run PROGRAM.py",
	.probe = memray_probe,
	.read = memray_read,
};
