#include "session/manifest.h"

#include <jansson.h>

#include "tape/tape_import.h"

CLEAN_DEFINE(json_decref, json_t *);

/* A name in the folder, and nothing else. */
static bool is_file_name(const char *name)
{
	return name[0] && name[0] != '.' && !strchr(name, '/');
}

static struct err *text_take(const json_t *line, const char *key, struct arena *arena,
			     const char **text_ret)
{
	const char *text = json_string_value(json_object_get(line, key));

	if (!text)
		return NULL;
	*text_ret = arena_strdup(arena, text);
	return *text_ret ? NULL : err_nomem();
}

static struct err *command_take(const json_t *line, struct arena *arena, struct manifest *manifest)
{
	const json_t *words = json_object_get(line, "command");
	const size_t count = json_array_size(words);
	const char **command = arena_array(arena, count + 1, sizeof(*command));

	if (!command)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const char *word = json_string_value(json_array_get(words, i));

		command[i] = arena_strdup(arena, word ? word : "");
		if (!command[i])
			return err_nomem();
	}
	manifest->command = command;
	manifest->command_count = count;
	return NULL;
}

static struct err *first_take(const json_t *line, struct arena *arena, struct manifest *manifest)
{
	const json_int_t version = json_integer_value(json_object_get(line, TAPE_SESSION_KEY));
	const json_int_t begin = json_integer_value(json_object_get(line, "begin_realtime_ns"));
	struct err *err;

	if (version <= 0)
		return err_new(ERR_FORMAT, "this is not the manifest of a recording");
	if (version > TAPE_SESSION_VERSION)
		return err_new(ERR_FORMAT, "the session is of a later version of memtape (%lld)",
			       (long long)version);
	manifest->begin_realtime_ns = begin > 0 ? (uint64_t)begin : 0;
	err = text_take(line, "follow", arena, &manifest->follow);
	if (!err)
		err = text_take(line, "host", arena, &manifest->host);
	return err ? err : command_take(line, arena, manifest);
}

/* Of the last line about a tape, if there are several. */
static struct err *end_take(const json_t *line, struct arena *arena, struct manifest *manifest)
{
	const json_t *signal = json_object_get(line, "signal");
	const json_t *number = signal ? signal : json_object_get(line, "status");
	const json_int_t value = json_integer_value(number);
	struct manifest_end end = { .is_signal = signal != NULL, .number = (int32_t)value };
	const json_int_t ns = json_integer_value(json_object_get(line, "ns"));
	struct err *err = text_take(line, "ended", arena, &end.tape);

	if (err || !end.tape || !is_file_name(end.tape) || !json_is_integer(number) || value < 0 ||
	    value > UINT8_MAX)
		return err;
	end.monotonic_ns = ns > 0 ? (uint64_t)ns : 0;
	return manifest_ends_push(&manifest->ends, end) ? NULL : err_nomem();
}

static bool bytes_take(const json_t *list, size_t index, uint64_t *bytes_ret)
{
	const json_t *item = json_array_get(list, index);
	const json_int_t value = json_integer_value(item);

	*bytes_ret = (uint64_t)value;
	return json_is_integer(item) && value >= 0;
}

/* A list of lists: a tape's name, then what its process has. */
static struct err *usages_take(const json_t *line, struct manifest *manifest)
{
	const json_t *list = json_object_get(line, "of");
	struct manifest_usage usage;
	const json_int_t ns = json_integer_value(json_object_get(line, "usage_ns"));

	usage.monotonic_ns = ns > 0 ? (uint64_t)ns : 0;
	for (size_t i = 0; ns > 0 && i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		const char *name = json_string_value(json_array_get(one, 0));

		if (!name || !is_file_name(name) || !bytes_take(one, 1, &usage.rss) ||
		    !bytes_take(one, 2, &usage.pss) || !bytes_take(one, 3, &usage.private))
			continue;
		usage.tape = interner_put(&manifest->usage_tapes, name, strlen(name));
		if (usage.tape == UINT32_MAX || !manifest_usages_push(&manifest->usages, usage))
			return err_nomem();
	}
	return NULL;
}

static struct err *other_take(const json_t *line, struct arena *arena, struct manifest *manifest)
{
	const char *name = NULL;
	struct err *err = text_take(line, "tape", arena, &name);

	manifest->has_ended |= json_is_true(json_object_get(line, "end"));
	if (!err)
		err = end_take(line, arena, manifest);
	if (!err)
		err = usages_take(line, manifest);
	if (err || !name || !is_file_name(name))
		return err;
	return manifest_names_push(&manifest->tapes, name) ? NULL : err_nomem();
}

struct err *manifest_parse(const char *text, size_t bytes, struct arena *arena,
			   struct manifest *manifest)
{
	bool is_first = true;
	struct err *err = NULL;

	*manifest = (struct manifest) { .command = NULL };
	for (size_t at = 0; at < bytes && !err; is_first = false) {
		const char *end = memchr(text + at, '\n', bytes - at);
		const size_t len = end ? (size_t)(end - text) - at : bytes - at;
		CLEAN(json_decref) json_t *line = json_loadb(text + at, len, 0, NULL);

		at += len + 1;
		if (is_first)
			err = first_take(line, arena, manifest);
		else if (line)
			err = other_take(line, arena, manifest);
		manifest->damaged_count += !line;
	}
	if (!err && is_first)
		err = err_new(ERR_FORMAT, "the manifest is empty");
	return err;
}

void manifest_deinit(struct manifest *manifest)
{
	manifest_names_deinit(&manifest->tapes);
	manifest_ends_deinit(&manifest->ends);
	manifest_usages_deinit(&manifest->usages);
	interner_deinit(&manifest->usage_tapes);
}
