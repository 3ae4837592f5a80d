#include "http/html_report.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include "export/gzip.h"
#include "http/assets.h"
#include "http/html_pack.h"

enum { LOOK_MS = 20 };

static const char marker[] = "@CAPTURE@";

/* --- the tape ------------------------------------------------------------------------------ */

static void progress_tell(const struct html_report *report, const char *what, uint64_t done,
			  uint64_t total)
{
	if (report->progress)
		report->progress(report->context, what, done, total);
}

/* Waits until it is read, with its names. */
static struct err *tape_wait(const struct html_report *report, struct tape *tape,
			     struct loaded **loaded_ret)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000 };
	const struct sweep_limits no_limits = { 0 };
	struct tape_look look;
	struct err *err;

	while ((look = tapes_look(tape)).state == TAPE_LOADING) {
		progress_tell(report, "reading the tape",
			      __atomic_load_n(&tape->done, __ATOMIC_RELAXED),
			      __atomic_load_n(&tape->total, __ATOMIC_RELAXED));
		nanosleep(&pause, NULL);
	}
	*loaded_ret = look.loaded;
	if (look.state == TAPE_FAILED) {
		err = err_new(ERR_FORMAT, "%s",
			      look.error ? look.error : "the tape cannot be read");
		free(look.error);
		return err;
	}
	if (!*loaded_ret) {
		err = tapes_acquire(tape, 0, &no_limits, loaded_ret);
		if (err)
			return err;
	}
	progress_tell(report, "finding names", 0, 0);
	return tapes_wait_names(*loaded_ret, &no_limits);
}

/* Not a link that it was run by: it is the file that was built. */
static const char *program_file(const struct model *model)
{
	const char *exe = model_process(model)->exe;
	const char *linked = model_linked(model, exe);

	return linked ? linked : exe;
}

/* The folder of the program, if it belongs to a user; allocated, NULL: a system folder. */
static char *build_folder(const char *exe)
{
	static const char *const systems[] = {
		"/usr/", "/bin/", "/sbin/", "/lib", "/opt/", "/snap/"
	};
	const char *slash = exe ? strrchr(exe, '/') : NULL;

	if (!slash || slash == exe || *exe != '/')
		return NULL;
	for (size_t i = 0; i < array_size(systems); i++) {
		if (strncmp(exe, systems[i], strlen(systems[i])) == 0)
			return NULL;
	}
	return strndup(exe, (size_t)(slash - exe));
}

/* --- the file ------------------------------------------------------------------------------ */

static const struct asset *page_find(void)
{
	for (const struct asset *at = asset_table; at->path; at++) {
		if (strcmp(at->path, "report.html") == 0)
			return at;
	}
	return NULL;
}

static void base64_write(const unsigned char *bytes, size_t size, FILE *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		const size_t left = size - i;
		const uint32_t word = (uint32_t)bytes[i] << 16 |
				      (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
				      (left > 2 ? bytes[i + 2] : 0);

		fputc(digits[word >> 18], out);
		fputc(digits[word >> 12 & 63], out);
		fputc(left > 1 ? digits[word >> 6 & 63] : '=', out);
		fputc(left > 2 ? digits[word & 63] : '=', out);
	}
}

static struct err *compress(const struct str *text, char **bytes_ret, size_t *size_ret)
{
	FILE *memory = open_memstream(bytes_ret, size_ret);
	struct err *err;

	if (!memory)
		return err_nomem();
	err = gzip_write(text->ptr, text->len, memory);
	if (fclose(memory) != 0 && !err)
		err = err_nomem();
	return err;
}

static void page_write(const struct asset *page, const char *capture, size_t capture_size,
		       FILE *out)
{
	const char *text = (const char *)asset_bytes + page->begin;
	const char *at = memmem(text, page->bytes, marker, strlen(marker));
	const char *rest = at + strlen(marker);

	fwrite(text, 1, (size_t)(at - text), out);
	base64_write((const unsigned char *)capture, capture_size, out);
	fwrite(rest, 1, (size_t)(text + page->bytes - rest), out);
}

/* With as much detail as fits. */
static struct err *fit_and_write(const struct html_report *report, struct html_pack *pack,
				 const struct asset *page, FILE *out)
{
	uint64_t bytes = 0;

	for (unsigned detail = 0; detail < HTML_DETAILS; detail++) {
		CLEAN(free) char *capture = NULL;
		size_t size = 0;
		struct err *err = html_pack_fill(pack, detail);

		if (!err)
			err = compress(&pack->json, &capture, &size);
		if (err)
			return err;
		bytes = page->bytes - strlen(marker) + (size + 2) / 3 * 4;
		if (bytes > report->max_bytes)
			continue;
		page_write(page, capture, size, out);
		return ferror(out) ? err_errno("write the report") : NULL;
	}
	return err_new(ERR_LIMIT,
		       "even the smallest report of this tape has %llu bytes, more than the limit "
		       "of %llu; --max-size raises it",
		       (unsigned long long)bytes, (unsigned long long)report->max_bytes);
}

/* --- requests ------------------------------------------------------------------------------ */

static void answers_tell(const void *context, uint64_t answers)
{
	progress_tell(context, "asking", answers, 0);
}

static struct err *report_of(const struct html_report *report, struct tapes *tapes,
			     const struct asset *page, FILE *out)
{
	CLEAN(server_deinit)
	struct server server = {
		.tapes = tapes,
		.settings = { .version = report->version },
	};
	CLEAN(free) char *build = NULL;
	struct html_pack pack = {
		.server = &server,
		.redaction = { .home = report->home, .keeps_argv = report->with_argv },
		.with_source = report->with_source,
		.progress = answers_tell,
		.context = report,
	};
	struct loaded *loaded = NULL;
	struct err *err;

	server_init(&server);
	err = guard_allow(&server.guard, HTML_HOST, 0);
	if (!err)
		err = tape_wait(report, tapes_first(tapes), &loaded);
	if (!err) {
		build = build_folder(program_file(loaded->model));
		pack.redaction.build = build;
		err = fit_and_write(report, &pack, page, out);
	}
	str_deinit(&pack.json);
	tapes_release(loaded);
	return err;
}

struct err *html_report_write(const struct html_report *report, FILE *out)
{
	const struct tape_source source = { report->tape_path, report->symbols,
					    report->suppressions };
	const struct asset *page = page_find();
	struct tapes *tapes = NULL;
	struct err *err;

	assert(report->tape_path);
	if (!page)
		return err_new(ERR_UNSUPPORTED, "this memtape was built without its web app "
						"(-Dwebui=disabled), which such a report contains");
	err = tapes_create(&source, 1, &tapes);
	if (!err)
		err = report_of(report, tapes, page, out);
	tapes_destroy(tapes);
	return err;
}
