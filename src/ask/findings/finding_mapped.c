/*
 * mapped: a function that mapped much of the resident memory itself, beside the allocator: an allocator
 * of the program's own, of which live blocks show nothing.
 */
#include <string.h>

#include "base/map.h"
#include "core/glob.h"
#include "findings/finding.h"

enum { RSS_PERCENT = 20 /* of what is resident at most */ };

struct mapper {
	uint32_t name; /* of its function */
	uint32_t stack;
	uint64_t stack_bytes; /* what is left of a vote, of Boyer and Moore's */
	uint64_t bytes;	      /* resident */
	uint64_t count;	      /* mappings */
};

VEC_DEFINE(mapper_vec, struct mapper);

struct mappers {
	struct mapper_vec items;
	struct map by_name; /* to index + 1 */
};

static void mappers_deinit(struct mappers *mappers)
{
	mapper_vec_deinit(&mappers->items);
	map_deinit(&mappers->by_name);
}

CLEAN_DEFINE_DEINIT(mappers_deinit, struct mappers);

static bool mappers_add(struct mappers *mappers, uint32_t name, uint32_t stack, uint64_t bytes)
{
	uint64_t *index = map_put(&mappers->by_name, name, NULL);
	struct mapper *mapper;

	if (!index)
		return false;
	if (*index == 0) {
		if (!mapper_vec_push(&mappers->items, (struct mapper) { .name = name }))
			return false;
		*index = mappers->items.count;
	}
	mapper = &mappers->items.items[*index - 1];
	mapper->bytes += bytes;
	mapper->count++;
	if (mapper->stack == stack) {
		mapper->stack_bytes += bytes;
	} else if (mapper->stack_bytes < bytes) {
		mapper->stack = stack;
		mapper->stack_bytes = bytes - mapper->stack_bytes;
	} else {
		mapper->stack_bytes -= bytes;
	}
	return true;
}

/* Resident bytes of every mapping that the program made itself and that has no blocks. */
static uint64_t *resident_find(struct finding_search *search, const struct space *space)
{
	const size_t count = mappings_all(space_mappings(space))->count;
	uint64_t *bytes = arena_array(search->arena, count + 1, sizeof(*bytes));
	struct space_parts parts = space_parts_begin(space);
	struct space_part part;

	if (!bytes)
		return NULL;
	memset(bytes, 0, (count + 1) * sizeof(*bytes));
	while (space_parts_next(&parts, &part))
		if (part.kind == MAPPING_PROGRAM && part.mapping < count)
			bytes[part.mapping] += part.resident;
	return bytes;
}

static struct err *mappers_find(struct finding_search *search, const struct space *space,
				struct mappers *mappers)
{
	const struct mapping_vec *all = mappings_all(space_mappings(space));
	const uint64_t *bytes = resident_find(search, space);

	if (!bytes)
		return err_nomem();
	for (size_t i = 0; i < all->count; i++) {
		const struct finding of = { .stack = all->items[i].stack };
		const struct name_frame *frame;

		if (bytes[i] == 0 || of.stack >= model_stack_count(search->model))
			continue;
		frame = finding_frame(&of, search->model, search->names, search->mode);
		if (frame && !mappers_add(mappers, frame->name, of.stack, bytes[i]))
			return err_nomem();
	}
	return NULL;
}

/* Runtimes that share out what they map, by the module that maps it, and what shows it. */
static const struct runtime {
	const char *modules; /* patterns */
	const char *advice;
} runtimes[] = {
	{ "python,python[23]*,libpython*",
	  "Python's small objects are in it: record with PYTHONMALLOC=malloc in the environment, "
	  "and each is a block with its stack." },
	{ "libjvm.so",
	  "The Java heap is in it: -Xmx limits it, and jcmd PID GC.class_histogram shows what it "
	  "holds." },
	{ "node,nodejs,libnode.so*",
	  "V8's heap is in it: node --max-old-space-size=MiB limits it, and a heap snapshot "
	  "(--heapsnapshot-signal) shows what it holds." },
};

static const char *advice_of(const struct finding_search *search, const struct mapper *mapper)
{
	struct walk walk = walk_begin(search->model, search->names, mapper->stack, WALK_EXACT);
	const struct name_frame *frame = walk_next(&walk);

	for (size_t i = 0; i < array_size(runtimes) && frame; i++)
		if (glob_list_matches(runtimes[i].modules,
				      names_get(search->names, frame->name)->module_short))
			return runtimes[i].advice;
	return NULL;
}

static struct err *mapper_add(struct finding_search *search, const struct finder *finder,
			      const struct mapper *mapper, const struct rss_sample *sample)
{
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.bytes = mapper->bytes,
		.count = mapper->count,
		.stack = mapper->stack,
		.advice = advice_of(search, mapper),
		.link = { .page = "maps",
			  .report = "mappings",
			  .at = finding_moment(search, sample->ns),
			  .sort = "resident" },
	};

	if (!finding.link.at)
		return err_nomem();
	str_add_iec(&evidence, mapper->bytes);
	str_add(&evidence, " of the ");
	str_add_iec(&evidence, sample->rss_bytes);
	str_add(&evidence, " that were resident after ");
	str_add_duration(&evidence, sample->ns);
	str_add(&evidence, mapper->count == 1 ? " are " : " are in ");
	finding_add_counted(&evidence, mapper->count, "mapping");
	str_add(&evidence, " that this function made; live blocks were ");
	str_add_iec(&evidence, (uint64_t)sample->bands[RSS_LIVE]);
	return finding_add(search, finder, finding, &evidence);
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	CLEAN(mappers_deinit) struct mappers mappers = { 0 };
	CLEAN(space_destroy) struct space *space = NULL;
	const struct rss_sample *sample;
	struct err *err;

	if (search->rss.samples.count == 0)
		return NULL;
	sample = &search->rss.samples.items[search->rss.peak];
	if (sample->bands[RSS_PROGRAM] < (int64_t)FINDING_LARGE_MIN)
		return NULL;
	err = space_create(search->model, &space);
	if (!err) {
		space_follow_marks(space, &search->rss.marks);
		err = space_advance(space, sample->ns);
	}
	if (!err)
		err = mappers_find(search, space, &mappers);
	for (size_t i = 0; i < mappers.items.count && !err; i++) {
		const struct mapper *mapper = &mappers.items.items[i];

		if (mapper->bytes >= FINDING_LARGE_MIN &&
		    finding_is_share(mapper->bytes, sample->rss_bytes, RSS_PERCENT))
			err = mapper_add(search, finder, mapper, sample);
	}
	return err;
}

const struct finder finder_mapped = {
	.type = "mapped",
	.title = "Much memory is mapped beside the allocator",
	.advice = "Live blocks do not show what is in it. If an allocator of the program's own "
		  "shares it out, switch that off for a recording, name it with --allocator, or "
		  "tell memtape of its pools with memtape_pool_create(3).",
	.what = "memory mapped beside the allocator",
	.needs = FINDER_SPACE,
	.find = find,
};
