/*
 * anonymise: makes a tape safe to share: measurements stay, names are replaced.
 */
#include <fcntl.h>

#include "base/file.h"
#include "capture/embedded.h"
#include "cli/anonymous.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/reading.h"
#include "model/embed.h"

enum { LEVEL_DEFAULT = 9, LEVEL_MAX = 19 };

struct anonymise_options {
	const char *output;
	const char *keep_modules;
	const char *keep_names;
	const char *map;
	uint64_t level;
	bool force;
	bool quiet;
	struct reading_symbol_options symbols;
};

static const struct option_row rows[] = {
	{ "output", 'o', "FILE", OPTION_TEXT, offsetof(struct anonymise_options, output),
	  "output tape (required)" },
	{ "keep-modules", 0, "LIST", OPTION_TEXT, offsetof(struct anonymise_options, keep_modules),
	  "libraries that keep their names, separated by commas; default: those of C and C++" },
	{ "keep-names", 0, "REGEX", OPTION_TEXT, offsetof(struct anonymise_options, keep_names),
	  "functions that keep their names" },
	{ "map", 0, "FILE", OPTION_TEXT, offsetof(struct anonymise_options, map),
	  "write the replacements to FILE; keep it secret" },
	{ "level", 'l', "N", OPTION_U64, offsetof(struct anonymise_options, level),
	  "compression level from 1 (fast) to 19 (small); default: 9" },
	OUTPUT_FORCE_OPTION(struct anonymise_options, force),
	{ "quiet", 'q', NULL, OPTION_FLAG, offsetof(struct anonymise_options, quiet),
	  "print errors only" },
	READING_SYMBOL_OPTIONS(struct anonymise_options, symbols),
};

/* All names known for the tape's addresses, with their replacements. */
static struct err *names_make(struct anonymous *anonymous, const char *tape_path,
			      const struct reading_symbol_options *options, struct vec_u8 *out)
{
	CLEAN(model_destroy) struct model *model = NULL;
	CLEAN(reading_symbols_deinit) struct reading_symbols symbols = { 0 };
	CLEAN(names_destroy) struct names *names = NULL;
	CLEAN(vec_u8_deinit) struct vec_u8 bytes = { 0 };
	CLEAN(embedded_deinit) struct embedded embedded = { 0 };
	struct embed_counts counts;
	struct err *err = reading_symbols_init(&symbols, options, tape_path);

	if (!err)
		err = reading_model(tape_path, MODEL_SUMMARY, NULL, &model);
	if (err)
		return err;
	names = names_create(model, &symbols.options);
	err = names ? embed_names(model, names, &bytes, &counts) : err_nomem();
	if (!err && bytes.count > 0)
		err = embedded_view(bytes.items, bytes.count, &embedded);
	return err ? err : anonymous_names(anonymous, &embedded, out);
}

static struct err *tape_write(const struct anonymise_options *options, const char *tape_path,
			      struct anonymous *anonymous, struct rewritten *rewritten)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	CLEAN(vec_u8_deinit) struct vec_u8 names = { 0 };
	const struct anonymise_settings settings = {
		.level = (int)options->level,
		.context = anonymous,
		.text = anonymous_text,
		.build_id = anonymous_build_id,
		.tell = anonymous_tell,
	};
	struct reading_output output;
	struct err *err = capture_open(tape_path, &capture);

	if (!err)
		err = names_make(anonymous, tape_path, &options->symbols, &names);
	if (!err)
		err = reading_output_open(&output, options->output, options->force, tape_path);
	if (err)
		return err;
	if (!output.temporary)
		err = err_new(ERR_USAGE, "--output: expected a file");
	if (!err)
		err = err_wrap(anonymise_tape(capture, fileno(output.file), &settings, rewritten),
			       "%s", options->output);
	if (!err && names.count > 0)
		err = capture_embedded_write(output.temporary, names.items, names.count);
	return reading_output_close(&output, err);
}

static struct err *map_open(const char *path, FILE **map_ret)
{
	CLEAN(close) int fd = file_create(path);

	if (fd < 0)
		return err_errno("--map: %s", path);
	*map_ret = fdopen(fd, "w");
	if (!*map_ret)
		return err_errno("--map: %s", path);
	fd = -1;
	return NULL;
}

static struct err *map_close(const char *path, FILE *map, struct err *err)
{
	if (map && fclose(map) != 0 && !err)
		err = err_errno("write %s", path);
	if (map && err)
		unlink(path);
	return err;
}

static struct err *anonymise(const struct anonymise_options *options, const char *tape_path,
			     struct rewritten *rewritten)
{
	CLEAN(anonymous_deinit) struct anonymous anonymous = { 0 };
	CLEAN(regex_destroy) struct regex *keep_names = NULL;
	struct regex_problem problem;
	struct err *err = NULL;

	if (options->keep_names && !regex_create(options->keep_names, &keep_names, &problem))
		return err_new(ERR_USAGE, "--keep-names: %s, at character %zu", problem.text,
			       problem.at + 1);
	anonymous.keep_names = keep_names;
	anonymous.keep_modules =
		options->keep_modules ? options->keep_modules : ANONYMOUS_KEEP_MODULES;
	if (options->map)
		err = map_open(options->map, &anonymous.map);
	if (!err)
		err = tape_write(options, tape_path, &anonymous, rewritten);
	return map_close(options->map, anonymous.map, err);
}

static struct err *options_check(const struct anonymise_options *options, int operand_count)
{
	if (operand_count != 1)
		return err_new(ERR_USAGE, "expected one tape");
	if (!options->output)
		return err_new(ERR_USAGE, "expected --output FILE; the tape itself is not changed");
	if (options->level < 1 || options->level > LEVEL_MAX)
		return err_new(ERR_USAGE, "--level must be from 1 to %d", LEVEL_MAX);
	return output_check_file(options->output, options->force);
}

static void print_result(const struct anonymise_options *options, const struct rewritten *rewritten)
{
	CLEAN(str_deinit) struct str text = { 0 };

	str_add_terminal(&text, options->output);
	str_add(&text, ": anonymised, ");
	str_add_counted(&text, rewritten->event_count, "event");
	if (rewritten->damage_count > 0) {
		str_add(&text, "; damaged in ");
		str_add_counted(&text, rewritten->damage_count, "place");
	}
	if (options->map) {
		str_add(&text, "; ");
		str_add_terminal(&text, options->map);
		str_add(&text, " lists what was replaced: keep it private");
	}
	printf("%s\n", str_text(&text));
}

static struct err *anonymise_run(const struct command *command, int argc, char **argv,
				 int *exit_code)
{
	struct anonymise_options options = { .level = LEVEL_DEFAULT };
	struct rewritten rewritten = { 0 };
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	if (!err)
		err = options_check(&options, operand_count);
	if (!err)
		err = anonymise(&options, argv[1], &rewritten);
	if (err)
		return err;
	if (!options.quiet)
		print_result(&options, &rewritten);
	*exit_code = rewritten.damage_count ? EXIT_FINDINGS : EXIT_OK;
	return NULL;
}

const struct command cmd_anonymise = {
	.name = "anonymise",
	.summary = "write a tape without names, paths and addresses, to share it",
	.options = {
		.usage = "memtape anonymise TAPE -o FILE [options]",
		.about = "Writes a tape to share: names of functions, files, threads and marks, the command line, process ids, build-ids, addresses and the time of day are replaced consistently. Sizes, times and the structure of stacks are kept. TAPE is not changed.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = anonymise_run,
};
