#include "folder/gist.h"

#include <assert.h>

#include "base/number.h"
#include "base/str.h"
#include "capture/capture.h"
#include "model/model.h"

enum { STAMP_BYTES = 15 /* 20261126-180000 */ };

static char *text_dup(const char *text)
{
	return text && *text ? strdup(text) : NULL;
}

static const char *behind_slash(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* As program_name() of a model: the first argument, unless it was overwritten, as servers do. */
static const char *program_of(const char *exe, const char *const *argv, size_t argc)
{
	const char *called = argc > 0 ? argv[0] : "";

	called = behind_slash(*called == '-' ? called + 1 : called);
	return *called && !called[strcspn(called, " \t\n")] ? called : behind_slash(exe);
}

static char *command_of(const char *const *argv, size_t argc)
{
	CLEAN(str_deinit) struct str text = { 0 };

	for (size_t i = 0; i < argc && text.len < GIST_TEXT_BYTES; i++) {
		str_add(&text, i > 0 ? " " : "");
		str_add_bytes(&text, argv[i], strnlen(argv[i], GIST_TEXT_BYTES - text.len));
	}
	return text.failed ? NULL : text_dup(str_text(&text));
}

/* What gather made a name of: HOST.PROGRAM.PID.TIME, where some characters became "_". */
static bool part_matches(const char *part, size_t len, const char *text)
{
	if (strnlen(text, len) < len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (part[i] != '_' && part[i] != text[i])
			return false;
	return true;
}

/* NULL: the name is another one. */
static char *host_of(const char *file, const char *program, uint32_t pid)
{
	char middle[16];
	const char *at = file;
	size_t host_len, len;

	str_format(middle, sizeof(middle), ".%u.", pid);
	while ((at = strstr(at, middle))) {
		const char *stamp = at + strlen(middle);

		if (strlen(stamp) >= STAMP_BYTES && stamp[8] == '-' &&
		    strspn(stamp, "0123456789-") == STAMP_BYTES)
			break;
		at++;
	}
	if (!at || !program)
		return NULL;
	len = (size_t)(at - file);
	for (host_len = len; host_len > 1; host_len--) {
		const char *name = file + host_len;

		if (name[-1] == '.' && part_matches(name, (size_t)(at - name), program) &&
		    (size_t)(at - name) + 1 >= u64_min(strlen(program), 47))
			return strndup(file, host_len - 1);
	}
	return NULL;
}

static struct err *title_of_tape(const struct folder_tape *tape, struct gist *gist)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct capture_head head = { .build_id = NULL };
	struct err *err = capture_head_read(tape->path, &arena, &head);

	if (err)
		return err;
	/* What was listed has been replaced. */
	if (memcmp(head.header.uuid, tape->uuid, TAPE_UUID_BYTES) != 0)
		return err_new(ERR_STATE, "%s was replaced by another recording", tape->path);
	if (!head.process.argv)
		return NULL;
	gist->program =
		text_dup(program_of(head.process.exe, head.process.argv, head.process.argc));
	gist->command = command_of(head.process.argv, head.process.argc);
	gist->release = text_dup(head.build_id);
	gist->host = host_of(tape->file, gist->program, tape->pid);
	return NULL;
}

/* Times of the spans are rounded, and the last event may be at the very end: the peak is there. */
static void curve_take(const struct model *model, struct gist *gist)
{
	struct model_timeline_span spans[GIST_POINTS];
	const double share = (double)model_totals(model)->peak_ns /
			     (double)u64_max(gist->duration_ns, 1) * GIST_POINTS;
	const size_t peak = u64_min(u64_of_double(share), GIST_POINTS - 1);

	model_timeline_window(model, 0, gist->duration_ns, GIST_POINTS, spans);
	for (size_t i = 0; i < GIST_POINTS; i++)
		gist->curve[i] = spans[i].live_bytes_max;
	gist->curve[peak] = u64_max(gist->curve[peak], gist->peak_bytes);
}

static struct err *whole_of_tape(const struct folder_tape *tape, struct gist *gist)
{
	const struct model_settings settings = {
		.index = tape->is_live ? MODEL_INDEX_NONE : MODEL_INDEX_AUTO,
	};
	CLEAN(model_destroy) struct model *model = NULL;
	struct err *err = model_load_with(tape->path, MODEL_SUMMARY, &settings, &model);
	const struct model_process *process;

	if (err)
		return err;
	process = model_process(model);
	if (memcmp(process->uuid, tape->uuid, TAPE_UUID_BYTES) != 0)
		return err_new(ERR_STATE, "%s was replaced by another recording", tape->path);
	gist->duration_ns = process->duration_ns;
	gist->peak_bytes = model_totals(model)->peak.bytes;
	gist->live_bytes = model_totals(model)->leaked.bytes;
	gist->end_kind = process->end_kind;
	gist->end_status = process->end_status;
	curve_take(model, gist);
	gist->depth = GIST_WHOLE;
	return NULL;
}

static struct err *title_of_session(const struct folder_tape *tape, struct gist *gist)
{
	if (tape->command_count > 0)
		gist->program = text_dup(behind_slash(tape->command[0]));
	gist->command = command_of(tape->command, tape->command_count);
	gist->host = text_dup(tape->host);
	return NULL;
}

struct err *gist_read(const struct folder_tape *tape, enum gist_depth depth, struct gist *gist)
{
	struct gist read = { .depth = GIST_TITLE };
	struct err *err;

	assert(tape->path && depth != GIST_NONE);
	if (tape->kind == FOLDER_UNREADABLE)
		return err_new(ERR_FORMAT, "%s: %s", tape->path, tape->trouble);
	err = tape->kind == FOLDER_SESSION ? title_of_session(tape, &read)
					   : title_of_tape(tape, &read);
	if (!err && tape->kind == FOLDER_TAPE && depth == GIST_WHOLE)
		err = whole_of_tape(tape, &read);
	if (err) {
		gist_deinit(&read);
		return err;
	}
	*gist = read;
	return NULL;
}

void gist_deinit(struct gist *gist)
{
	free(gist->program);
	free(gist->command);
	free(gist->host);
	free(gist->release);
	*gist = (struct gist) { .depth = GIST_NONE };
}
