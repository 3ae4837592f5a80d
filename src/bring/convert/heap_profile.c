#include <assert.h>
#include <inttypes.h>

#include "convert/heap_profile.h"

#include <math.h>

#include "base/number.h"
#include "convert/elf_kind.h"
#include "convert/scan.h"

static const uint32_t NO_TEXT = UINT32_MAX;

void heap_profile_deinit(struct heap_profile *profile)
{
	heap_row_vec_deinit(&profile->rows);
	heap_thread_vec_deinit(&profile->threads);
	heap_object_vec_deinit(&profile->objects);
	vec_u64_deinit(&profile->pcs);
	interner_deinit(&profile->texts);
	map_deinit(&profile->names);
}

void heap_profile_bad_line(struct heap_profile *profile, const struct source *source)
{
	assert(profile->bad_count == 0 || profile->bad_line > 0);
	if (profile->bad_count++ == 0)
		profile->bad_line = source_line_number(source);
}

static uint32_t text_put(struct heap_profile *profile, const char *text, size_t len)
{
	const uint32_t id = interner_put(&profile->texts, text, len);

	profile->failed |= id == UINT32_MAX;
	return id;
}

/* --- rows ------------------------------------------------------------------------------------- */

bool heap_profile_stack(struct heap_profile *profile, const char *text, size_t *first_ret,
			uint32_t *count_ret)
{
	const size_t first = profile->pcs.count;
	uint64_t pc;

	assert(text);
	for (scan_blanks(&text); *text && *text != '\r'; scan_blanks(&text)) {
		if (!scan_text(&text, "0x") || !scan_hex(&text, &pc) ||
		    profile->pcs.count - first == COMPOSE_DEPTH_MAX) {
			profile->pcs.count = first;
			return false;
		}
		if (pc) /* 0 is the end of a stack, not a place in it */
			profile->failed |= !vec_u64_push(&profile->pcs, pc);
	}
	*first_ret = first;
	*count_ret = (uint32_t)(profile->pcs.count - first);
	return true;
}

static bool pair_scan(const char **at, uint64_t *count_ret, uint64_t *bytes_ret)
{
	scan_blanks(at);
	if (!scan_number(at, count_ret) || !scan_text(at, ":"))
		return false;
	scan_blanks(at);
	return scan_number(at, bytes_ret);
}

bool heap_profile_sum(const char **at, struct compose_sum *sum_ret)
{
	const char *to = *at;

	if (!pair_scan(&to, &sum_ret->live_count, &sum_ret->live_bytes))
		return false;
	scan_blanks(&to);
	if (!scan_text(&to, "[") ||
	    !pair_scan(&to, &sum_ret->allocated_count, &sum_ret->allocated_bytes) ||
	    !scan_text(&to, "]"))
		return false;
	scan_blanks(&to);
	*at = to;
	return true;
}

static void scale(const struct heap_profile *profile, uint64_t *count, uint64_t *bytes)
{
	const double periods =
		*count ? (double)*bytes / (double)*count / (double)profile->period : 0;
	double factor = 1;

	if (periods <= 0)
		return; /* a count without bytes says nothing */
	if (profile->sampling == HEAP_SAMPLING_POISSON)
		factor = -1 / expm1(-periods);
	else if (periods < 1)
		factor = 1 / periods;
	*count = u64_min(u64_of_double((double)*count * factor + 0.5), SCAN_NUMBER_END);
	*bytes = u64_min(u64_of_double((double)*bytes * factor + 0.5), SCAN_NUMBER_END);
}

struct compose_sum heap_profile_scale(const struct heap_profile *profile,
				      const struct compose_sum *sum)
{
	struct compose_sum whole = *sum;

	if (profile->sampling == HEAP_SAMPLING_NONE || profile->period <= 1)
		return whole;
	scale(profile, &whole.live_count, &whole.live_bytes);
	scale(profile, &whole.allocated_count, &whole.allocated_bytes);
	/* both are independent estimates, and the total is not less than its part */
	whole.allocated_count = u64_max(whole.allocated_count, whole.live_count);
	whole.allocated_bytes = u64_max(whole.allocated_bytes, whole.live_bytes);
	return whole;
}

/* --- names ------------------------------------------------------------------------------------ */

/* "0x0000000000401175 inner<0000000000401166>": pprof's suffix is not part of the name. */
static bool symbol_take(struct heap_profile *profile, const char *line, size_t len)
{
	const char *end = line + len;
	uint64_t address, extra;
	uint64_t *place;
	const char *at = line;

	if (!scan_text(&at, "0x") || !scan_hex(&at, &address) || *at != ' ')
		return false;
	line = ++at;
	if (end - line > 18 && end[-18] == '<' && end[-1] == '>') {
		at = end - 17;
		if (scan_hex(&at, &extra) && at == end - 1)
			end -= 18;
	}
	place = map_put(&profile->names, address, NULL);
	if (place)
		*place = text_put(profile, line, (size_t)(end - line));
	profile->failed |= !place;
	return true;
}

void heap_profile_symbols(struct heap_profile *profile, struct source *source, char **line_ret)
{
	bool is_inside = true;
	char *line;
	size_t len;

	*line_ret = NULL;
	if (!source_line(source, &line, &len)) /* "--- symbol" */
		return;
	while (!profile->failed && source_line(source, &line, &len)) {
		const char *at = line;

		if (!is_inside && !scan_text(&at, "---")) {
			*line_ret = line;
			return;
		}
		if (scan_text(&at, "---"))
			is_inside = false;
		else if (scan_text(&at, "binary="))
			profile->binary = text_put(profile, at, len - (size_t)(at - line)) + 1;
		else if (!symbol_take(profile, line, len))
			heap_profile_bad_line(profile, source);
	}
}

/* --- objects ---------------------------------------------------------------------------------- */

/* "00401000-00402000 r-xp 00001000 fe:00 123   /tmp/t"; false: not such a line. */
static bool mapping_scan(const char *line, struct heap_object *object, const char **path_ret)
{
	uint64_t number;

	scan_blanks(&line);
	if (!scan_hex(&line, &object->begin) || !scan_text(&line, "-") ||
	    !scan_hex(&line, &object->end) || object->end <= object->begin)
		return false;
	for (int skipped = 0; skipped < 2; skipped++) { /* permissions */
		scan_blanks(&line);
		if (skipped == 0)
			line += strcspn(line, " \t");
	}
	if (!scan_hex(&line, &object->offset))
		return false;
	scan_blanks(&line);
	if (!scan_hex(&line, &number) || !scan_text(&line, ":") || !scan_hex(&line, &number))
		return false;
	scan_blanks(&line);
	if (!scan_number(&line, &number))
		return false;
	scan_blanks(&line);
	*path_ret = line;
	return true;
}

static bool is_allocator(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *at = slash ? slash + 1 : path;

	return scan_text(&at, "libjemalloc") || scan_text(&at, "libtcmalloc");
}

/* Consecutive mappings of one file are one object. */
static void mapping_take(struct heap_profile *profile, struct heap_object object, const char *path)
{
	struct heap_object *last =
		profile->objects.count ? &profile->objects.items[profile->objects.count - 1] : NULL;

	if (path[0] != '/')
		return;
	object.path = text_put(profile, path, strcspn(path, "\r"));
	if (last && last->path == object.path && object.begin >= last->end &&
	    object.offset >= last->offset && object.offset > 0) {
		last->end = object.end;
		return;
	}
	object.is_allocator = is_allocator(path);
	profile->failed |= !heap_object_vec_push(&profile->objects, object);
}

void heap_profile_objects(struct heap_profile *profile, struct source *source)
{
	char *line;
	size_t len;

	assert(!profile->has_objects);
	profile->has_objects = true;
	while (!profile->failed && source_line(source, &line, &len)) {
		struct heap_object object = { 0 };
		const char *path;

		if (source_line_is_torn(source))
			return; /* a truncated path is a wrong one */
		if (mapping_scan(line, &object, &path))
			mapping_take(profile, object, path);
		else if (len > 0)
			heap_profile_bad_line(profile, source);
	}
}

/* --- to the tape ------------------------------------------------------------------------------ */

/*
 * A program linked at a fixed address runs at the addresses of its file. If the file is not
 * available, the address decides: others are not mapped so low.
 */
static uint64_t bias_of(const struct heap_object *object, const char *path)
{
	const uint64_t low = UINT64_C(1) << 30;
	const enum elf_kind kind = elf_kind_of(path);

	if (kind == ELF_KIND_FIXED || (kind == ELF_KIND_UNKNOWN && object->begin < low))
		return 0;
	return object->begin - u64_min(object->offset, object->begin);
}

static void modules_write(struct heap_profile *profile, struct composer *composer)
{
	for (size_t i = 0; i < profile->objects.count; i++) {
		struct heap_object *object = &profile->objects.items[i];
		const char *path = profile->texts.texts[object->path];

		object->module = composer_module(
			composer, &(struct compose_module) { .path = path,
							     .begin = object->begin,
							     .end = object->end,
							     .bias = bias_of(object, path) });
	}
}

/* The object containing a call's address; NULL: none. Files have dozens, sorted by address. */
static const struct heap_object *object_find(const struct heap_profile *profile, uint64_t address)
{
	for (size_t low = 0, high = profile->objects.count; low < high;) {
		const size_t middle = low + (high - low) / 2;
		const struct heap_object *object = &profile->objects.items[middle];

		if (address >= object->begin && address < object->end)
			return object;
		if (address < object->begin)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static uint32_t frame_of(const struct heap_profile *profile, struct composer *composer, uint64_t pc)
{
	const struct heap_object *object = object_find(profile, pc - 1);
	const uint64_t *text = map_find(&profile->names, pc - 1);
	const struct compose_name name = { .function = text ? profile->texts.texts[*text] : NULL };

	return composer_frame(
		composer,
		&(struct compose_frame) { .module = object ? object->module : COMPOSE_NO_MODULE,
					  .pc = pc,
					  .names = &name,
					  .name_count = text != NULL });
}

static uint32_t stack_of(const struct heap_profile *profile, struct composer *composer,
			 const struct heap_row *row)
{
	uint32_t stack = COMPOSE_ROOT, first = 0;
	const uint64_t *pcs;

	if (row->pc_count == 0)
		return COMPOSE_NO_STACK;
	pcs = &profile->pcs.items[row->first_pc];
	while (first + 1 < row->pc_count) {
		const struct heap_object *object = object_find(profile, pcs[first] - 1);

		if (!object || !object->is_allocator)
			break;
		first++;
	}
	for (uint32_t i = row->pc_count; i-- > first;)
		stack = composer_stack(composer, stack, frame_of(profile, composer, pcs[i]));
	return stack;
}

static int object_order(const void *a, const void *b)
{
	const struct heap_object *left = a, *right = b;

	return (left->begin > right->begin) - (left->begin < right->begin);
}

static void facts_write(const struct heap_profile *profile, struct composer *composer)
{
	composer_missing(composer, TAPE_MISSING_TIMES | TAPE_MISSING_ADDRESSES |
					   TAPE_MISSING_FREE_STACKS | TAPE_MISSING_FUNCTIONS |
					   TAPE_MISSING_PROCESS);
	if (profile->sampling != HEAP_SAMPLING_NONE && profile->period > 1) {
		composer_missing(composer, TAPE_MISSING_SAMPLED);
		composer_note(
			composer,
			"one allocation in about %" PRIu64
			" bytes was seen: numbers are estimates, scaled as the profiler's own "
			"viewer does it",
			profile->period);
	}
	if (!profile->has_objects)
		composer_note(composer,
			      "the file ends before the list of mapped libraries: "
			      "addresses can be given no function%s",
			      profile->names.count ? " but by the names that the file has" : "");
	if (profile->bad_count > 0)
		composer_note(
			composer,
			"%" PRIu64
			" lines could not be parsed and are skipped, the first is line %" PRIu64,
			profile->bad_count, profile->bad_line);
}

static void program_write(const struct heap_profile *profile, struct composer *composer)
{
	struct compose_process process = { 0 };

	if (profile->binary)
		process.exe = profile->texts.texts[profile->binary - 1];
	else if (profile->objects.count > 0) /* the program itself has the lowest addresses */
		process.exe = profile->texts.texts[profile->objects.items[0].path];
	if (process.exe)
		composer_process(composer, &process);
}

struct err *heap_profile_write(struct heap_profile *profile, const struct source *source,
			       struct composer *composer)
{
	if (profile->failed)
		return err_nomem();
	if (profile->rows.count == 0 && !profile->has_objects)
		return source_error(source, "the profile has no rows: it is torn; write it anew");
	if (profile->objects.count > 0)
		qsort(profile->objects.items, profile->objects.count,
		      sizeof(*profile->objects.items), object_order);
	facts_write(profile, composer);
	program_write(profile, composer);
	modules_write(profile, composer);
	for (size_t i = 0; i < profile->rows.count && !composer_failed(composer); i++) {
		const struct heap_row *row = &profile->rows.items[i];

		if (row->thread != UINT32_MAX) {
			const struct heap_thread *thread = &profile->threads.items[row->thread];

			composer_thread(composer, (uint32_t)thread->number + 1,
					thread->name == NO_TEXT
						? NULL
						: profile->texts.texts[thread->name]);
		}
		composer_sum(composer, stack_of(profile, composer, row), &row->sum);
	}
	return NULL;
}
