/*
 * A recording of memtape triage: it is looks, which written again are what was read, and of which a
 * triage can be made, in both forms; or an error that names what is wrong.
 */
#include <stdlib.h>

#include "report/triage.h"

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void write_all(const struct looks *looks, struct str *out)
{
	looks_write_begin(looks, out);
	for (size_t i = 0; i < looks->count; i++)
		look_write(&looks->items[i], out);
	check(!out->failed);
}

/* Writing is settled: what was written, read and written again is the same. */
static void check_round_trip(const struct looks *looks)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(str_deinit) struct str once = { 0 };
	CLEAN(str_deinit) struct str twice = { 0 };
	struct looks again;

	write_all(looks, &once);
	check(!looks_parse(str_text(&once), once.len, &arena, &again));
	check(again.count == looks->count && again.subject == looks->subject);
	write_all(&again, &twice);
	check(once.len == twice.len && strcmp(str_text(&once), str_text(&twice)) == 0);
}

static void check_lines(const char *text, size_t bytes)
{
	size_t columns = 0;

	for (size_t i = 0; i < bytes; i++) {
		check((unsigned char)text[i] >= ' ' || text[i] == '\n');
		columns = text[i] == '\n' ? 0 : columns + 1;
	}
	check(columns == 0);
}

static void check_report(const struct triage *triage, bool is_json)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	check(out != NULL);
	check(!triage_report(triage, is_json, false, out));
	fclose(out);
	check(bytes > 0);
	check_lines(text, bytes);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	CLEAN(free) char *text = malloc(size + 1);
	const struct triage *triage = NULL;
	struct looks looks = { 0 };
	struct err *err;

	check(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	err = looks_parse(text, size, &arena, &looks);
	if (err) {
		check(err_code_of(err) == ERR_FORMAT);
		err_destroy(err);
		return 0;
	}
	check_round_trip(&looks);
	err = triage_make(&looks, &arena, &triage);
	if (err) {
		check(err_code_of(err) == ERR_NOT_FOUND && looks.subject);
		err_destroy(err);
		return 0;
	}
	check_report(triage, false);
	check_report(triage, true);
	return 0;
}
