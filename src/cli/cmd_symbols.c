/*
 * symbols: where a tape's names come from, what is missing, and how to embed them.
 */
#include <sys/stat.h>
#include <time.h>

#include "capture/embedded.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/reading.h"
#include "model/embed.h"
#include "symbol/remedy.h"

struct symbols_options {
	const char *output;
	bool force;
	bool json;
	bool csv;
	bool clear;
	struct reading_symbol_options symbols;
};

static const struct option_row rows[] = {
	{ "output", 'o', "FILE", OPTION_TEXT, offsetof(struct symbols_options, output),
	  "embed: write the tape with its names to FILE instead of adding them to TAPE" },
	OUTPUT_FORCE_OPTION(struct symbols_options, force),
	{ "json", 'j', NULL, OPTION_FLAG, offsetof(struct symbols_options, json),
	  "list, fetch, cache: JSON" },
	{ "csv", 0, NULL, OPTION_FLAG, offsetof(struct symbols_options, csv),
	  "list, fetch, cache: CSV" },
	{ "clear", 0, NULL, OPTION_FLAG, offsetof(struct symbols_options, clear),
	  "cache: remove all that is in it" },
	READING_SYMBOL_OPTIONS(struct symbols_options, symbols),
};

/* --- list, fetch ----------------------------------------------------------------------------- */

/* How much a tape's stacks use one module. */
struct module_counts {
	uint64_t addresses;
	uint64_t named;
	uint64_t lined;
};

static struct module_counts *counts_make(const struct model *model, struct names *names,
					 struct arena *arena)
{
	struct module_counts *counts =
		arena_array(arena, model_module_count(model) + 1, sizeof(*counts));
	CLEAN(map_deinit) struct map seen = { 0 };
	const struct capture_stack *stacks = model_stacks(model);

	for (size_t i = CAPTURE_STACK_FIRST; counts && i < model_stack_count(model); i++) {
		struct name_frames frames;
		bool is_new = false;

		if (stacks[i].module == CAPTURE_MODULE_NONE)
			continue;
		if (!map_put(&seen, stacks[i].pc << 1 | stacks[i].exact, &is_new))
			return NULL;
		if (!is_new)
			continue;
		frames = names_frames(names, (uint32_t)i);
		counts[stacks[i].module].addresses++;
		counts[stacks[i].module].named +=
			names_get(names, frames.frames[frames.count - 1].name)->is_known;
		counts[stacks[i].module].lined += frames.frames[0].line > 0;
	}
	return counts;
}

static const char *source_words(const struct symbol_source *source)
{
	if (source->is_embedded)
		return "tape";
	if (source->is_fetched)
		return "debuginfod";
	if (source->debug_path)
		return "debug file";
	return source->object_path ? "object" : NULL;
}

static void emit_module(struct emit *emit, const struct model *model, struct names *names,
			size_t module, const struct module_counts *counts)
{
	const struct capture_module *known = model_module(model, module);
	const struct symbol_source source =
		symbolizer_source(names_symbolizer(names), names_object(names, module));
	const char *path = names_module_path(names, module);
	CLEAN(str_deinit) struct str build_id = { 0 };
	CLEAN(str_deinit) struct str remedy = { 0 };

	for (size_t i = 0; i < known->build_id_bytes; i++)
		str_printf(&build_id, "%02x", known->build_id[i]);
	if (counts->addresses > 0)
		remedy_add(&remedy, source.state, path);
	emit_row(emit);
	emit_text(emit, "module", path);
	emit_text(emit, "build_id", build_id.len ? str_text(&build_id) : NULL);
	emit_u64(emit, "addresses", counts->addresses, EMIT_COUNT);
	emit_u64(emit, "named", counts->named, EMIT_COUNT);
	emit_u64(emit, "lines", counts->lined, EMIT_COUNT);
	emit_text(emit, "state", symbol_state_text(source.state));
	emit_text(emit, "from", source_words(&source));
	emit_text(emit, "object_path", source.object_path);
	emit_text(emit, "debug_path", source.debug_path);
	emit_u64(emit, "cached", source.cached_count, EMIT_COUNT);
	emit_text(emit, "remedy", remedy.len ? str_text(&remedy) : NULL);
	emit_end(emit);
}

/* In text, remedies are sentences below the table. */
static void emit_remedies(struct emit *emit, const struct model *model, struct names *names,
			  const struct module_counts *counts)
{
	bool is_first = true;

	for (size_t i = 0; i < model_module_count(model); i++) {
		const struct symbol_source source =
			symbolizer_source(names_symbolizer(names), names_object(names, i));
		CLEAN(str_deinit) struct str line = { 0 };
		CLEAN(str_deinit) struct str remedy = { 0 };

		remedy_add(&remedy, source.state, names_module_path(names, i));
		if (counts[i].addresses == 0 || remedy.len == 0)
			continue;
		if (is_first) {
			emit_gap(emit);
			emit_heading(emit, "What would tell more");
		}
		is_first = false;
		str_printf(&line, "  %s: %s", names_short_path(names_module_path(names, i)),
			   symbol_state_text(source.state));
		emit_prose(emit, str_text(&line));
		str_clear(&line);
		str_printf(&line, "      %s", str_text(&remedy));
		emit_prose(emit, str_text(&line));
	}
}

static struct err *list_emit(struct emit *emit, const struct model *model, struct names *names)
{
	static const struct emit_column columns[] = {
		{ .key = "module", .left = true, .elastic = true },
		{ .key = "addresses" },
		{ .key = "named" },
		{ .key = "lines" },
		{ .key = "from", .title = "Names from", .left = true },
		{ .key = "debug_path", .title = "Debug file", .left = true, .elastic = true },
		{ .key = "build_id", .left = true, .elastic = true },
	};
	CLEAN(arena_deinit) struct arena arena = { 0 };
	const struct module_counts *counts = counts_make(model, names, &arena);

	if (!counts)
		return err_nomem();
	emit_object(emit, NULL);
	emit_table(emit, "modules", columns, array_size(columns));
	for (size_t i = 0; i < model_module_count(model); i++)
		emit_module(emit, model, names, i, &counts[i]);
	emit_end(emit);
	if (emit_format_of(emit) == EMIT_TEXT)
		emit_remedies(emit, model, names, counts);
	emit_end(emit);
	return emit_finish(emit);
}

static struct err *list_run(const struct symbols_options *options, const char *tape_path)
{
	CLEAN(model_destroy) struct model *model = NULL;
	CLEAN(reading_symbols_deinit) struct reading_symbols symbols = { 0 };
	CLEAN(names_destroy) struct names *names = NULL;
	CLEAN(emit_destroy) struct emit *emit = NULL;
	struct emit_settings settings = { .colour = reading_wants_colour(stdout),
					  .width = reading_width(stdout) };
	struct err *err = reading_format(options->json, options->csv, &settings.format);

	if (!err)
		err = reading_symbols_init(&symbols, &options->symbols, tape_path);
	if (!err)
		err = model_load(tape_path, MODEL_SUMMARY, &model);
	if (err)
		return err;
	names = names_create(model, &symbols.options);
	emit = emit_create(stdout, &settings);
	return names && emit ? list_emit(emit, model, names) : err_nomem();
}

/* --- embed ----------------------------------------------------------------------------------- */

static struct err *tape_copy(const char *tape_path, FILE *out)
{
	CLEAN(fclose) FILE *in = fopen(tape_path, "re");
	char buf[1 << 16];
	size_t len;

	if (!in)
		return err_errno("open %s", tape_path);
	while ((len = fread(buf, 1, sizeof(buf), in)) > 0) {
		if (fwrite(buf, 1, len, out) != len)
			return err_errno("write");
	}
	if (ferror(in))
		return err_errno("read %s", tape_path);
	return fflush(out) == 0 ? NULL : err_errno("write");
}

/* A tape without an end record may still be written by a running recording. */
static bool is_being_written(const struct model *model, const char *tape_path)
{
	enum { QUIET_S = 10 };
	struct stat status;

	return model_process(model)->end_kind == TAPE_END_UNKNOWN &&
	       stat(tape_path, &status) == 0 && time(NULL) - status.st_mtim.tv_sec < QUIET_S;
}

/* With -o a copy is made first, and renamed when complete. */
static struct err *embed_write(const char *tape_path, const char *out_path,
			       const struct vec_u8 *bytes)
{
	struct reading_output output;
	struct err *err;

	if (!out_path)
		return capture_embedded_write(tape_path, bytes->items, bytes->count);
	err = capture_embedded_check(tape_path); /* a copy has no spool beside it */
	if (!err)
		err = reading_output_open(&output, out_path, true, tape_path);
	if (err)
		return err;
	if (!output.temporary)
		err = err_new(ERR_USAGE, "--output: expected a file");
	if (!err)
		err = tape_copy(tape_path, output.file);
	if (!err)
		err = capture_embedded_write(output.temporary, bytes->items, bytes->count);
	return reading_output_close(&output, err);
}

static void embed_tell(const char *path, const struct embed_counts *counts, size_t bytes)
{
	CLEAN(str_deinit) struct str text = { 0 };

	str_add_terminal(&text, path);
	str_add(&text, ": names of ");
	str_add_grouped(&text, counts->named_count + counts->jit_count);
	str_add(&text, " of ");
	str_add_grouped(&text, counts->address_count + counts->jit_count);
	str_add(&text,
		counts->address_count + counts->jit_count == 1 ? " address (" : " addresses (");
	str_add_grouped(&text, counts->lined_count);
	str_add(&text, " with lines) in ");
	str_add_counted(&text, counts->module_count, "module");
	str_add(&text, ", ");
	str_add_iec(&text, bytes);
	str_add(&text, " before compression\n");
	fputs(str_text(&text), stdout);
}

static struct err *embed_run(const struct symbols_options *options, const char *tape_path)
{
	CLEAN(model_destroy) struct model *model = NULL;
	CLEAN(reading_symbols_deinit) struct reading_symbols symbols = { 0 };
	CLEAN(names_destroy) struct names *names = NULL;
	CLEAN(vec_u8_deinit) struct vec_u8 bytes = { 0 };
	struct embed_counts counts;
	struct err *err = output_check_file(options->output, options->force);

	if (!err)
		err = reading_symbols_init(&symbols, &options->symbols, tape_path);
	if (!err)
		err = model_load(tape_path, MODEL_SUMMARY, &model);
	if (err)
		return err;
	if (!options->output && is_being_written(model, tape_path))
		return err_new(ERR_STATE, "%s seems to be still recording; embed later, or use -o",
			       tape_path);
	names = names_create(model, &symbols.options);
	if (!names)
		return err_nomem();
	err = embed_names(model, names, &bytes, &counts);
	if (!err && bytes.count == 0)
		err = err_new(ERR_NOT_FOUND, "%s: no stack on it has an address in a module",
			      tape_path);
	if (!err)
		err = embed_write(tape_path, options->output, &bytes);
	if (!err)
		embed_tell(options->output ? options->output : tape_path, &counts, bytes.count);
	return err;
}

/* --- cache ----------------------------------------------------------------------------------- */

static struct err *cache_run(const struct symbols_options *options)
{
	CLEAN(cache_close) struct cache *cache = NULL;
	CLEAN(emit_destroy) struct emit *emit = NULL;
	struct emit_settings settings = { .colour = reading_wants_colour(stdout),
					  .width = reading_width(stdout) };
	struct cache_facts facts = { 0 }, removed = { 0 };
	struct err *err = reading_format(options->json, options->csv, &settings.format);

	if (!err)
		err = cache_open(&cache);
	if (!err && options->clear)
		err = cache_clear(cache, &removed);
	if (!err)
		err = cache_facts_get(cache, &facts);
	if (err)
		return err;
	emit = emit_create(stdout, &settings);
	if (!emit)
		return err_nomem();
	emit_object(emit, NULL);
	emit_text(emit, "folder", cache_folder(cache));
	emit_u64(emit, "files", facts.file_count, EMIT_COUNT);
	emit_u64(emit, "bytes", facts.bytes, EMIT_BYTES);
	emit_u64(emit, "bytes_max", CACHE_BYTES_MAX, EMIT_BYTES);
	if (options->clear) {
		emit_u64(emit, "removed_files", removed.file_count, EMIT_COUNT);
		emit_u64(emit, "removed_bytes", removed.bytes, EMIT_BYTES);
	}
	emit_end(emit);
	return emit_finish(emit);
}

/* --- the command ----------------------------------------------------------------------------- */

static struct err *verb_run(struct symbols_options *options, const char *verb,
			    const char *tape_path)
{
	if (strcmp(verb, "list") == 0) {
		options->symbols.no_debuginfod = true; /* list only what is available locally */
		return list_run(options, tape_path);
	}
	if (strcmp(verb, "fetch") == 0) {
		const char *urls = getenv("DEBUGINFOD_URLS");

		if (!urls || !*urls)
			return err_new(ERR_USAGE, "DEBUGINFOD_URLS names no server; try %s",
				       remedy_server());
		options->symbols.waits = true;
		return list_run(options, tape_path);
	}
	if (strcmp(verb, "embed") == 0)
		return embed_run(options, tape_path);
	return err_new(ERR_USAGE, "unknown command '%s'; expected list, fetch, embed or cache",
		       verb);
}

static struct err *symbols_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct symbols_options options = { 0 };
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	(void)exit_code;
	if (err)
		return err;
	if (operand_count == 1 && strcmp(argv[1], "cache") == 0)
		return cache_run(&options);
	if (operand_count != 2)
		return err_new(ERR_USAGE, "expected list, fetch or embed and one tape, or cache");
	return verb_run(&options, argv[1], argv[2]);
}

const struct command cmd_symbols = {
	.name = "symbols",
	.summary = "show where names come from, and embed them in a tape",
	.options = {
		.usage = "memtape symbols list|fetch|embed TAPE [options]\n"
			 "       memtape symbols cache [--clear]",
		.about = "list shows each module of a tape, where its names come from, what is "
			 "missing and what to do about it; fetch does so after downloading what is "
			 "missing from the servers in DEBUGINFOD_URLS. embed stores all names in the "
			 "tape, so that it can be read on another machine. cache shows or clears "
			 "the names kept between runs.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = symbols_run,
};
