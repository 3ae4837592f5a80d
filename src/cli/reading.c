#include "cli/reading.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/file.h"
#include "capture/embedded.h"
#include "cli/command.h"
#include "cli/input.h"

enum { DEBUGINFOD_SECONDS = 15 /* that a report waits for downloads unless told otherwise */ };

static unsigned debuginfod_seconds(void)
{
	const char *text = getenv("MEMTAPE_DEBUGINFOD_SECONDS");
	uint64_t seconds;

	if (!text || !str_parse_u64(text, &seconds) || seconds > UINT16_MAX)
		return DEBUGINFOD_SECONDS;
	return (unsigned)seconds;
}

bool reading_wants_colour(FILE *out)
{
	const char *off = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if ((off && *off) || (term && strcmp(term, "dumb") == 0))
		return false;
	return isatty(fileno(out));
}

unsigned reading_width(FILE *out)
{
	return isatty(fileno(out)) ? command_terminal_width() : 0;
}

struct err *reading_format(bool json, bool csv, enum emit_format *format_ret)
{
	if (json && csv)
		return err_new(ERR_USAGE, "--json and --csv exclude each other");
	*format_ret = json ? EMIT_JSON : csv ? EMIT_CSV : EMIT_TEXT;
	return NULL;
}

/* Names embedded in the tape; errors in the tape are reported when it is read. */
static struct err *embedded_read(struct reading_symbols *symbols, const char *tape_path)
{
	size_t size = 0;
	struct err *err = capture_embedded_read(tape_path, &symbols->embedded_bytes, &size);

	if (err || size == 0)
		return err;
	return embedded_view(symbols->embedded_bytes, size, &symbols->embedded);
}

/* Shows the user what is being downloaded. */
static void download_show(void *context, uint64_t done, uint64_t total)
{
	struct reading_symbols *symbols = context;
	char done_text[STR_SHORT_BYTES], total_text[STR_SHORT_BYTES];

	if (!isatty(STDERR_FILENO) || done == 0)
		return;
	symbols->has_shown_download = true;
	fprintf(stderr, "\rmemtape: downloading debug information: %s", str_iec(done_text, done));
	if (total > 0)
		fprintf(stderr, " of %s", str_iec(total_text, total));
	fprintf(stderr, "\033[K");
}

static struct err *debuginfod_use(struct reading_symbols *symbols, bool waits)
{
	const struct debuginfod_settings settings = {
		.seconds_max = waits ? 0 : debuginfod_seconds(),
		.progress = download_show,
		.context = symbols,
	};
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct err *err;

	if (!urls || !*urls)
		return NULL;
	err = debuginfod_create(&settings, &symbols->debuginfod);
	if (err && err_code_of(err) == ERR_UNSUPPORTED) { /* then names without it */
		err_destroy(err);
		return NULL;
	}
	return err;
}

struct err *reading_symbols_init(struct reading_symbols *symbols,
				 const struct reading_symbol_options *options,
				 const char *tape_path)
{
	struct err *err = NULL;

	assert(options);
	symbols->paths.sysroot = options->sysroot;
	if (options->path_map)
		err = path_map_parse(options->path_map, &symbols->arena, &symbols->paths);
	if (!err)
		err = my_code_remember(&options->my_code, tape_path);
	if (!err)
		err = my_code_rules(&options->my_code, tape_path, &symbols->arena, &symbols->roles);
	if (!err && !options->no_debuginfod)
		err = debuginfod_use(symbols, options->waits);
	if (err)
		return err;
	if (options->debug_dirs) {
		symbols->options.debug_dirs = path_list_parse(options->debug_dirs, &symbols->arena);
		if (!symbols->options.debug_dirs)
			return err_nomem();
	}
	err_destroy(cache_open(&symbols->cache));
	if (tape_path) /* reading the tape itself reports damage */
		err_destroy(embedded_read(symbols, tape_path));
	symbols->options.paths = &symbols->paths;
	symbols->options.roles = &symbols->roles;
	symbols->options.debuginfod = symbols->debuginfod;
	symbols->options.cache = symbols->cache;
	symbols->options.embedded = &symbols->embedded;
	if (options->full_names)
		symbols->options.spelling = SYMBOL_SPELL_FULL;
	else if (options->no_template_args)
		symbols->options.spelling = SYMBOL_SPELL_NO_ARGUMENTS;
	return NULL;
}

void reading_symbols_deinit(struct reading_symbols *symbols)
{
	if (symbols->has_shown_download)
		fprintf(stderr, "\r\033[K");
	if (symbols->debuginfod && debuginfod_is_late(symbols->debuginfod))
		fprintf(stderr,
			"memtape: the servers in DEBUGINFOD_URLS took longer than %d seconds, so "
			"some "
			"names are missing; `memtape symbols fetch TAPE` waits for them\n",
			debuginfod_seconds());
	debuginfod_destroy(symbols->debuginfod);
	cache_close(symbols->cache);
	embedded_deinit(&symbols->embedded);
	free(symbols->embedded_bytes);
	arena_deinit(&symbols->arena);
	*symbols = (struct reading_symbols) { 0 };
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat left, right;

	return stat(a, &left) == 0 && stat(b, &right) == 0 && left.st_dev == right.st_dev &&
	       left.st_ino == right.st_ino;
}

struct err *reading_output_check(const char *path, const char *tape_path)
{
	if (path && tape_path && strcmp(path, "-") != 0 && is_same_file(path, tape_path))
		return err_new(ERR_USAGE, "%s is the tape itself", path);
	return NULL;
}

struct err *reading_output_open(struct reading_output *output, const char *path, bool may_overwrite,
				const char *tape_path)
{
	CLEAN(free) char *name = NULL;
	CLEAN(close) int fd = -1;
	struct err *err;

	assert(output);
	*output = (struct reading_output) { .file = stdout };
	if (!path || strcmp(path, "-") == 0)
		return NULL;
	err = reading_output_check(path, tape_path);
	if (!err)
		err = output_check(path, may_overwrite);
	if (err)
		return err;
	output->path = path;
	if (output_is_special(path)) {
		output->file = fopen(path, "we");
		return output->file ? NULL : err_errno("open %s", path);
	}
	err = file_create_temporary(path, &name, &fd);
	if (err)
		return err;
	output->file = fdopen(fd, "w");
	if (!output->file) {
		unlink(name);
		return err_errno("open %s", path);
	}
	fd = -1; /* now owned by the stream */
	output->temporary = steal(name);
	return NULL;
}

struct err *reading_output_close(struct reading_output *output, struct err *err)
{
	CLEAN(free) char *temporary = steal(output->temporary);

	assert(output->file);
	if (!output->path)
		return err;
	if (fclose(output->file) != 0 && !err)
		err = err_errno("write %s", output->path);
	if (temporary && !err && rename(temporary, output->path) != 0)
		err = err_errno("write %s", output->path);
	if (temporary && err)
		unlink(temporary);
	return err;
}
