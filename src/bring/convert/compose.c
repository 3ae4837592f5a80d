#include "convert/compose.h"

#include <assert.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "arch/native.h"
#include "capture/embedded.h"
#include "convert/compose_parts.h"
#include "core/random.h"

enum {
	PACK_LEVEL = 3,
	NOTES_MAX = 24,
	NOTE_BYTES_MAX = 200,
	NAME_BYTES_MAX = 400, /* of a format, tool or file name */
	PROCESS_BYTES_MAX = TAPE_RECORD_BYTES_MAX / 2
};

static_assert(NOTES_MAX * (NOTE_BYTES_MAX + 1) + 3 * (NAME_BYTES_MAX + 1) <
		      TAPE_RECORD_BYTES_MAX - 64,
	      "all of it fits in one record");

void compose_fail(struct composer *composer, struct err *err)
{
	if (composer->err)
		err_destroy(err);
	else
		composer->err = err;
}

void composer_allow_empty(struct composer *composer)
{
	composer->may_be_empty = true;
}

bool composer_failed(const struct composer *composer)
{
	return composer->err != NULL;
}

/* --- the whole -------------------------------------------------------------------------------- */

static struct err *chunk_append(void *context, const void *bytes, size_t len)
{
	struct composer *composer = context;

	return writer_append(&composer->writer, bytes, len, WRITER_NORMAL);
}

static struct err *composer_begin(struct composer *composer, const char *path, bool overwrite)
{
	const struct packed_sink sink = { chunk_append, composer };
	struct err *err;
	int rc;

	composer->header = (struct tape_header) {
		.magic = { 'M', 'E', 'M', 'T', 'A', 'P', 'E', '\n' },
		.version = TAPE_VERSION,
		.header_bytes = TAPE_HEADER_BYTES,
		.kind = TAPE_KIND_PACKED,
		.chunk_bytes = COMPOSE_CHUNK_BYTES,
		.elf_machine = ARCH_ELF_MACHINE,
		.pointer_bytes = 8,
		.clock = TAPE_CLOCK_MONOTONIC,
	};
	composer->missing = TAPE_MISSING_THREADS | TAPE_MISSING_PROCESS;
	composer->free_block = UINT32_MAX;
	composer->format = composer->tool = composer->file = "";
	rc = random_fill(composer->header.uuid, sizeof(composer->header.uuid));
	if (rc < 0)
		return err_errno_new(-rc, "random bytes");
	err = packed_file_create_to(sink, composer->header.chunk_bytes, PACK_LEVEL,
				    &composer->chunks);
	if (err)
		return err;
	if (!compose_stacks_init(composer))
		return err_nomem();
	composer->strand = compose_strand(composer, COMPOSE_STREAM_THREADS);
	if (!composer->strand)
		return err_nomem();
	return writer_open(&composer->writer, path, overwrite);
}

struct err *composer_create(const char *path, bool overwrite, struct composer **composer_ret)
{
	CLEAN(composer_destroy) struct composer *composer = calloc(1, sizeof(*composer));
	struct err *err;

	if (!composer)
		return err_nomem();
	composer->writer.fd = -1;
	err = composer_begin(composer, path, overwrite);
	if (err)
		return err;
	*composer_ret = steal(composer);
	return NULL;
}

void composer_destroy(struct composer *composer)
{
	if (!composer)
		return;
	writer_close(&composer->writer);
	packed_file_destroy(composer->chunks);
	for (size_t i = 0; i < composer->strands.count; i++)
		compose_strand_destroy(composer->strands.items[i]);
	strand_vec_deinit(&composer->strands);
	strand_vec_deinit(&composer->open);
	map_deinit(&composer->strand_of_tid);
	compose_stacks_deinit(composer);
	own_block_vec_deinit(&composer->blocks);
	map_deinit(&composer->groups);
	map_deinit(&composer->level_ids);
	level_vec_deinit(&composer->levels);
	live_sum_vec_deinit(&composer->live_sums);
	text_vec_deinit(&composer->notes);
	str_deinit(&composer->process);
	arena_deinit(&composer->arena);
	err_destroy(composer->err);
	free(composer);
}

void composer_missing(struct composer *composer, uint32_t missing)
{
	assert(missing >> TAPE_MISSING_COUNT == 0);
	composer->missing |= missing;
}

/* One line of it, truncated: several foreign texts share one record. */
static const char *line_keep(struct composer *composer, const char *text, size_t max)
{
	char *line = arena_text(&composer->arena, text, strnlen(text, max));

	if (!line) {
		compose_fail(composer, err_nomem());
		return "";
	}
	for (char *at = line; *at; at++)
		if (*at == '\n' || *at == '\r')
			*at = ' ';
	return line;
}

void composer_tool(struct composer *composer, const char *tool)
{
	composer->tool = line_keep(composer, tool, NAME_BYTES_MAX);
}

void composer_source(struct composer *composer, const char *format, const char *file)
{
	composer->format = line_keep(composer, format, NAME_BYTES_MAX);
	composer->file = line_keep(composer, file, NAME_BYTES_MAX);
}

void composer_note(struct composer *composer, const char *fmt, ...)
{
	char text[NOTE_BYTES_MAX * 2];
	va_list args;

	if (composer->notes.count == NOTES_MAX)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!text_vec_push(&composer->notes, line_keep(composer, text, NOTE_BYTES_MAX)))
		compose_fail(composer, err_nomem());
}

void composer_torn(struct composer *composer)
{
	assert(!composer->torn_note || composer->is_torn);
	if (!composer->is_torn && composer->notes.count > 0)
		composer->torn_note = composer->notes.items[composer->notes.count - 1];
	composer->is_torn = true;
}

/* --- the process ------------------------------------------------------------------------------ */

static void text_add(struct str *out, const char *text)
{
	const size_t room = PROCESS_BYTES_MAX - u64_min(out->len, PROCESS_BYTES_MAX);

	str_add_bytes(out, text ? text : "", text ? strnlen(text, room) : 0);
	str_add_char(out, '\0');
}

void composer_process(struct composer *composer, const struct compose_process *process)
{
	const struct tape_process record = { process->pid, process->parent_pid, process->argc,
					     process->page_bytes };
	struct tape_header *header = &composer->header;

	assert(process->argv || process->argc == 0);
	header->pid = process->pid;
	header->parent_pid = process->parent_pid;
	header->start_realtime_ns = process->start_realtime_ns;
	if (process->elf_machine)
		header->elf_machine = process->elf_machine;
	if (process->exe || process->argc > 0)
		composer->missing &= ~(uint32_t)TAPE_MISSING_PROCESS;
	str_clear(&composer->process);
	str_add_bytes(&composer->process, (const char *)&record, sizeof(record));
	text_add(&composer->process, process->exe);
	text_add(&composer->process, process->cwd);
	for (uint32_t i = 0; i < process->argc && composer->process.len < PROCESS_BYTES_MAX; i++)
		text_add(&composer->process, process->argv[i]);
	if (composer->process.failed)
		compose_fail(composer, err_nomem());
}

void composer_command_line(struct composer *composer, const char *line)
{
	enum { WORDS_MAX = 256 };
	const char *argv[WORDS_MAX];
	CLEAN(free) char *copy = strdup(line);
	char *rest = copy, *word;
	uint32_t argc = 0;

	if (!copy) {
		compose_fail(composer, err_nomem());
		return;
	}
	while (argc < WORDS_MAX && (word = strsep(&rest, " \t")) != NULL)
		if (*word)
			argv[argc++] = word;
	composer_process(composer, &(struct compose_process) { .exe = argc ? argv[0] : NULL,
							       .argv = argv,
							       .argc = argc });
}

/* --- events ----------------------------------------------------------------------------------- */

void composer_time(struct composer *composer, uint64_t ns)
{
	if (ns > composer->now)
		composer->had_event = false;
	composer->now = u64_max(composer->now, u64_min(ns, UINT64_MAX >> 2));
}

static void thread_write(struct composer *composer, struct strand *strand, enum tape_extended type,
			 const char *name)
{
	const struct tape_thread thread = { .tid = strand->tid };

	compose_record(composer, strand, composer->now,
		       &(struct compose_record) { .type = type,
						  .payload = &thread,
						  .bytes = sizeof(thread),
						  .tail = name,
						  .tail_bytes = strnlen(name, 64) });
}

/* The strand of a thread; created and announced if there is none. */
static struct strand *thread_strand(struct composer *composer, uint32_t tid, const char *name)
{
	bool is_new;
	uint64_t *place = map_put(&composer->strand_of_tid, tid, &is_new);
	struct strand *strand;

	if (!place) {
		compose_fail(composer, err_nomem());
		return NULL;
	}
	if (is_new)
		*place = composer->strands.count;
	strand = compose_strand(composer, (uint32_t)*place);
	if (strand && is_new) {
		strand->tid = tid;
		thread_write(composer, strand, TAPE_EXT_THREAD, name ? name : "");
	}
	return strand;
}

void composer_thread(struct composer *composer, uint32_t tid, const char *name)
{
	struct strand *strand;

	assert(composer->strand || composer->err);
	if (composer->err || (composer->strand->tid == tid && !name))
		return;
	if (tid == 0) {
		composer->strand = compose_strand(composer, COMPOSE_STREAM_THREADS);
		return;
	}
	composer->missing &= ~(uint32_t)TAPE_MISSING_THREADS;
	strand = thread_strand(composer, tid, name);
	if (strand)
		composer->strand = strand;
}

void composer_thread_end(struct composer *composer, uint32_t tid)
{
	if (!composer->err && map_find(&composer->strand_of_tid, tid))
		thread_write(composer, thread_strand(composer, tid, NULL), TAPE_EXT_THREAD_END, "");
}

void composer_allocated(struct composer *composer, const struct compose_block *block)
{
	assert(block->fn < TAPE_FN_COUNT && !tape_fn_sizeless(block->fn));
	assert(block->stack < composer->stacks.count);
	compose_event(composer, composer->strand,
		      &(struct compose_event) { block->fn, block->address, block->size,
						block->usable, block->stack });
}

void composer_freed(struct composer *composer, enum tape_fn fn, uint64_t address, uint32_t stack)
{
	assert(fn < TAPE_FN_COUNT && tape_fn_sizeless(fn));
	assert(stack < composer->stacks.count);
	compose_event(composer, composer->strand,
		      &(struct compose_event) { .fn = fn, .address = address, .stack = stack });
}

void composer_reallocated(struct composer *composer, uint64_t old_address,
			  const struct compose_block *block)
{
	assert(block->stack < composer->stacks.count);
	compose_event(composer, composer->strand,
		      &(struct compose_event) { .fn = TAPE_FN_REALLOC_OUT,
						.address = old_address,
						.stack = block->stack });
	compose_event(composer, composer->strand,
		      &(struct compose_event) { TAPE_FN_REALLOC_IN, block->address, block->size,
						block->usable, block->stack });
}

/* --- the rest --------------------------------------------------------------------------------- */

static void rest_write(struct composer *composer, const struct compose_record *record)
{
	compose_record(composer, compose_strand(composer, COMPOSE_STREAM_REST), composer->now,
		       record);
}

void composer_usage(struct composer *composer, const struct tape_usage *usage)
{
	rest_write(composer, &(struct compose_record) { .type = TAPE_EXT_USAGE,
							.payload = usage,
							.bytes = sizeof(*usage) });
}

void composer_map(struct composer *composer, enum tape_extended type, const struct tape_map *map,
		  uint32_t stack)
{
	assert(type >= TAPE_EXT_MMAP && type <= TAPE_EXT_BRK);
	assert(stack < composer->stacks.count);
	compose_record(composer, composer->strand, composer->now,
		       &(struct compose_record) { .type = type,
						  .payload = map,
						  .bytes = sizeof(*map),
						  .node_at = offsetof(struct tape_map, node),
						  .stack = stack });
}

void composer_kernel(struct composer *composer, const struct tape_kernel *event, uint32_t stack)
{
	assert(stack == COMPOSE_NO_STACK || stack < composer->stacks.count);
	compose_record(composer, composer->strand, composer->now,
		       &(struct compose_record) { .type = TAPE_EXT_KERNEL,
						  .payload = event,
						  .bytes = sizeof(*event),
						  .node_at = offsetof(struct tape_kernel, node),
						  .stack = stack });
}

void composer_kernel_count(struct composer *composer, const struct tape_kernel_count *count)
{
	rest_write(composer, &(struct compose_record) { .type = TAPE_EXT_KERNEL_COUNT,
							.payload = count,
							.bytes = sizeof(*count) });
}

void composer_mark(struct composer *composer, const char *text)
{
	const struct tape_mark mark = { .node = TAPE_NODE_NONE };

	rest_write(composer, &(struct compose_record) { .type = TAPE_EXT_MARK,
							.payload = &mark,
							.bytes = sizeof(mark),
							.tail = text,
							.tail_bytes = strnlen(text, 1024) });
}

void composer_end(struct composer *composer, enum tape_end_kind kind, int32_t status)
{
	composer->end = (struct tape_end) { kind, status };
}

/* --- the end ---------------------------------------------------------------------------------- */

static void import_write(struct composer *composer, struct strand *facts)
{
	const struct tape_import import = { .missing = composer->missing };
	CLEAN(str_deinit) struct str text = { 0 };

	str_printf(&text, "%s\n%s\n%s", composer->format, composer->tool, composer->file);
	for (size_t i = 0; i < composer->notes.count; i++)
		str_printf(&text, "\n%s", composer->notes.items[i]);
	if (text.failed)
		compose_fail(composer, err_nomem());
	compose_record(composer, facts, 0,
		       &(struct compose_record) { .type = TAPE_EXT_IMPORT,
						  .payload = &import,
						  .bytes = sizeof(import),
						  .tail = str_text(&text),
						  .tail_bytes = text.len });
}

static void facts_write(struct composer *composer)
{
	struct strand *facts = compose_strand(composer, COMPOSE_STREAM_FACTS);

	if (composer->process.len > 0)
		compose_record(composer, facts, 0,
			       &(struct compose_record) { .type = TAPE_EXT_PROCESS,
							  .tail = composer->process.ptr,
							  .tail_bytes = composer->process.len });
	import_write(composer, facts);
	compose_write_modules(composer, facts);
	rest_write(composer, &(struct compose_record) { .type = TAPE_EXT_END,
							.payload = &composer->end,
							.bytes = sizeof(composer->end) });
}

/* Names come last, where the file ends at that point. */
static struct err *names_write(struct composer *composer)
{
	CLEAN(vec_u8_deinit) struct vec_u8 names = { 0 };
	struct stat status;
	struct err *err = compose_names(composer, &names);

	if (err || names.count == 0)
		return err;
	if (ftruncate(composer->writer.fd, (off_t)composer->writer.end) != 0)
		return err_errno("write %s", composer->writer.path);
	err = capture_embedded_write(composer->writer.temporary, names.items, names.count);
	if (err)
		return err;
	if (fstat(composer->writer.fd, &status) != 0)
		return err_errno("write %s", composer->writer.path);
	composer->writer.end = (uint64_t)status.st_size;
	return NULL;
}

/* An empty tape would look like a program that allocates nothing. */
static struct err *nothing_error(const struct composer *composer)
{
	if (composer->torn_note)
		return err_new(ERR_FORMAT, "no allocations could be read: %s", composer->torn_note);
	return err_new(ERR_FORMAT, "it has no allocations");
}

struct err *composer_finish(struct composer *composer, struct compose_result *result_ret)
{
	struct tape_header *header = &composer->header;

	assert(composer->writer.fd >= 0);
	if (!(composer->missing & TAPE_MISSING_STACKS))
		header->flags |= TAPE_FLAG_ALLOC_STACKS;
	if (!(composer->missing & (TAPE_MISSING_FREE_STACKS | TAPE_MISSING_STACKS)))
		header->flags |= TAPE_FLAG_FREE_STACKS;
	if (composer->missing & TAPE_MISSING_SIZES)
		header->flags |= TAPE_FLAG_AVERAGES;
	compose_live_sums(composer);
	if (composer->event_count == 0 && !composer->may_be_empty)
		compose_fail(composer, nothing_error(composer));
	facts_write(composer);
	compose_flush(composer);
	if (!composer->err)
		compose_fail(composer, writer_header(&composer->writer, header));
	if (!composer->err)
		compose_fail(composer, names_write(composer));
	if (composer->err)
		return steal(composer->err);
	*result_ret = (struct compose_result) {
		.event_count = composer->event_count,
		.bytes_out = composer->writer.end,
		.stack_count = (uint32_t)composer->stacks.count - TAPE_NODE_FIRST,
		.missing = composer->missing,
		.notes = composer->notes.items,
		.note_count = composer->notes.count,
		.is_torn = composer->is_torn,
	};
	return writer_publish(&composer->writer);
}
