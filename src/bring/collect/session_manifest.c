#include "collect/session_manifest.h"

#include <time.h>
#include <unistd.h>

#include "base/emit.h"
#include "base/str.h"
#include "collect/pattern.h"
#include "tape/tape_import.h"

struct line {
	FILE *file;
	char *text;
	size_t bytes;
	struct emit *emit;
};

static bool line_begin(struct line *line)
{
	const struct emit_settings settings = { .format = EMIT_JSON, .compact = true };

	*line = (struct line) { .file = NULL };
	line->file = open_memstream(&line->text, &line->bytes);
	line->emit = line->file ? emit_create(line->file, &settings) : NULL;
	if (line->emit)
		emit_object(line->emit, NULL);
	return line->emit != NULL;
}

/* In one write: a reader sees the line or does not. */
static struct err *line_end(int fd, struct line *line)
{
	struct err *err = NULL;
	bool is_whole = false;

	if (line->emit) {
		emit_end(line->emit);
		err = emit_finish(line->emit);
		is_whole = true;
	}
	emit_destroy(line->emit);
	if (line->file && fclose(line->file) != 0)
		is_whole = false;
	if (!err && !is_whole)
		err = err_nomem();
	if (!err && write(fd, line->text, line->bytes) != (ssize_t)line->bytes)
		err = err_errno("write " TAPE_SESSION_MANIFEST);
	free(line->text);
	return err;
}

struct err *session_manifest_begin(int fd, const char *names, const struct program *program,
				   pid_t pid)
{
	CLEAN(str_deinit) struct str host = { 0 };
	struct timespec now = { 0 };
	struct line line;

	pattern_expand(&host, "%h", &(struct pattern_values) { .program = "" });
	clock_gettime(CLOCK_REALTIME, &now);
	if (line_begin(&line)) {
		emit_u64(line.emit, TAPE_SESSION_KEY, TAPE_SESSION_VERSION, EMIT_PLAIN);
		emit_u64(line.emit, "pid", (uint64_t)pid, EMIT_PLAIN);
		emit_list(line.emit, "command");
		for (char *const *word = program->argv; *word; word++)
			emit_text(line.emit, NULL, *word);
		emit_end(line.emit);
		emit_text(line.emit, "follow", names && *names ? names : NULL);
		emit_text(line.emit, "host", str_text(&host));
		emit_u64(line.emit, "begin_realtime_ns",
			 (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec, EMIT_PLAIN);
	}
	return line_end(fd, &line);
}

struct err *session_manifest_tape(int fd, const char *name, const struct tape_header *header,
				  bool is_packed)
{
	struct line line;

	if (line_begin(&line)) {
		emit_text(line.emit, "tape", name);
		emit_u64(line.emit, "pid", header->pid, EMIT_PLAIN);
		emit_u64(line.emit, "ppid", header->parent_pid, EMIT_PLAIN);
		emit_bool(line.emit, "packed", is_packed);
	}
	return line_end(fd, &line);
}

struct err *session_manifest_status(int fd, const struct session_manifest_end *end)
{
	struct line line;

	if (line_begin(&line)) {
		emit_text(line.emit, "ended", end->tape);
		emit_u64(line.emit, "pid", end->pid, EMIT_PLAIN);
		emit_u64(line.emit, end->is_signal ? "signal" : "status", (uint64_t)end->number,
			 EMIT_PLAIN);
		emit_u64(line.emit, "ns", end->monotonic_ns, EMIT_PLAIN);
	}
	return line_end(fd, &line);
}

struct err *session_manifest_usages(int fd, uint64_t monotonic_ns,
				    const struct session_manifest_usage *usages, size_t count)
{
	struct line line;

	if (line_begin(&line)) {
		emit_u64(line.emit, "usage_ns", monotonic_ns, EMIT_PLAIN);
		emit_list(line.emit, "of");
		for (size_t i = 0; i < count; i++) {
			emit_list(line.emit, NULL);
			emit_text(line.emit, NULL, usages[i].tape);
			emit_u64(line.emit, NULL, usages[i].rss, EMIT_PLAIN);
			emit_u64(line.emit, NULL, usages[i].pss, EMIT_PLAIN);
			emit_u64(line.emit, NULL, usages[i].private, EMIT_PLAIN);
			emit_end(line.emit);
		}
		emit_end(line.emit);
	}
	return line_end(fd, &line);
}

struct err *session_manifest_end(int fd, uint64_t count)
{
	struct line line;

	if (line_begin(&line)) {
		emit_bool(line.emit, "end", true);
		emit_u64(line.emit, "tapes", count, EMIT_PLAIN);
	}
	return line_end(fd, &line);
}
