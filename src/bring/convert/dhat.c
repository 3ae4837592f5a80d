/*
 * DHAT's profiles: JSON with sums for each allocation site - total, at the peak, at the end - whose
 * stacks are numbers of frames listed at the end of the file. Written by Valgrind, and by others
 * with the same format (dhat-rs, memtape).
 */
#include <inttypes.h>

#include "convert/importer.h"
#include "convert/json_pull.h"
#include "convert/valgrind_place.h"

struct dhat_point {
	size_t first; /* start of its stack in dhat.numbers, innermost first */
	size_t count;
	struct compose_sum sum;
};

struct dhat_frame {
	uint32_t frame; /* the composer's */
	bool is_own;	/* Valgrind's malloc */
};

VEC_DEFINE(dhat_point_vec, struct dhat_point);
VEC_DEFINE(dhat_frame_vec, struct dhat_frame);

struct dhat {
	struct json_pull json;
	struct composer *composer;
	struct dhat_point_vec points;
	struct dhat_frame_vec frames;
	struct vec_u32 numbers;
	struct str text;
	struct str mode;
	struct str unit; /* of times */
	struct str command;
	uint64_t version;
	uint64_t pid;
	uint64_t peak_time;
	uint64_t end_time;
	bool has_lifetimes; /* "bklt": also what was alive when */
	bool has_points;
	bool has_frames;
	bool no_memory;
};

static void dhat_deinit(struct dhat *dhat)
{
	dhat_point_vec_deinit(&dhat->points);
	dhat_frame_vec_deinit(&dhat->frames);
	vec_u32_deinit(&dhat->numbers);
	str_deinit(&dhat->text);
	str_deinit(&dhat->mode);
	str_deinit(&dhat->unit);
	str_deinit(&dhat->command);
}

CLEAN_DEFINE_DEINIT(dhat_deinit, struct dhat);

static enum importer_match dhat_probe(const char *bytes, size_t count)
{
	(void)count;
	bytes += strspn(bytes, " \t\r\n");
	return *bytes == '{' && strstr(bytes, "\"dhatFileVersion\"") ? IMPORTER_YES : IMPORTER_NO;
}

static void stack_take(struct dhat *dhat, struct dhat_point *point)
{
	uint64_t number;

	point->first = dhat->numbers.count;
	json_enter(&dhat->json, '[');
	while (json_element(&dhat->json) && json_number(&dhat->json, &number)) {
		if (dhat->numbers.count - point->first == COMPOSE_DEPTH_MAX && !dhat->json.why)
			dhat->json.why = "a stack is deeper than any is";
		if (!vec_u32_push(&dhat->numbers, (uint32_t)u64_min(number, UINT32_MAX)))
			dhat->no_memory = true;
	}
	point->count = dhat->numbers.count - point->first;
}

/* {"tb":90030,"tbk":30,"gb":90030,"gbk":30,"eb":90030,"ebk":30,"fs":[1,2,3]} */
static void point_take(struct dhat *dhat)
{
	struct dhat_point point = { 0 };
	const struct {
		const char *key;
		uint64_t *value;
	} numbers[] = {
		{ "tb", &point.sum.allocated_bytes }, { "tbk", &point.sum.allocated_count },
		{ "gb", &point.sum.peak_bytes },      { "gbk", &point.sum.peak_count },
		{ "eb", &point.sum.live_bytes },      { "ebk", &point.sum.live_count },
	};

	json_enter(&dhat->json, '{');
	while (json_key(&dhat->json, &dhat->text)) {
		const char *key = str_text(&dhat->text);
		size_t i = 0;

		while (i < array_size(numbers) && strcmp(numbers[i].key, key) != 0)
			i++;
		if (i < array_size(numbers))
			json_number(&dhat->json, numbers[i].value);
		else if (strcmp(key, "fs") == 0)
			stack_take(dhat, &point);
		else
			json_skip(&dhat->json);
	}
	if (!dhat->json.why && !dhat_point_vec_push(&dhat->points, point))
		dhat->no_memory = true;
}

static void points_take(struct dhat *dhat)
{
	dhat->has_points = true;
	json_enter(&dhat->json, '[');
	while (!dhat->no_memory && json_element(&dhat->json))
		point_take(dhat);
}

static void frames_take(struct dhat *dhat)
{
	CLEAN(valgrind_place_deinit) struct valgrind_place place = { 0 };

	json_enter(&dhat->json, '[');
	while (!dhat->no_memory && !composer_failed(dhat->composer) && json_element(&dhat->json) &&
	       json_string(&dhat->json, &dhat->text)) {
		struct dhat_frame frame = { 0 };

		valgrind_place_read(&place, str_text(&dhat->text));
		frame.frame = valgrind_place_frame(&place, dhat->composer);
		frame.is_own = valgrind_place_is_own(&place);
		if (valgrind_place_failed(&place) || !dhat_frame_vec_push(&dhat->frames, frame))
			dhat->no_memory = true;
	}
	dhat->has_frames = !dhat->json.why;
}

static void member_take(struct dhat *dhat)
{
	struct json_pull *json = &dhat->json;
	const char *key = str_text(&dhat->text);
	const struct {
		const char *key;
		struct str *text;
		uint64_t *number;
	} members[] = {
		{ "dhatFileVersion", NULL, &dhat->version },
		{ "mode", &dhat->mode, NULL },
		{ "tu", &dhat->unit, NULL },
		{ "cmd", &dhat->command, NULL },
		{ "pid", NULL, &dhat->pid },
		{ "tg", NULL, &dhat->peak_time },
		{ "te", NULL, &dhat->end_time },
	};

	for (size_t i = 0; i < array_size(members); i++) {
		if (strcmp(members[i].key, key) != 0)
			continue;
		if (members[i].text)
			json_string(json, members[i].text);
		else
			json_number(json, members[i].number);
		return;
	}
	if (strcmp(key, "bklt") == 0)
		json_bool(json, &dhat->has_lifetimes);
	else if (strcmp(key, "pps") == 0)
		points_take(dhat);
	else if (strcmp(key, "ftbl") == 0)
		frames_take(dhat);
	else
		json_skip(json);
}

/* --- to the tape ------------------------------------------------------------------------------ */

/* UINT32_MAX: a frame is missing from the file. */
static uint32_t stack_of(const struct dhat *dhat, const struct dhat_point *point)
{
	const uint32_t *numbers = dhat->numbers.items + point->first;
	uint32_t stack = COMPOSE_ROOT;
	size_t first = 0;

	for (size_t i = 0; i < point->count; i++)
		if (numbers[i] >= dhat->frames.count)
			return UINT32_MAX;
	while (first + 1 < point->count && dhat->frames.items[numbers[first]].is_own)
		first++;
	for (size_t i = point->count; i-- > first;)
		stack = composer_stack(dhat->composer, stack, dhat->frames.items[numbers[i]].frame);
	return point->count ? stack : COMPOSE_NO_STACK;
}

static void points_write(const struct dhat *dhat)
{
	uint64_t broken = 0;

	for (size_t i = 0; i < dhat->points.count && !composer_failed(dhat->composer); i++) {
		const struct dhat_point *point = &dhat->points.items[i];
		struct compose_sum sum = point->sum;
		const uint32_t stack = stack_of(dhat, point);

		sum.has_peak = dhat->has_lifetimes;
		broken += stack == UINT32_MAX;
		composer_sum(dhat->composer, stack == UINT32_MAX ? COMPOSE_NO_STACK : stack, &sum);
	}
	if (broken > 0)
		composer_note(dhat->composer,
			      "%" PRIu64 " stacks have frames that are not in the file: they are "
			      "shown as not known",
			      broken);
}

/* One nanosecond per unit if it is not a unit of time. */
static uint64_t time_ns(const struct dhat *dhat, uint64_t time)
{
	const bool is_us = strcmp(str_text(&dhat->unit), "\302\265s") == 0;

	return is_us ? u64_min(time, UINT64_MAX >> 12) * 1000 : time;
}

static void facts_write(const struct dhat *dhat)
{
	struct composer *composer = dhat->composer;

	composer_missing(composer, TAPE_MISSING_TIMES | TAPE_MISSING_THREADS | TAPE_MISSING_USABLE |
					   TAPE_MISSING_FREE_STACKS | TAPE_MISSING_FUNCTIONS |
					   TAPE_MISSING_PROCESS);
	if (dhat->command.len > 0)
		composer_command_line(composer, str_text(&dhat->command));
	if (!dhat->has_lifetimes) {
		composer_missing(composer, TAPE_MISSING_FREES);
		composer_note(composer, "the file has only what was allocated, not what was alive: "
					"all is shown as freed");
		return;
	}
	composer_peak(composer, time_ns(dhat, dhat->peak_time), time_ns(dhat, dhat->end_time));
	composer_note(composer,
		      "the file knows the peak and the end: what was allocated and freed otherwise "
		      "is shown at the beginning, what the peak had and the end has not is freed "
		      "at the end");
	if (strcmp(str_text(&dhat->unit), "\302\265s") != 0)
		composer_note(composer, "times are %.40s, each taken for a nanosecond",
			      strcmp(str_text(&dhat->unit), "instrs") == 0 ? "instructions"
									   : str_text(&dhat->unit));
}

static struct err *dhat_check(struct dhat *dhat, struct source *source)
{
	json_settle(&dhat->json);
	if (dhat->no_memory)
		return err_nomem();
	if (dhat->mode.len > 0 && strcmp(dhat->mode.ptr, "heap") != 0 &&
	    strcmp(dhat->mode.ptr, "rust-heap") != 0)
		return source_error(
			source,
			"the profile's mode is \"%.40s\": only those of the heap can be "
			"read (valgrind --tool=dhat without --mode)",
			dhat->mode.ptr);
	/* the frames come last: without them no stack is known */
	if (dhat->json.why)
		return source_error(source, "%s", dhat->json.why);
	if (!dhat->has_points || !dhat->has_frames)
		return source_error(source, "this is no profile of DHAT: \"pps\" or \"ftbl\" is "
					    "missing");
	return NULL;
}

static struct err *dhat_read(struct source *source, struct composer *composer)
{
	CLEAN(dhat_deinit) struct dhat dhat = { .json.source = source, .composer = composer };
	struct err *err;

	json_enter(&dhat.json, '{');
	while (!dhat.no_memory && json_key(&dhat.json, &dhat.text))
		member_take(&dhat);
	err = dhat_check(&dhat, source);
	if (err)
		return err;
	if (dhat.version != 2)
		return source_error(source,
				    "version %" PRIu64 " of DHAT's files is not known, only 2",
				    dhat.version);
	facts_write(&dhat);
	points_write(&dhat);
	return NULL;
}

const struct importer importer_dhat = {
	.name = "dhat",
	.title = "DHAT's profiles, dhat.out.PID, also of dhat-rs",
	.recipe = "valgrind --tool=dhat PROGRAM",
	.probe = dhat_probe,
	.read = dhat_read,
};
