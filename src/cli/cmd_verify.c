/*
 * verify: whether a tape is whole. Every chunk is decoded and compared with what it says of itself.
 */
#include "capture/capture.h"
#include "cli/command.h"
#include "cli/foreign.h"
#include "cli/reading.h"

struct verify_options {
	bool json;
	bool quiet;
};

static const struct option_row rows[] = {
	{ "json", 'j', NULL, OPTION_FLAG, offsetof(struct verify_options, json), "print JSON" },
	{ "quiet", 'q', NULL, OPTION_FLAG, offsetof(struct verify_options, quiet),
	  "print nothing; the exit code is the answer" },
};

struct finding {
	uint64_t offset;
	const char *text;
};

VEC_DEFINE(findings, struct finding);

struct verification {
	struct arena arena;
	struct findings findings;
	uint64_t chunk_count;
	uint64_t open_count;
	uint64_t event_count;
	bool is_out_of_memory;
};

static void finding_add(struct verification *verification, uint64_t offset, const char *text)
{
	const char *copy = arena_strdup(&verification->arena, text);

	if (!copy || !findings_push(&verification->findings, (struct finding) { offset, copy }))
		verification->is_out_of_memory = true;
}

static void chunk_visit(void *context, const struct capture_chunk *chunk, uint64_t event_count,
			const char *error)
{
	struct verification *verification = context;

	verification->chunk_count++;
	verification->open_count += chunk->is_open;
	verification->event_count += event_count;
	if (error)
		finding_add(verification, chunk->offset, error);
}

static struct err *verify_capture(const struct capture *capture, struct verification *verification)
{
	const struct capture_facts *facts = capture_facts(capture);
	CLEAN(str_deinit) struct str text = { 0 };
	struct err *err;

	for (size_t i = 0; i < capture_damage_count(capture); i++) {
		const struct capture_damage *damage = capture_damage_get(capture, i);

		finding_add(verification, damage->offset, damage->text);
	}
	if (facts->missing_chunk_count > 0) {
		str_printf(&text,
			   "%llu chunks are missing: gaps in the numbers of those that are there",
			   (unsigned long long)facts->missing_chunk_count);
		finding_add(verification, facts->file_bytes, str_text(&text));
	}
	err = capture_verify(capture, chunk_visit, verification);
	if (err)
		return err;
	return verification->is_out_of_memory ? err_nomem() : NULL;
}

static void print_text(const char *path, const struct capture *capture,
		       const struct verification *verification)
{
	CLEAN(str_deinit) struct str text = { 0 };

	for (size_t i = 0; i < verification->findings.count; i++) {
		str_add_terminal(&text, path);
		str_add(&text, ": at byte ");
		str_add_u64(&text, verification->findings.items[i].offset);
		str_add(&text, ": ");
		str_add_terminal(&text, verification->findings.items[i].text);
		str_add_char(&text, '\n');
	}
	str_add_terminal(&text, path);
	str_add(&text, verification->findings.count ? ": damaged; readable are " : ": sound, ");
	str_add_grouped(&text, verification->event_count);
	str_add(&text, " events in ");
	str_add_grouped(&text, verification->chunk_count);
	str_add(&text, " chunks, ");
	str_add_iec(&text, capture_facts(capture)->file_bytes);
	if (verification->open_count > 0) {
		str_add(&text, "; ");
		str_add_grouped(&text, verification->open_count);
		str_add(&text, " chunks were never closed (killed, or still running)");
	}
	printf("%s\n", str_text(&text));
	if (capture_killed_text(capture))
		printf("%s\n", capture_killed_text(capture));
}

static struct err *print_json(const struct capture *capture,
			      const struct verification *verification)
{
	CLEAN(emit_destroy)
	struct emit *emit = emit_create(stdout, &(struct emit_settings) { .format = EMIT_JSON });

	if (!emit)
		return err_nomem();
	emit_object(emit, NULL);
	emit_bool(emit, "sound", verification->findings.count == 0);
	emit_u64(emit, "file_bytes", capture_facts(capture)->file_bytes, EMIT_BYTES);
	emit_u64(emit, "chunks", verification->chunk_count, EMIT_COUNT);
	emit_u64(emit, "open_chunks", verification->open_count, EMIT_COUNT);
	emit_u64(emit, "missing_chunks", capture_facts(capture)->missing_chunk_count, EMIT_COUNT);
	emit_u64(emit, "events", verification->event_count, EMIT_COUNT);
	emit_text(emit, "killed", capture_killed_text(capture));
	emit_list(emit, "damage");
	for (size_t i = 0; i < verification->findings.count; i++) {
		emit_object(emit, NULL);
		emit_u64(emit, "offset", verification->findings.items[i].offset, EMIT_PLAIN);
		emit_text(emit, "text", verification->findings.items[i].text);
		emit_end(emit);
	}
	emit_end(emit);
	emit_end(emit);
	return emit_finish(emit);
}

static struct err *verify_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct verify_options options = { 0 };
	struct verification verification = { 0 };
	CLEAN(capture_destroy) struct capture *capture = NULL;
	int operand_count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	if (err)
		return err;
	if (operand_count != 1)
		return err_new(ERR_USAGE, "expected one tape");
	err = foreign_explain(capture_open(argv[1], &capture), argv[1]);
	if (!err)
		err = verify_capture(capture, &verification);
	if (!err && verification.findings.count > 0)
		*exit_code = EXIT_FINDINGS;
	if (!err && options.json)
		err = print_json(capture, &verification);
	else if (!err && !options.quiet)
		print_text(argv[1], capture, &verification);
	findings_deinit(&verification.findings);
	arena_deinit(&verification.arena);
	return err;
}

const struct command cmd_verify = {
	.name = "verify",
	.summary = "check whether a tape is whole",
	.options = {
		.usage = "memtape verify TAPE [options]",
		.about = "Decodes every chunk of a tape, checks checksums and counts, and names the "
			 "byte where something is wrong. The exit code is 0 for a sound tape and 1 "
			 "for a damaged one.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = verify_run,
};
