/*
 * reading: shared by the commands that read tapes.
 */
#ifndef MEMTAPE_CLI_READING_H
#define MEMTAPE_CLI_READING_H

#include "base/emit.h"
#include "cli/my_code.h"
#include "model/model.h"
#include "select/selection.h"
#include "sums/walk.h"
#include "symbol/symbol.h"

/* Colours only on terminals, unless NO_COLOR is set (no-color.org) or TERM is dumb. */
bool reading_wants_colour(FILE *out);

/* Terminal width; 0 if out is not a terminal: then nothing is cut to fit. */
unsigned reading_width(FILE *out);

/* --json and --csv exclude each other. */
struct err *reading_format(bool json, bool csv, enum emit_format *format_ret);

/* Options shared by commands that show names: embed the struct, and append its rows. */
struct reading_symbol_options {
	bool no_debuginfod;
	bool full_names;
	bool no_template_args;
	const char *debug_dirs;
	const char *sysroot;
	const char *path_map;
	struct my_code_options my_code;
	bool waits; /* no timeout for downloads; not an option */
};

#define READING_SYMBOL_ROW(settings, member, field)                                                \
	(offsetof(settings, member) + offsetof(struct reading_symbol_options, field))

/* clang-format off */
#define READING_SYMBOL_OPTIONS(settings, member)                                                   \
	{ "debug-dir", 0, "DIR[:DIR]", OPTION_TEXT,                                                \
	  READING_SYMBOL_ROW(settings, member, debug_dirs),                                        \
	  "search DIR for debug files as well" },                                                  \
	{ "sysroot", 0, "DIR", OPTION_TEXT, READING_SYMBOL_ROW(settings, member, sysroot),         \
	  "prefix for paths of programs and libraries" },                                          \
	{ "path-map", 0, "FROM=TO", OPTION_TEXT, READING_SYMBOL_ROW(settings, member, path_map),   \
	  "replace path prefix FROM by TO for programs and sources; several with commas" },         \
	{ "full-names", 0, NULL, OPTION_FLAG, READING_SYMBOL_ROW(settings, member, full_names),    \
	  "do not shorten names of the C++ standard library" },                                    \
	{ "no-template-args", 0, NULL, OPTION_FLAG,                                                \
	  READING_SYMBOL_ROW(settings, member, no_template_args),                                  \
	  "omit template arguments, so that all instances of a template are one function" },       \
	{ "no-debuginfod", 0, NULL, OPTION_FLAG,                                                   \
	  READING_SYMBOL_ROW(settings, member, no_debuginfod),                                     \
	  "do not query the servers in DEBUGINFOD_URLS for missing debug information" },           \
	{ "my", 0, "PATTERNS", OPTION_LIST,                                                        \
	  READING_SYMBOL_ROW(settings, member, my_code.my),                                        \
	  "functions, sources (src/) or modules that are your own code; several with commas" },    \
	{ "library", 0, "PATTERNS", OPTION_LIST,                                                   \
	  READING_SYMBOL_ROW(settings, member, my_code.library), "those of libraries" },           \
	{ "wrapper", 0, "PATTERNS", OPTION_LIST,                                                   \
	  READING_SYMBOL_ROW(settings, member, my_code.wrapper),                                   \
	  "those that only allocate for their callers: 'zmalloc*,my_new'" },                       \
	{ "remember", 0, NULL, OPTION_FLAG,                                                        \
	  READING_SYMBOL_ROW(settings, member, my_code.remember),                                  \
	  "keep --my, --library and --wrapper in .memtape/config, for the next time" }
/* clang-format on */

/* clang-format off */
#define READING_FRAMES_OPTION(settings, member)                                                    \
	{ "frames", 0, "WHICH", OPTION_CHOICE, offsetof(settings, member),                         \
	  "frames of stacks, and who allocates: my (default): the user's own code; exact: "        \
	  "libraries too; all: allocators and program start too",                                  \
	  walk_mode_words }
/* clang-format on */

/*
 * Sources of names, by the options. Must outlive everything that reads names; all zeros is empty.
 */
struct reading_symbols {
	struct symbol_options options;
	struct path_map paths;
	struct role_rules roles;
	struct debuginfod *debuginfod;
	struct cache *cache;
	uint8_t *embedded_bytes;
	struct embedded embedded;
	bool has_shown_download;
	struct arena arena;
};

/* tape_path: reads names embedded in this tape; NULL: none. */
struct err *reading_symbols_init(struct reading_symbols *symbols,
				 const struct reading_symbol_options *options,
				 const char *tape_path);
void reading_symbols_deinit(struct reading_symbols *symbols);
CLEAN_DEFINE_DEINIT(reading_symbols_deinit, struct reading_symbols);

/* The option of commands that can do without an index: embed a bool, pass it to reading_index. */
/* clang-format off */
#define READING_INDEX_OPTION(settings, member)                                                     \
	{ "no-index", 0, NULL, OPTION_FLAG, offsetof(settings, member),                            \
	  "leave no index of a large tape behind; an existing one is used" }
#define READING_INDEX_AVOIDED "--no-index"
/* clang-format on */

/* MODEL_INDEX_USE or MODEL_INDEX_AUTO. */
enum model_index reading_index(bool no_index);

/*
 * "memtape: writing an index of about 2.3 GiB, big.mtape.index ..." on stderr, for model_settings; the context is the option that
 * avoids it, a string; NULL: the command has none.
 */
void reading_announce(const void *context, const struct model_index_plan *plan);

/*
 * model_load_with, with progress on stderr after half a second if that is a terminal. settings may
 * be NULL.
 */
struct err *reading_model(const char *tape_path, enum model_depth depth,
			  const struct model_settings *settings, struct model **model_ret);

/* Options that select a part of a tape, for commands that show sums: embed the struct. */
struct reading_part_options {
	const char *filter;
	const char *from;
	const char *until;
};

#define READING_PART_ROW(settings, member, field)                                                  \
	(offsetof(settings, member) + offsetof(struct reading_part_options, field))

/* clang-format off */
#define READING_PART_OPTIONS(settings, member)                                                     \
	{ "filter", 0, "EXPR", OPTION_TEXT, READING_PART_ROW(settings, member, filter),            \
	  "only allocations that match EXPR; see memtape-filter(7)" },                             \
	{ "from", 0, "T", OPTION_TEXT, READING_PART_ROW(settings, member, from),                   \
	  "only allocations at T (1.5s, 20ms, 75%, peak, mark(NAME)) or later" },                  \
	{ "until", 0, "T", OPTION_TEXT, READING_PART_ROW(settings, member, until),                 \
	  "only allocations at T or earlier" }
/* clang-format on */

/* The selection settings: for selection_check before the tape is opened, then selection_make. */
struct selection_settings reading_part(const struct reading_part_options *options);

/* MODEL_FULL if the part needs rows, else depth. */
enum model_depth reading_part_depth(const struct reading_part_options *options,
				    enum model_depth depth);

/* What the model has to be of, for reading_model. */
struct model_settings reading_part_model(const struct reading_part_options *options);

/*
 * A command's output: a temporary file that is renamed when everything is written, or standard
 * output if path is NULL or "-".
 */
struct reading_output {
	FILE *file;
	char *temporary; /* NULL: standard output */
	const char *path;
};

/* ERR_USAGE: path is tape_path. path may be NULL or "-", which are standard output. */
struct err *reading_output_check(const char *path, const char *tape_path);

/* ERR_USAGE: path is tape_path, or it exists and may not be overwritten (cli/input.h). */
struct err *reading_output_open(struct reading_output *output, const char *path, bool may_overwrite,
				const char *tape_path);

/* Takes the result of writing; after an error an existing file is left unchanged. */
struct err *reading_output_close(struct reading_output *output, struct err *err);

#endif
