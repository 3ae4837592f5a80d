#include "capture/capture.h"

#include <assert.h>

#include "capture/chunk.h"

enum { FRONT_BYTES = 1 << 20, CHUNKS_MAX = 6 };

/* The next of several NUL-terminated texts; NULL: there is none, or it is unterminated. */
static const char *next_text(const char **ptr, const char *end)
{
	const char *text = *ptr;
	size_t len = strnlen(text, (size_t)(end - text));

	if (text + len == end)
		return NULL;
	*ptr = text + len + 1;
	return text;
}

struct err *capture_process_parse(const struct tape_extended_record *record, struct arena *arena,
				  struct capture_process *process)
{
	const char *ptr = (const char *)record->payload + sizeof(struct tape_process);
	const char *end = (const char *)record->payload + record->payload_bytes;
	struct capture_process parsed = { .argc = 0 };
	struct tape_process tape_process;
	const char **argv, *exe, *cwd, *text;

	if (record->payload_bytes < sizeof(tape_process))
		return NULL;
	memcpy(&tape_process, record->payload, sizeof(tape_process));
	exe = next_text(&ptr, end);
	cwd = exe ? next_text(&ptr, end) : NULL;
	/* argc is untrusted; there are no more texts than bytes */
	argv = arena_array(arena, u64_min(tape_process.argc, (uint64_t)(end - ptr)) + 1,
			   sizeof(*argv));
	if (!argv)
		return err_nomem();
	while (cwd && parsed.argc < tape_process.argc && ptr < end &&
	       (text = next_text(&ptr, end))) {
		argv[parsed.argc] = arena_strdup(arena, text);
		if (!argv[parsed.argc++])
			return err_nomem();
	}
	parsed.argv = argv;
	parsed.exe = arena_strdup(arena, exe ? exe : "");
	parsed.cwd = arena_strdup(arena, cwd ? cwd : "");
	parsed.page_bytes = tape_process.page_bytes;
	if (!parsed.exe || !parsed.cwd)
		return err_nomem();
	*process = parsed;
	return NULL;
}

/* The program is the module of the executable's path, or else the first one. */
static struct err *module_take(const struct tape_extended_record *record, struct arena *arena,
			       bool is_first, struct capture_head *head)
{
	struct tape_module module;
	size_t rest;
	const uint8_t *id;
	const char *path;
	char *text;

	if (record->payload_bytes < sizeof(module))
		return NULL;
	memcpy(&module, record->payload, sizeof(module));
	rest = record->payload_bytes - sizeof(module);
	if (module.build_id_bytes == 0 || module.build_id_bytes > 64 ||
	    module.build_id_bytes >= rest)
		return NULL;
	id = record->payload + sizeof(module);
	path = (const char *)id + module.build_id_bytes;
	rest -= module.build_id_bytes;
	if (!is_first && (!head->process.exe || strnlen(path, rest) == rest ||
			  strcmp(path, head->process.exe) != 0))
		return NULL;
	text = arena_alloc(arena, 2 * (size_t)module.build_id_bytes + 1);
	if (!text)
		return err_nomem();
	for (size_t i = 0; i < module.build_id_bytes; i++) {
		text[2 * i] = "0123456789abcdef"[id[i] >> 4];
		text[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
	}
	head->build_id = text;
	return NULL;
}

static struct err *events_take(const struct decoded *decoded, struct arena *arena, bool *has_module,
			       struct capture_head *head)
{
	struct err *err = NULL;

	for (size_t i = 0; i < decoded->count && !err; i++) {
		struct tape_extended_record record;

		if (decoded->events[i].fn != TAPE_FN_EXTENDED)
			continue;
		record = capture_event_extended(&decoded->events[i]);
		if (record.type == TAPE_EXT_PROCESS && !head->process.argv) {
			err = capture_process_parse(&record, arena, &head->process);
		} else if (record.type == TAPE_EXT_MODULE) {
			err = module_take(&record, arena, !*has_module, head);
			*has_module = true;
		}
	}
	return err;
}

static struct err *chunks_take(const struct capture *capture, struct arena *arena,
			       struct capture_head *head)
{
	struct chunk_loader loader = { .capture = capture };
	struct decoded *decoded = decoded_create(capture);
	struct err *err = decoded ? NULL : err_nomem();
	bool has_module = false;
	size_t count = 0;

	for (size_t i = 0; i < capture->chunks.count && !err && count < CHUNKS_MAX; i++) {
		const struct capture_chunk *chunk = &capture->chunks.items[i];

		if (head->process.argv && has_module)
			break;
		if (chunk->seq > 0)
			continue;
		count++;
		chunk_decode(&loader, chunk, 0, decoded);
		err = decoded->err;
		decoded->err = NULL;
		if (!err)
			err = events_take(decoded, arena, &has_module, head);
	}
	decoded_destroy(decoded);
	chunk_loader_deinit(&loader);
	return err;
}

struct err *capture_head_read(const char *path, struct arena *arena, struct capture_head *head)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	struct capture_head read = { .build_id = NULL };
	struct err *err = capture_open_begin(path, -1, FRONT_BYTES, &capture);

	assert(path && arena);
	if (err)
		return err;
	read.header = *capture_header(capture);
	if (capture_stream_count(capture) > 0)
		err = chunks_take(capture, arena, &read);
	if (!err)
		*head = read;
	return err;
}
