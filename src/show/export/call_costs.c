#include "export/call_costs.h"

#include "base/sort.h"
#include "base/str.h"
#include "base/vec.h"
#include "export/text_file.h"

struct function {
	uint32_t name;
	uint32_t file; /* number of the string + 1; 0: unknown */
	bool is_outer; /* f'2 */
};

struct place { /* a line of a function */
	uint32_t function;
	uint32_t line;
	struct call_costs self;
};

struct call {
	uint32_t place;
	uint32_t callee;
	struct call_costs costs; /* including those of the callee */
};

VEC_DEFINE(functions, struct function);
VEC_DEFINE(places, struct place);
VEC_DEFINE(calls, struct call);

struct callgrind {
	const struct call_costs_file *what;
	struct interner files;
	struct functions functions;
	struct places places;
	struct calls calls;
	struct map function_of; /* keys: number + 1 */
	struct map place_of;
	struct map call_of;
	struct map names_seen; /* by name, file: the last stack that had it, + 1 */
	struct map lines_seen; /* by file, line: likewise */
	struct call_costs total;
	bool failed; /* out of memory; sticks */
};

static void costs_add(struct call_costs *to, const struct call_costs *from)
{
	for (size_t i = 0; i < CALL_COSTS_EVENTS_MAX; i++)
		to->values[i] += from->values[i];
}

static bool costs_are_none(const struct call_costs *costs)
{
	const struct call_costs none = { 0 };

	return memcmp(costs, &none, sizeof(none)) == 0;
}

/* --- sums ---------------------------------------------------------------------------------- */

/* Whether the key was seen before in this stack. */
static bool seen_before(struct callgrind *grind, struct map *map, uint64_t key, uint32_t stack)
{
	uint64_t *seen = map_put(map, key, NULL);
	const bool was = seen && *seen == (uint64_t)stack + 1;

	grind->failed |= !seen;
	if (seen)
		*seen = (uint64_t)stack + 1;
	return was;
}

static uint32_t function_get(struct callgrind *grind, const struct name_frame *frame, uint32_t file,
			     bool is_outer)
{
	const uint64_t key = (uint64_t)frame->name << 32 | file << 1 | is_outer;
	uint64_t *number = map_put(&grind->function_of, key, NULL);

	if (number && *number == 0) {
		grind->failed |= !functions_push(&grind->functions,
						 (struct function) { frame->name, file, is_outer });
		*number = grind->functions.count;
	}
	grind->failed |= !number;
	return grind->failed ? 0 : (uint32_t)(*number - 1);
}

static uint32_t place_get(struct callgrind *grind, uint32_t function, uint32_t line)
{
	uint64_t *number = map_put(&grind->place_of, (uint64_t)function << 32 | line, NULL);

	if (number && *number == 0) {
		grind->failed |=
			!places_push(&grind->places, (struct place) { function, line, { { 0 } } });
		*number = grind->places.count;
	}
	grind->failed |= !number;
	return grind->failed ? 0 : (uint32_t)(*number - 1);
}

static struct call *call_get(struct callgrind *grind, uint32_t place, uint32_t callee)
{
	uint64_t *number = map_put(&grind->call_of, (uint64_t)place << 32 | callee, NULL);

	if (number && *number == 0) {
		grind->failed |=
			!calls_push(&grind->calls, (struct call) { place, callee, { { 0 } } });
		*number = grind->calls.count;
	}
	grind->failed |= !number;
	return grind->failed ? NULL : &grind->calls.items[*number - 1];
}

static uint32_t file_number(struct callgrind *grind, const char *file)
{
	const uint32_t id = file ? interner_put(&grind->files, file, strlen(file)) : 0;

	grind->failed |= id == UINT32_MAX;
	return file ? id + 1 : 0;
}

/* From the innermost frame outwards. Consecutive frames with the same line are merged. */
static void stack_add(struct callgrind *grind, uint32_t stack, const struct call_costs *costs)
{
	const struct call_costs_file *what = grind->what;
	struct walk walk = walk_begin(what->model, what->names, stack, what->mode);
	const struct name_frame *frame;
	uint32_t callee = UINT32_MAX; /* of the previous frame; none at first */
	uint64_t run;

	while ((frame = walk_next_run(&walk, true, &run)) && !grind->failed) {
		const uint32_t file = file_number(grind, frame->file);
		const uint64_t name_key = (uint64_t)frame->name << 32 | file;
		const bool is_outer = seen_before(grind, &grind->names_seen, name_key, stack);
		const uint32_t function = function_get(grind, frame, file, is_outer);
		const uint32_t place = place_get(grind, function, frame->line);
		const uint64_t line_key = frame->line ? (uint64_t)file << 32 | frame->line
						      : UINT64_C(1) << 63 | function;
		const bool is_charged = seen_before(grind, &grind->lines_seen, line_key, stack);
		struct call *call = callee != UINT32_MAX ? call_get(grind, place, callee) : NULL;

		if (grind->failed)
			return;
		if (callee == UINT32_MAX)
			costs_add(&grind->places.items[place].self, costs);
		else if (!is_charged)
			costs_add(&call->costs, costs);
		callee = function;
	}
}

/* --- output --------------------------------------------------------------------------------- */

static void costs_write(struct str *text, const struct callgrind *grind, uint32_t line,
			const struct call_costs *costs)
{
	str_add_u64(text, line);
	for (size_t i = 0; i < grind->what->event_count; i++) {
		str_add_char(text, ' ');
		str_add_u64(text, costs->values[i]);
	}
	str_add_char(text, '\n');
}

/* Names are numbers with strings: readers would take names in brackets for numbers. */
static void names_write(struct callgrind *grind, struct str *text, const char *prefix,
			uint32_t function)
{
	const struct function *of = &grind->functions.items[function];
	const struct name *name = names_get(grind->what->names, of->name);
	const char *file = of->file ? grind->files.texts[of->file - 1] : "???";

	str_printf(text, "%sob=", prefix);
	str_add_terminal(text, *name->module ? name->module : "???");
	str_printf(text, "\n%s=(%u) ", *prefix ? "cfi" : "fl", of->file + 1);
	str_add_terminal(text, file);
	str_printf(text, "\n%sfn=(%u) ", prefix, function + 1);
	str_add_terminal(text, name->function);
	str_add(text, of->is_outer ? "'2\n" : "\n");
}

static int compare_places(const void *context, const void *a, const void *b)
{
	const struct callgrind *grind = context;
	const struct place *left = &grind->places.items[*(const uint32_t *)a];
	const struct place *right = &grind->places.items[*(const uint32_t *)b];

	return left->function != right->function ? sort_compare_u64(left->function, right->function)
						 : sort_compare_u64(left->line, right->line);
}

static int compare_calls(const void *context, const void *a, const void *b)
{
	const struct call *left = a, *right = b;

	(void)context;
	return sort_compare_u64(left->place, right->place);
}

/* order: the places by function and line; firsts: by place, where its calls begin. */
static void places_write(struct callgrind *grind, struct text_file *file, const uint32_t *order,
			 const uint32_t *firsts)
{
	struct str *text = &file->text;
	uint32_t function = UINT32_MAX;

	for (size_t i = 0; i < grind->places.count && text_file_step(file); i++) {
		const uint32_t number = order[i];
		const struct place *place = &grind->places.items[number];

		if (place->function != function) {
			function = place->function;
			str_add_char(text, '\n');
			names_write(grind, text, "", function);
		}
		if (!costs_are_none(&place->self))
			costs_write(text, grind, place->line, &place->self);
		for (uint32_t at = firsts[number]; at < firsts[number + 1]; at++) {
			const struct call *call = &grind->calls.items[at];

			names_write(grind, text, "c", call->callee);
			str_add(text, "calls=0 0\n");
			costs_write(text, grind, place->line, &call->costs);
		}
	}
}

static struct err *body_write(struct callgrind *grind, struct text_file *file)
{
	const size_t count = grind->places.count;
	CLEAN(free) uint32_t *order = calloc(count + 1, sizeof(*order));
	CLEAN(free) uint32_t *firsts = calloc(count + 2, sizeof(*firsts));

	if (!order || !firsts)
		return err_nomem();
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	for (size_t i = 0; i < grind->calls.count; i++)
		firsts[grind->calls.items[i].place + 1]++;
	for (size_t i = 0; i < count; i++)
		firsts[i + 1] += firsts[i];
	if (!sort_stable(order, count, sizeof(*order), compare_places, grind) ||
	    !sort_stable(grind->calls.items, grind->calls.count, sizeof(*grind->calls.items),
			 compare_calls, NULL))
		return err_nomem();
	places_write(grind, file, order, firsts);
	return NULL;
}

static void head_write(struct callgrind *grind, struct str *text)
{
	const struct model_process *process = model_process(grind->what->model);

	str_printf(text,
		   "# callgrind format\nversion: 1\ncreator: memtape\npid: %u\ncmd:", process->pid);
	for (uint32_t i = 0; i < process->argc; i++) {
		str_add_char(text, ' ');
		str_add_terminal(text, process->argv[i]);
	}
	str_add(text, "\n\npositions: line\n");
	for (size_t i = 0; i < grind->what->event_count; i++)
		str_printf(text, "event: %s : %s\n", grind->what->events[i].name,
			   grind->what->events[i].words);
	str_add(text, "events:");
	for (size_t i = 0; i < grind->what->event_count; i++)
		str_printf(text, " %s", grind->what->events[i].name);
	str_add_char(text, '\n');
}

static struct err *stacks_sum(struct callgrind *grind)
{
	const struct call_costs_file *what = grind->what;

	for (size_t i = 0; i < model_stack_count(what->model) && !grind->failed; i++) {
		if (costs_are_none(&what->costs[i]))
			continue;
		costs_add(&grind->total, &what->costs[i]);
		stack_add(grind, (uint32_t)i, &what->costs[i]);
	}
	return grind->failed ? err_nomem() : NULL;
}

struct err *call_costs_write(const struct call_costs_file *what, FILE *out)
{
	struct callgrind grind = { .what = what };
	struct text_file file = { .out = out };
	struct err *err = stacks_sum(&grind), *file_err;

	if (!err) {
		head_write(&grind, &file.text);
		err = body_write(&grind, &file);
		str_add(&file.text, "\ntotals:");
		for (size_t i = 0; i < what->event_count; i++)
			text_file_u64(&file, " ", grind.total.values[i]);
		str_add_char(&file.text, '\n');
	}
	file_err = text_file_end(&file);
	if (err)
		err_destroy(file_err);
	interner_deinit(&grind.files);
	functions_deinit(&grind.functions);
	places_deinit(&grind.places);
	calls_deinit(&grind.calls);
	map_deinit(&grind.function_of);
	map_deinit(&grind.place_of);
	map_deinit(&grind.call_of);
	map_deinit(&grind.names_seen);
	map_deinit(&grind.lines_seen);
	return err ? err : file_err;
}
