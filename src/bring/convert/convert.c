#include "convert/convert.h"

#include <assert.h>

#include "base/str.h"

const struct importer *importer_find(const char *name)
{
	for (size_t i = 0; importer_table[i]; i++)
		if (strcmp(importer_table[i]->name, name) == 0)
			return importer_table[i];
	return NULL;
}

const struct importer *importer_probe(const char *bytes, size_t count)
{
	const struct importer *best = NULL;
	enum importer_match match = IMPORTER_NO;

	assert(bytes[count] == '\0');
	for (size_t i = 0; importer_table[i]; i++) {
		const enum importer_match found = importer_table[i]->probe(bytes, count);

		if (found > match) {
			match = found;
			best = importer_table[i];
		}
	}
	return best;
}

static const struct importer *source_probe(struct source *source)
{
	char copy[IMPORTER_PROBE_BYTES + 1];
	const char *bytes;
	size_t count;

	source_peek(source, IMPORTER_PROBE_BYTES, &bytes, &count);
	count = u64_min(count, IMPORTER_PROBE_BYTES);
	memcpy(copy, bytes, count);
	copy[count] = '\0';
	return importer_probe(copy, count);
}

const struct importer *convert_probe(const char *path)
{
	CLEAN(source_close) struct source *source = NULL;
	struct err *err = source_open(path, &source);

	err_destroy(err);
	return err ? NULL : source_probe(source);
}

static struct err *unknown_format(struct source *source, const char *path)
{
	CLEAN(str_deinit) struct str names = { 0 };
	const char *bytes;
	size_t count;

	source_peek(source, 8, &bytes, &count);
	if (count == 0)
		return err_new(ERR_FORMAT, "%s is empty", path);
	if (count >= 8 && memcmp(bytes, "MEMTAPE\n", 8) == 0)
		return err_new(ERR_STATE, "%s is already a tape", path);
	for (size_t i = 0; importer_table[i]; i++)
		str_printf(&names, "%s%s", i ? ", " : "", importer_table[i]->name);
	return err_new(ERR_FORMAT, "%s: unknown format; if it is one of %s, choose it with --from",
		       path, str_text(&names));
}

static struct err *finish(struct source *source, struct composer *composer,
			  struct converted *converted)
{
	struct compose_result result;
	struct err *err;

	source_tell(source, composer);
	err = composer_finish(composer, &result);
	if (err)
		return err;
	converted->bytes_in = source_file_offset(source);
	converted->bytes_out = result.bytes_out;
	converted->event_count = result.event_count;
	converted->missing = result.missing;
	converted->is_torn = result.is_torn;
	for (size_t i = 0; i < result.note_count; i++)
		str_printf(&converted->notes, "%s\n", result.notes[i]);
	return NULL;
}

struct err *convert_file(const char *in, const char *out, const struct convert_settings *settings,
			 struct converted *converted_ret)
{
	CLEAN(source_close) struct source *source = NULL;
	CLEAN(composer_destroy) struct composer *composer = NULL;
	struct converted converted = { .importer = settings->importer };
	struct err *err = source_open(in, &source);

	if (err)
		return err;
	if (!converted.importer)
		converted.importer = source_probe(source);
	if (!converted.importer)
		return unknown_format(source, in);
	source_progress(source, settings->progress, settings->context);
	err = composer_create(out, settings->overwrite, &composer);
	if (err)
		return err;
	composer_source(composer, converted.importer->name, source_name(source));
	err = converted.importer->read(source, composer);
	if (err)
		return err_wrap(err, "%s", in);
	err = finish(source, composer, &converted);
	if (err && err_code_of(err) == ERR_FORMAT)
		return err_wrap(err, "%s", in);
	if (err)
		return err;
	*converted_ret = converted;
	return NULL;
}
