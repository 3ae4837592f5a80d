#include "cli/record_summary.h"

#include <assert.h>
#include <stdio.h>

#include "base/monotonic.h"
#include "base/str.h"
#include "cli/overview.h"
#include "cli/reading.h"
#include "cli/record_player.h"
#include "cli/suppressing.h"
#include "collect/own_malloc.h"
#include "model/model.h"
#include "report/report.h"

/* Reports that the program ran without the recorder. */
static void add_absence(struct str *text, const struct program *program)
{
	str_add(text, "memtape: nothing was recorded: ");
	str_add_terminal(text, program->name);
	str_add(text, " did not load the recorder.\n");
	str_add(text, "memtape: the dynamic linker says why with LD_DEBUG=libs; a program "
		      "that unsets LD_PRELOAD\nmemtape: or runs with privileges must be "
		      "recorded without that.\n");
}

enum { HARDLY_ANY = 1000 }; /* events before a program's own allocator starts */

/* A Go program may have C code with an allocator. */
static void add_go(struct str *text, const struct own_malloc *own)
{
	str_add(text, " is a program of Go: the heap of Go's runtime is its own and not recorded;\n"
		      "memtape: Go's pprof shows it. ");
	if (own->allocator || own->has_malloc) {
		str_add(text, "Its C code calls ");
		str_add(text, own->allocator ? own->allocator : "a malloc");
		str_add(text, " that is linked into it, which cannot be\n"
			      "memtape: recorded either; link the shared library of it instead\n");
	} else if (own->calls_malloc) {
		str_add(text, "What C code in it allocates is recorded, and mappings are\n");
	} else {
		str_add(text, "Only mappings are recorded, for it has no C code that allocates\n");
	}
}

static bool was_asked_for(const struct option_list *allocators, const char *prefix)
{
	for (size_t i = 0; i < allocators->count; i++) {
		const char *found = strstr(allocators->items[i], prefix);

		if (found && found > allocators->items[i] && found[-1] == '=')
			return true;
	}
	return false;
}

/* Functions called by name can be recorded, but not calls bound inside the object. */
static void add_option(struct str *text, const struct own_malloc *own)
{
	char name[sizeof(own->prefix)];

	memcpy(name, own->prefix, sizeof(name));
	for (size_t len = strlen(name); len > 1 && name[len - 1] == '_'; len--)
		name[len - 1] = '\0';
	str_add(text, own->prefix_is_inside ? " exports " : " calls ");
	str_add_terminal(text, own->prefix);
	str_add(text, own->prefix_is_inside
			      ? "malloc: what its libraries call of it is recorded with\nmemtape: "
			      : "malloc of a library, which is recorded with\nmemtape: ");
	str_add(text, "--allocator ");
	str_add_terminal(text, name);
	str_add(text, "=");
	str_add_terminal(text, own->prefix);
	str_add(text, own->prefix_is_inside ? "; its own calls are bound inside and cannot be\n"
					    : ", if its arguments are malloc's\n");
}

static void add_inside(struct str *text, const struct own_malloc *own)
{
	str_add(text, " has ");
	str_add(text, own->allocator ? own->allocator : "a malloc of its own");
	str_add(text, " inside, which its calls go to directly and cannot be recorded,\n"
		      "memtape: with --allocator neither; link it without, or with the shared "
		      "library of it (an\nmemtape: allocator may also be preloaded: "
		      "LD_PRELOAD=/path/to/it.so memtape ...)\n");
}

/* Whether one of the --allocator words, possibly in a comma-separated list, disables it. */
static bool are_left_alone(const struct option_list *allocators)
{
	static const char NONE[] = "none";

	for (size_t i = 0; i < allocators->count; i++) {
		const char *at = allocators->items[i];

		for (;; at++) {
			const size_t len = strcspn(at, ",");

			if (len == strlen(NONE) && strncmp(at, NONE, len) == 0)
				return true;
			at += len;
			if (!*at)
				break;
		}
	}
	return false;
}

/* Calls from its libraries are on the tape, unless the user excluded them. */
static void add_partly(struct str *text, const struct program *program,
		       const struct option_list *allocators)
{
	const struct own_malloc own = own_malloc_find(program->subject, false);

	if (!own.has_malloc || own.is_go || are_left_alone(allocators))
		return;
	str_add(text, "memtape: ");
	str_add_terminal(text, program->name);
	str_add(text, " has a malloc of its own inside: what its libraries allocate is recorded; "
		      "its own\n"
		      "memtape: calls go there, and are recorded only where that passes them on\n");
}

/* Few events: names the allocator that may have had them, and what to do. */
static void add_other_allocator(struct str *text, const struct program *program,
				const struct option_list *allocators)
{
	const struct own_malloc own = own_malloc_find(program->subject, true);
	const bool has_option = own.prefix[0] && !was_asked_for(allocators, own.prefix);

	if (!own.is_go && !own.allocator && !own.has_malloc && !has_option)
		return;
	str_add(text, "memtape: ");
	str_add_terminal(text, program->name);
	if (own.is_go)
		add_go(text, &own);
	else if (has_option)
		add_option(text, &own);
	else
		add_inside(text, &own);
}

static void add_line(struct str *text, const struct collector_result *result)
{
	str_add(text, "memtape: ");
	str_add_counted(text, result->event_count, "event");
	str_add(text, " in ");
	str_add_duration(text, result->wall_ns);
	str_add(text, ", tape ");
	str_add_terminal(text, result->path);
	str_add(text, " (");
	str_add_iec(text, result->tape_bytes);
	if (result->event_count > 0) {
		str_add(text, ", ");
		str_add_ratio(text, result->tape_bytes, result->event_count, 1);
		str_add(text, " bytes per event");
	}
	str_add(text, ")\n");
}

static void add_left(struct str *text, uint32_t count, const char *which)
{
	if (count == 0)
		return;
	str_add(text, "memtape: not recorded: ");
	str_add_counted(text, count, "program");
	str_add(text, which);
}

static void add_losses(struct str *text, const struct collector_result *result)
{
	if (result->fault) {
		str_add(text, "memtape: recording stopped early: ");
		str_add_terminal(text, result->fault);
		str_add(text, "\n");
	}
	if (result->was_stopped && !result->is_left_attached)
		str_add(text,
			"memtape: recording was stopped then, as asked; the program went on\n");
	if (result->missing_count > 0) {
		str_add(text, "memtape: at least ");
		str_add_counted(text, result->missing_count, "event");
		str_add(text, " missing on the tape\n");
	}
	if (result->truncated_count > 0) {
		str_add(text, "memtape: ");
		str_add_counted(text, result->truncated_count, "stack");
		str_add(text, " cut short\n");
	}
	add_left(text, result->others_left,
		 " of 32 bits or for another processor (memtape-record(1), 32-bit programs)\n");
	add_left(text, result->static_left,
		 " linked statically (memtape-record(1), STATIC PROGRAMS)\n");
	add_left(text, result->barred_left,
		 " that the recorder could not be given to (memtape-record(1), --follow)\n");
	if (result->replaced)
		str_printf(text,
			   "memtape: the program replaced itself by another (exec), which %s\n",
			   result->replaced);
	else if (result->children_worked)
		str_add(text, "memtape: most of the work was done in child processes, which are "
			      "recorded with --follow only\n");
}

static void add_children(struct str *text, const struct collector_result *result)
{
	if (result->child_count > 0) {
		str_add(text, "memtape: and the tapes of ");
		str_add_u64(text, result->child_count);
		str_add(text, result->child_count == 1 ? " child process\n" : " child processes\n");
	}
	if (result->session_path) {
		str_add(text, "memtape: all processes: memtape report ");
		str_add_terminal(text, result->session_path);
		str_add(text, " processes\n");
	}
	if (result->child_raw_count > 0) {
		str_add(text, "memtape: ");
		str_add_u64(text, result->child_raw_count);
		str_add(text,
			result->child_raw_count == 1
				? " tape of a child is not compressed yet, because it still runs "
				: " tapes of children are not compressed yet, because they still "
				  "run ");
		str_add(text, "or space is\nmemtape: short; `memtape repack TAPE` does it later\n");
	}
}

/* "before it: sh (1,204 allocations, peak 35.1 KiB)" */
static void add_former(struct str *text, const struct collector_former *former)
{
	str_add_terminal(text, former->name[0] ? former->name : "a program");
	str_add(text, " (");
	str_add_grouped(text, former->figures.allocation_count);
	str_add(text, former->figures.allocation_count == 1 ? " allocation, peak "
							    : " allocations, peak ");
	str_add_iec(text, former->figures.peak_bytes);
	if (former->path) {
		str_add(text, ", tape ");
		str_add_terminal(text, former->path);
	}
	str_add(text, ")");
}

static void add_formers(struct str *text, const struct collector_result *result)
{
	if (result->former_count == 0)
		return;
	str_add(text, "memtape: before it: ");
	if (result->former_more > 0) {
		str_add_grouped(text, result->former_more);
		str_add(text, " others, ");
	}
	for (uint32_t i = 0; i < result->former_count; i++) {
		str_add(text, i > 0 ? ", " : "");
		add_former(text, &result->formers[i]);
	}
	str_add(text, "\n");
}

struct err *record_summary_look(const char *tape_path, struct arena *arena,
				struct collector_former *former)
{
	CLEAN(model_destroy) struct model *model = NULL;
	struct err *err = model_load(tape_path, MODEL_SUMMARY, &model);
	const struct model_process *process;
	const char *name;

	assert(tape_path && former);
	if (err)
		return err;
	process = model_process(model);
	name = process->argc > 0 ? process->argv[0] : process->exe;
	name = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
	former->name = arena_strdup(arena, name);
	former->figures.allocation_count = model_totals(model)->allocated.count;
	former->figures.peak_bytes = model_totals(model)->peak.bytes;
	return former->name ? NULL : err_nomem();
}

enum {
	SITES_SHOWN = 3,
	PROCESSES_SHOWN = 15,
	OVERVIEW_MAX = 200 /* processes, beyond which nobody waits for their table */
};

/* The model comes from the recording if it may be one without rows. */
static struct err *print_report(const struct report *report, const struct collector_result *result,
				const struct report_settings *settings, bool verbose)
{
	const uint64_t begin_ns = monotonic_ns();
	CLEAN(model_destroy) struct model *model = NULL;
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(str_deinit) struct str text = { 0 };
	const char *why_not = "suppressions need the tape's rows";
	const bool is_played = report_depth(report, settings) == MODEL_SUMMARY;
	struct err *err = NULL;

	if (is_played)
		model = record_player_model(result, &arena, &why_not);
	if (verbose) {
		str_add(&text, model ? "memtape: the summary was made while recording, and in "
				     : "memtape: the summary is made from the tape: ");
		if (model)
			str_add_duration(&text, monotonic_ns() - begin_ns);
		else
			str_add_terminal(&text, why_not ? why_not : "out of memory");
		fprintf(stderr, "%s\n", str_text(&text));
	}
	fputc('\n', stderr);
	if (model)
		err = report_run_model(report, model, settings, stderr);
	else
		err = report_run(report, result->path, settings, stderr);
	return err;
}

/* Prints what was recorded; the tape is already complete, so an error here is only worth a line. */
static void print_findings(const struct collector_result *result, bool verbose)
{
	/* Names found now are cached for the next report; no server is queried here. */
	const struct reading_symbol_options options = { .no_debuginfod = true,
							.sysroot = result->sysroot };
	CLEAN(reading_symbols_deinit) struct reading_symbols symbols = { 0 };
	CLEAN(suppressing_deinit) struct suppressing suppressing = { 0 };
	CLEAN(err_destroy) struct err *err = reading_symbols_init(&symbols, &options, NULL);
	const struct report_settings settings = {
		.format = EMIT_TEXT,
		.colour = reading_wants_colour(stderr),
		.width = reading_width(stderr),
		.with.top = SITES_SHOWN,
		.symbols = &symbols.options,
		.suppressions = &suppressing.rules,
		.tape_path = result->path,
	};

	if (!err)
		err = suppressing_load(&suppressing, NULL);
	if (!err)
		err = print_report(report_find("summary"), result, &settings, verbose);
	if (err)
		fprintf(stderr, "memtape: no summary: %s\n", err_message(err));
}

/* Unreadable tapes are left out; each tape's own report says why. */
static struct err *overview_of(const struct collector_result *result, struct overview_vec *rows,
			       struct arena *arena)
{
	struct err *err = overview_add(rows, result->path, arena);

	for (uint32_t i = 0; i < result->former_count; i++)
		if (result->formers[i].path)
			err_destroy(overview_add(rows, result->formers[i].path, arena));
	for (uint32_t i = 0; i < result->child_path_count; i++)
		err_destroy(overview_add(rows, result->child_paths[i], arena));
	return err;
}

/* For a recording with children: all its processes. */
static void print_overview(const struct collector_result *result)
{
	const struct emit_settings settings = {
		.format = EMIT_TEXT,
		.colour = reading_wants_colour(stderr),
		.width = reading_width(stderr),
	};
	CLEAN(overview_vec_deinit) struct overview_vec rows = { 0 };
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(err_destroy) struct err *err = overview_of(result, &rows, &arena);

	fputc('\n', stderr);
	if (!err)
		err = overview_write(&rows, PROCESSES_SHOWN, &settings, stderr);
	if (err)
		fprintf(stderr, "memtape: no overview: %s\n", err_message(err));
}

struct err *record_summary_print(const struct program *program,
				 const struct collector_result *result,
				 const struct option_list *allocators,
				 const struct record_summary_wish *wish)
{
	CLEAN(str_deinit) struct str text = { 0 };
	CLEAN(str_deinit) struct str folded = { 0 };

	if (!result->path && !result->fault) {
		add_absence(&text, program);
	} else {
		if (result->path)
			add_line(&text, result);
		if (result->event_count < HARDLY_ANY)
			add_other_allocator(&text, program, allocators);
		else
			add_partly(&text, program, allocators);
		add_formers(&text, result);
		add_losses(&text, result);
		add_children(&text, result);
	}
	if (text.failed)
		return err_nomem();
	str_add_wrapped(&folded, str_text(&text), reading_width(stderr));
	fputs(str_text(&folded), stderr);
	if (wish->findings && result->path)
		print_findings(result, wish->verbose);
	if (wish->findings && result->path && result->child_path_count > 0 &&
	    result->child_path_count <= OVERVIEW_MAX)
		print_overview(result);
	return NULL;
}
