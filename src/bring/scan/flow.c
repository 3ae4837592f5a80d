/*
 * The algorithm of Lengauer and Tarjan (A Fast Algorithm for Finding Dominators in a Flowgraph,
 * 1979), in its simple form: m log n for any graph. Iterating over sets of dominators is faster on
 * the flow graphs of functions, but heaps have long lists whose items all point to their head, and
 * there it takes the square of their length.
 *
 * Vertices are numbered in the order of a depth-first walk; all arrays but numbers are by number.
 */
#include "scan/flow.h"

#include <assert.h>

#include "base/big.h"

#define NUMBER_NONE UINT32_MAX

enum { AHEAD = 24 }; /* how many are fetched before they are needed */

/* One number's; together, for they are used together. */
struct place {
	uint32_t vertex;
	uint32_t parent;   /* in the walk */
	uint32_t semi;	   /* semidominator */
	uint32_t ancestor; /* in the forest of what was linked, shortened as it is climbed */
	uint32_t label;	   /* of those climbed over, the one with the least semidominator */
	uint32_t bucket;   /* first of those whose semidominator this is */
	uint32_t next;	   /* in the bucket that it is in */
	uint32_t dominator;
};

/* The other ends of edges, by one of their ends: of begins[end] on. */
struct rows {
	size_t *begins;
	uint32_t *items;
};

struct step {
	uint32_t number;
	size_t at, end; /* of its row */
};
VEC_DEFINE(vec_step, struct step);

struct work {
	struct rows rows;
	uint32_t *numbers; /* by vertex; NONE: not yet */
	struct place *places;
	size_t place_room;
	uint32_t place_count;
	struct vec_step steps;
	uint32_t *climbed;
};

static void rows_deinit(struct rows *rows)
{
	free(rows->begins);
	free(rows->items);
	*rows = (struct rows) { 0 };
}

static void work_deinit(struct work *work)
{
	rows_deinit(&work->rows);
	if (work->places)
		big_free(work->places, work->place_room * sizeof(*work->places));
	free(work->numbers);
	vec_step_deinit(&work->steps);
	free(work->climbed);
}
CLEAN_DEFINE_DEINIT(work_deinit, struct work);

/* Counted first, then put behind each other, from the last to the first. By `from`. */
static struct err *rows_make(struct rows *rows, const struct flow *flow)
{
	const struct flow_edges *edges = &flow->edges;
	size_t *begins = rows->begins = big_calloc((size_t)flow->vertex_count + 1, sizeof(*begins));

	rows->items = big_calloc(edges->count + 1, sizeof(*rows->items));
	if (!begins || !rows->items)
		return err_nomem();
	for (size_t i = 0; i < edges->count; i++)
		begins[edges->items[i].from]++;
	for (size_t i = 1; i <= flow->vertex_count; i++)
		begins[i] += begins[i - 1];
	for (size_t i = edges->count; i-- > 0;) {
		const struct flow_edge edge = edges->items[i];

		if (i >= AHEAD)
			__builtin_prefetch(&begins[edges->items[i - AHEAD].from], 1);
		rows->items[--begins[edge.from]] = edge.to;
	}
	return NULL;
}

/* False: out of memory. */
static bool walk_enter(struct work *work, uint32_t vertex, uint32_t parent)
{
	const size_t *begins = &work->rows.begins[vertex];
	const uint32_t number = work->place_count++;

	work->numbers[vertex] = number;
	work->places[number] = (struct place) { .vertex = vertex,
						.parent = parent,
						.semi = number,
						.ancestor = NUMBER_NONE,
						.label = number,
						.bucket = NUMBER_NONE,
						.next = NUMBER_NONE };
	for (size_t at = begins[0]; at < begins[1] && at < begins[0] + 8; at++) {
		__builtin_prefetch(&work->numbers[work->rows.items[at]]);
		__builtin_prefetch(&work->rows.begins[work->rows.items[at]]);
	}
	return vec_step_push(&work->steps, (struct step) { number, begins[0], begins[1] });
}

static struct err *walk(struct work *work, uint32_t vertex_count)
{
	work->numbers = malloc((size_t)vertex_count * sizeof(*work->numbers));
	work->place_room = vertex_count;
	work->places = big_alloc(work->place_room * sizeof(*work->places));
	if (!work->numbers || !work->places)
		return err_nomem();
	memset(work->numbers, 0xff, (size_t)vertex_count * sizeof(*work->numbers));
	if (!walk_enter(work, 0, 0))
		return err_nomem();
	while (work->steps.count > 0) {
		struct step *step = &work->steps.items[work->steps.count - 1];
		uint32_t vertex;

		if (step->at == step->end) {
			work->steps.count--;
			continue;
		}
		vertex = work->rows.items[step->at++];
		if (work->numbers[vertex] == NUMBER_NONE && !walk_enter(work, vertex, step->number))
			return err_nomem();
	}
	assert(work->place_count == vertex_count);
	return NULL;
}

/* Edges turned around, their ends by number. */
static void turn(const struct work *work, struct flow *flow)
{
	struct flow_edges *edges = &flow->edges;

	for (size_t i = 0; i < edges->count; i++) {
		const struct flow_edge edge = edges->items[i];

		if (i + AHEAD < edges->count) {
			__builtin_prefetch(&work->numbers[edges->items[i + AHEAD].from]);
			__builtin_prefetch(&work->numbers[edges->items[i + AHEAD].to]);
		}
		edges->items[i] =
			(struct flow_edge) { work->numbers[edge.to], work->numbers[edge.from] };
	}
}

/* Everything climbed over now hangs on the top of its tree. */
static void shorten(struct work *work, uint32_t number)
{
	struct place *places = work->places;
	size_t count = 0;

	for (; places[places[number].ancestor].ancestor != NUMBER_NONE;
	     number = places[number].ancestor)
		work->climbed[count++] = number;
	while (count > 0) {
		struct place *place = &places[work->climbed[--count]];
		const struct place *above = &places[place->ancestor];

		if (places[above->label].semi < places[place->label].semi)
			place->label = above->label;
		place->ancestor = above->ancestor;
	}
}

/* The one with the least semidominator on the way to the top of its tree, which is left out. */
static uint32_t least(struct work *work, uint32_t number)
{
	if (work->places[number].ancestor == NUMBER_NONE)
		return number;
	shorten(work, number);
	return work->places[number].label;
}

static void semidominator_find(struct work *work, uint32_t number)
{
	struct place *place = &work->places[number];
	const uint32_t *who = work->rows.items;
	const size_t begin = work->rows.begins[number];

	/* From the last to the first, as numbers are gone through: what comes is known. */
	for (size_t at = work->rows.begins[number + 1]; at-- > begin;) {
		const uint32_t by = least(work, who[at]);

		if (at >= AHEAD)
			__builtin_prefetch(&work->places[who[at - AHEAD]]);
		if (work->places[by].semi < place->semi)
			place->semi = work->places[by].semi;
	}
	place->next = work->places[place->semi].bucket;
	work->places[place->semi].bucket = number;
}

static void bucket_empty(struct work *work, uint32_t number)
{
	struct place *places = work->places;
	uint32_t in = places[number].bucket;

	for (; in != NUMBER_NONE; in = places[in].next) {
		const uint32_t by = least(work, in);

		places[in].dominator = places[by].semi < places[in].semi ? by : number;
	}
	places[number].bucket = NUMBER_NONE;
}

static struct err *find(struct work *work, uint32_t *dominators)
{
	struct place *places = work->places;

	work->climbed = malloc(work->place_count * sizeof(*work->climbed));
	if (!work->climbed)
		return err_nomem();
	for (uint32_t number = work->place_count - 1; number > 0; number--) {
		semidominator_find(work, number);
		places[number].ancestor = places[number].parent;
		bucket_empty(work, places[number].parent);
	}
	dominators[0] = 0;
	for (uint32_t number = 1; number < work->place_count; number++) {
		if (places[number].dominator != places[number].semi)
			places[number].dominator = places[places[number].dominator].dominator;
		dominators[places[number].vertex] = places[places[number].dominator].vertex;
	}
	return NULL;
}

struct err *flow_dominators(struct flow *flow, uint32_t *dominators)
{
	CLEAN(work_deinit) struct work work = { 0 };
	struct err *err = rows_make(&work.rows, flow);

	if (!err)
		err = walk(&work, flow->vertex_count);
	if (err)
		return err;
	rows_deinit(&work.rows);
	turn(&work, flow);
	err = rows_make(&work.rows, flow);
	return err ? err : find(&work, dominators);
}
