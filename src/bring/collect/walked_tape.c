#include <unistd.h>

#include "arch/native.h"
#include "base/file.h"
#include "base/str.h"
#include "capture/packed_stream.h"
#include "collect/scan_records.h"
#include "collect/walked.h"
#include "core/random.h"
#include "tape/tape_import.h"

enum { CHUNK_BYTES = 256 << 10, BLOCK_TICKS = 1, SCAN_TICKS = 2, BLOCKS_STREAM = 1 };

static const uint32_t missing = TAPE_MISSING_TIMES | TAPE_MISSING_THREADS | TAPE_MISSING_FREES |
				TAPE_MISSING_FREE_STACKS | TAPE_MISSING_FUNCTIONS |
				TAPE_MISSING_STACKS | TAPE_MISSING_REQUESTED;

static void add_note(struct str *text, uint64_t count, const char *thing, const char *what)
{
	if (count == 0)
		return;
	str_add_char(text, '\n');
	str_add_counted(text, count, thing);
	str_add(text, what);
}

/* What was not understood, or is not among the blocks. */
static void add_notes(const struct walked *walked, struct str *text)
{
	const struct heap *heap = &walked->heap;

	if (walked->beside) {
		str_add(text, "\n");
		str_add(text, walked->beside);
		str_add(text, " has an allocator beside glibc's: its blocks are not among these");
	}
	add_note(text, heap->broken_lists, "list",
		 " of the heap led to no chunk: some free blocks "
		 "may be among those in use");
	if (heap->cache_count == 0)
		str_add(text,
			"\nno thread's cache of free blocks was found: they may be among those "
			"in use");
	if (heap->undecoded_count > 0) {
		str_add_char(text, '\n');
		str_add_iec(text, heap->undecoded_bytes);
		str_add(text, " of the heap are not understood: blocks in there are missing");
	}
	if (heap->is_expected && (heap->mapped_count != heap->expected_count ||
				  heap->mapped_bytes != heap->expected_bytes)) {
		str_printf(text,
			   "\nof %llu large blocks with mappings of their own %llu were found",
			   (unsigned long long)heap->expected_count,
			   (unsigned long long)heap->mapped_count);
	}
	if (!heap->is_expected)
		str_add(text, "\nhow many large blocks have mappings of their own is not known: "
			      "some may be missing");
}

static struct err *write_import(const struct walked *walked, const struct walked_tape *tape,
				struct packed_stream *stream)
{
	const struct tape_import import = { .missing = missing };
	CLEAN(str_deinit) struct str text = { 0 };

	str_printf(&text, TAPE_IMPORT_HEAP "\n\n%s", tape->subject);
	add_notes(walked, &text);
	return text.failed ? err_nomem()
			   : packed_stream_extended(stream, TAPE_EXT_IMPORT, 0, &import,
						    sizeof(import), text.ptr, text.len);
}

static struct err *write_process(const struct walked_tape *tape, struct packed_stream *stream)
{
	const struct tape_process process = { .pid = (uint32_t)tape->pid, .argc = 1 };
	CLEAN(str_deinit) struct str text = { 0 };

	str_add(&text, tape->exe);
	str_add_bytes(&text, "\0", 2); /* and no directory */
	str_add(&text, tape->exe);
	str_add_char(&text, '\0');
	return text.failed ? err_nomem()
			   : packed_stream_extended(stream, TAPE_EXT_PROCESS, 0, &process,
						    sizeof(process), text.ptr, text.len);
}

/* For the types of variables, and the functions that have something on their stacks. */
static struct err *write_modules(const struct capture_module_vec *modules,
				 struct packed_stream *stream)
{
	struct err *err = NULL;

	for (size_t i = 0; i < modules->count && !err; i++) {
		const struct capture_module *from = &modules->items[i];
		const struct tape_module module = {
			.id = from->id, .bias = from->bias, .begin = from->begin, .end = from->end
		};

		err = packed_stream_extended(stream, TAPE_EXT_MODULE, 0, &module, sizeof(module),
					     from->path, strlen(from->path));
	}
	return err;
}

static struct err *write_blocks(const struct living_blocks *blocks, struct packed_stream *stream)
{
	struct err *err = NULL;

	for (size_t i = 0; i < blocks->count && !err; i++) {
		const struct tape_event event = {
			.fn = TAPE_FN_MALLOC,
			.node = TAPE_NODE_NONE,
			.ticks = BLOCK_TICKS,
			.address = blocks->items[i].address,
			.size = blocks->items[i].size_bytes,
			.usable = blocks->items[i].size_bytes,
		};

		err = packed_stream_event(stream, &event);
	}
	return err ? err : packed_stream_flush(stream);
}

static struct err *write_rest(const struct walked *walked, const struct scan_image *image,
			      const struct walked_tape *tape, struct packed_stream *stream)
{
	const struct scan_records records = {
		.image = image,
		.ticks = SCAN_TICKS,
		.id = 1,
		.reason = tape->reason,
	};
	struct err *err = write_process(tape, stream);

	if (!err)
		err = write_import(walked, tape, stream);
	if (!err)
		err = write_modules(&walked->living.stacks.modules, stream);
	if (!err)
		err = scan_records_write(&records, stream);
	if (!err)
		err = packed_stream_extended(stream, TAPE_EXT_END, SCAN_TICKS, &tape->end,
					     sizeof(tape->end), NULL, 0);
	return err ? err : packed_stream_flush(stream);
}

static struct err *write_to(int fd, const struct walked *walked, const struct scan_image *image,
			    const struct walked_tape *tape)
{
	struct tape_header header = {
		.magic = { 'M', 'E', 'M', 'T', 'A', 'P', 'E', '\n' },
		.version = TAPE_VERSION,
		.header_bytes = TAPE_HEADER_BYTES,
		.kind = TAPE_KIND_PACKED,
		.chunk_bytes = CHUNK_BYTES,
		.elf_machine = ARCH_ELF_MACHINE,
		.pointer_bytes = sizeof(void *),
		.clock = TAPE_CLOCK_MONOTONIC,
		.pid = (uint32_t)tape->pid,
	};
	CLEAN(packed_file_destroy) struct packed_file *file = NULL;
	CLEAN(packed_stream_deinit) struct packed_stream blocks = { 0 };
	CLEAN(packed_stream_deinit) struct packed_stream rest = { 0 };
	struct err *err;
	int rc;

	rc = random_fill(header.uuid, sizeof(header.uuid));
	if (rc < 0)
		return err_errno_new(-rc, "random bytes");
	err = packed_file_create(fd, &header, tape->level, &file);
	if (err)
		return err;
	packed_stream_init(&blocks, file, BLOCKS_STREAM, 0);
	packed_stream_init(&rest, file, TAPE_COLLECTOR_STREAM, 0);
	err = write_blocks(&walked->living.blocks, &blocks);
	if (!err)
		err = write_rest(walked, image, tape, &rest);
	return err ? err : packed_file_finish(file);
}

struct err *walked_write(const struct walked *walked, const struct scan_image *image,
			 const struct walked_tape *tape)
{
	const int fd = file_create(tape->output_path);
	struct err *err;

	if (fd < 0)
		return err_errno("%s", tape->output_path);
	err = write_to(fd, walked, image, tape);
	if (close(fd) < 0 && !err)
		err = err_errno("close");
	if (err)
		unlink(tape->output_path);
	return err_wrap(err, "%s", tape->output_path);
}
