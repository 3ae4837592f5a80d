/*
 * mappings: the address space over time: every mapping there was, who made it and when, how much of
 * it was resident, and what is left of it; --at T: those that were there at T.
 */
#include "space/space.h"

#include <sys/mman.h>

#include "base/sort.h"
#include "report/moment.h"
#include "report/note.h"
#include "report/table.h"
#include "report/text.h"

enum { ROWS_SHOWN = 40, FRAMES_SHOWN = 4, FUNCTION_COLUMNS = 32 };

/* How much of a mapping there was at a snapshot, where it had changed since the one before. */
struct use {
	uint64_t ns;
	uint64_t mapped_bytes;
	uint64_t resident_bytes;
	uint32_t next; /* of the same mapping; UINT32_MAX: none */
};

VEC_DEFINE(use_vec, struct use);

struct answer {
	const struct report_context *context;
	const struct mapping_vec *all;
	uint64_t *at_bytes;   /* by mapping: mapped at --at */
	uint64_t *peak_bytes; /* by mapping: mapped when live blocks were highest */
	struct use_vec uses;
	uint32_t *first_use; /* by mapping; UINT32_MAX: none */
	bool has_at;
	uint64_t from_ns, until_ns; /* to be shown it was there at some time between them */
};

static const struct emit_column people_columns[] = {
	{ .key = "address", .title = "address" },
	{ .key = "mapped_bytes", .title = "mapped" },
	{ .key = "resident_bytes_max", .title = "resident" },
	{ .key = "prot", .title = "prot", .left = true },
	{ .key = "kind", .title = "kind", .left = true },
	{ .key = "from_ns", .title = "from" },
	{ .key = "to_ns", .title = "to" },
	{ .key = "what", .title = "name or caller", .left = true, .elastic = true },
};

static const struct emit_column program_columns[] = {
	{ .key = "address" },
	{ .key = "bytes" },
	{ .key = "mapped_bytes" },
	{ .key = "mapped_bytes_max" },
	{ .key = "at_peak_bytes" },
	{ .key = "resident_bytes" },
	{ .key = "kind" },
	{ .key = "prot" },
	{ .key = "flags" },
	{ .key = "shared" },
	{ .key = "fd" },
	{ .key = "offset" },
	{ .key = "name" },
	{ .key = "from_ns" },
	{ .key = "to_ns" },
	{ .key = "thread" },
	{ .key = "seen" },
	{ .key = "cuts" },
	{ .key = "protects" },
	{ .key = "moves" },
	{ .key = "resident_bytes_max" },
	{ .key = "stack" },
};

static void emit_prot(struct emit *emit, const struct mapping *mapping)
{
	const char prot[] = { mapping->prot & PROT_READ ? 'r' : '-',
			      mapping->prot & PROT_WRITE ? 'w' : '-',
			      mapping->prot & PROT_EXEC ? 'x' : '-', mapping->is_shared ? 's' : 'p',
			      '\0' };

	emit_text(emit, "prot", prot);
}

/* "MAP_PRIVATE|MAP_ANONYMOUS"; NULL where no call was seen. */
static void emit_flags(struct emit *emit, const struct mapping *mapping)
{
	static const struct {
		int32_t bit;
		const char *name;
	} bits[] = {
		{ MAP_FIXED, "MAP_FIXED" },
		{ MAP_ANONYMOUS, "MAP_ANONYMOUS" },
		{ MAP_GROWSDOWN, "MAP_GROWSDOWN" },
		{ MAP_LOCKED, "MAP_LOCKED" },
		{ MAP_NORESERVE, "MAP_NORESERVE" },
		{ MAP_POPULATE, "MAP_POPULATE" },
		{ MAP_NONBLOCK, "MAP_NONBLOCK" },
		{ MAP_STACK, "MAP_STACK" },
		{ MAP_HUGETLB, "MAP_HUGETLB" },
		{ MAP_SYNC, "MAP_SYNC" },
		{ MAP_FIXED_NOREPLACE, "MAP_FIXED_NOREPLACE" },
	};
	CLEAN(str_deinit) struct str words = { 0 };

	if (mapping->flags < 0) {
		emit_null(emit, "flags");
		return;
	}
	str_add(&words, mapping->flags & MAP_SHARED ? "MAP_SHARED" : "MAP_PRIVATE");
	for (size_t i = 0; i < array_size(bits); i++)
		if (mapping->flags & bits[i].bit)
			str_printf(&words, "|%s", bits[i].name);
	emit_text(emit, "flags", str_text(&words));
}

static void emit_time(struct emit *emit, const char *key, uint64_t ns)
{
	if (ns == MODEL_NEVER)
		emit_null(emit, key);
	else
		emit_u64(emit, key, ns, EMIT_DURATION);
}

/* People: the file, or the functions that asked for memory. */
static void emit_what(struct emit *emit, const struct report_context *context,
		      const struct mapping *mapping)
{
	struct walk walk =
		walk_begin(context->model, context->names, mapping->stack, context->mode);
	CLEAN(str_deinit) struct str words = { 0 };
	const struct name_frame *frame;

	str_add(&words, mapping->name);
	for (size_t i = 0;
	     mapping->stack != CAPTURE_STACK_NONE && i < FRAMES_SHOWN && (frame = walk_next(&walk));
	     i++) {
		if (words.len > 0)
			str_add(&words, i == 0 ? "  " : " < ");
		text_function_short(&words, names_get(context->names, frame->name)->function,
				    FUNCTION_COLUMNS);
	}
	emit_text(emit, "what", str_text(&words));
}

static void emit_usage(struct emit *emit, const struct answer *answer, size_t index)
{
	emit_list(emit, "usage");
	for (uint32_t i = answer->first_use[index]; i != UINT32_MAX;
	     i = answer->uses.items[i].next) {
		emit_object(emit, NULL);
		emit_u64(emit, "ns", answer->uses.items[i].ns, EMIT_DURATION);
		emit_u64(emit, "mapped_bytes", answer->uses.items[i].mapped_bytes, EMIT_BYTES);
		emit_u64(emit, "resident_bytes", answer->uses.items[i].resident_bytes, EMIT_BYTES);
		emit_end(emit);
	}
	emit_end(emit);
}

static void emit_mapping(struct emit *emit, const struct answer *answer, size_t index)
{
	const struct report_context *context = answer->context;
	const struct mapping *mapping = &answer->all->items[index];

	emit_row(emit);
	emit_address(emit, "address", mapping->address);
	emit_u64(emit, "bytes", mapping->bytes, EMIT_BYTES);
	emit_u64(emit, "mapped_bytes",
		 answer->has_at			     ? answer->at_bytes[index]
		 : emit_format_of(emit) == EMIT_TEXT ? mapping->mapped_bytes_max
						     : mapping->mapped_bytes,
		 EMIT_BYTES);
	emit_u64(emit, "mapped_bytes_max", mapping->mapped_bytes_max, EMIT_BYTES);
	emit_u64(emit, "at_peak_bytes", answer->peak_bytes[index], EMIT_BYTES);
	emit_u64(emit, "resident_bytes", mapping->resident_bytes, EMIT_BYTES);
	emit_u64(emit, "resident_bytes_max", mapping->resident_bytes_max, EMIT_BYTES);
	emit_text(emit, "kind", mapping_kind_words[mapping_kind(mapping)]);
	emit_prot(emit, mapping);
	emit_flags(emit, mapping);
	emit_bool(emit, "shared", mapping->is_shared);
	emit_i64(emit, "fd", mapping->fd);
	emit_u64(emit, "offset", mapping->offset, EMIT_BYTES);
	emit_text(emit, "name", mapping->name);
	emit_time(emit, "from_ns", mapping->begin_ns);
	emit_time(emit, "to_ns", mapping->end_ns);
	note_thread(emit, "thread", context->model, mapping->thread);
	emit_bool(emit, "seen", mapping->is_seen);
	emit_u64(emit, "cuts", mapping->cut_count, EMIT_COUNT);
	emit_u64(emit, "protects", mapping->protect_count, EMIT_COUNT);
	emit_u64(emit, "moves", mapping->move_count, EMIT_COUNT);
	if (emit_format_of(emit) == EMIT_JSON)
		emit_usage(emit, answer, index);
	if (emit_format_of(emit) == EMIT_TEXT)
		emit_what(emit, context, mapping);
	else
		note_stack(emit, context, mapping->stack);
	emit_end(emit);
}

/* --- all of them --------------------------------------------------------------------------- */

/* Mapped bytes of every mapping as they are now. */
static struct err *take_bytes(const struct mappings *mappings, struct arena *arena, uint64_t **ret)
{
	const struct mapping_vec *all = mappings_all(mappings);

	*ret = arena_array(arena, all->count, sizeof(**ret));
	if (!*ret)
		return err_nomem();
	for (size_t i = 0; i < all->count; i++)
		(*ret)[i] = all->items[i].mapped_bytes;
	return NULL;
}

/* Arrays made at a moment, in order of their times, made as long as the final one. */
static struct err *lengthen(struct arena *arena, uint64_t **bytes, size_t had, size_t count)
{
	uint64_t *longer = arena_array(arena, count, sizeof(*longer));

	if (!longer)
		return err_nomem();
	if (*bytes)
		memcpy(longer, *bytes, had * sizeof(*longer));
	*bytes = longer;
	return NULL;
}

struct stop {
	uint64_t ns;
	uint64_t **bytes;
	size_t count;
};

/* The space at both moments, the earlier first, and then at the end: then kinds are known best. */
static struct err *gather(struct answer *answer, struct space *space, uint64_t at_ns)
{
	const struct model *model = answer->context->model;
	struct arena *arena = answer->context->arena;
	struct stop stops[2] = { { .ns = model_totals(model)->peak_ns,
				   .bytes = &answer->peak_bytes },
				 { .ns = at_ns, .bytes = &answer->at_bytes } };
	const size_t first = stops[0].ns <= stops[1].ns ? 0 : 1;
	struct err *err = NULL;

	answer->all = mappings_all(space_mappings(space));
	for (size_t i = 0; i < 2 && !err; i++) {
		struct stop *stop = &stops[i ^ first];

		err = space_advance(space, stop->ns);
		if (!err)
			err = take_bytes(space_mappings(space), arena, stop->bytes);
		stop->count = answer->all->count;
	}
	if (!err)
		err = space_advance(space, UINT64_MAX - 1);
	for (size_t i = 0; i < 2 && !err; i++)
		err = lengthen(arena, stops[i].bytes, stops[i].count, answer->all->count);
	return err;
}

/* Adds what has changed since the last use of each mapping; *last by mapping. */
static bool add_uses(struct answer *answer, const struct mappings *mappings, uint64_t ns,
		     struct vec_u32 *last)
{
	const struct mapping_vec *all = mappings_all(mappings);

	while (last->count < all->count)
		if (!vec_u32_push(last, UINT32_MAX))
			return false;
	for (uint32_t i = 0; i < all->count; i++) {
		const struct mapping *mapping = &all->items[i];
		const bool is_gone = mapping->mapped_bytes == 0;
		const struct use use = { .ns = ns,
					 .mapped_bytes = mapping->mapped_bytes,
					 .resident_bytes = is_gone ? 0 : mapping->resident_bytes,
					 .next = UINT32_MAX };
		const struct use *before =
			last->items[i] == UINT32_MAX ? NULL : &answer->uses.items[last->items[i]];

		if (before ? before->mapped_bytes == use.mapped_bytes &&
				     before->resident_bytes == use.resident_bytes
			   : is_gone)
			continue;
		if (before)
			answer->uses.items[last->items[i]].next = (uint32_t)answer->uses.count;
		else
			answer->first_use[i] = (uint32_t)answer->uses.count;
		last->items[i] = (uint32_t)answer->uses.count;
		if (!use_vec_push(&answer->uses, use))
			return false;
	}
	return true;
}

/* Mappings have the same numbers on every walk. */
static struct err *gather_uses(struct answer *answer)
{
	CLEAN(mappings_destroy) struct mappings *mappings = NULL;
	CLEAN(vec_u32_deinit) struct vec_u32 last = { 0 };
	struct err *err = mappings_create(answer->context->model, &mappings);

	if (err)
		return err;
	answer->first_use =
		arena_array(answer->context->arena, answer->all->count, sizeof(*answer->first_use));
	if (!answer->first_use)
		return err_nomem();
	memset(answer->first_use, 0xff, answer->all->count * sizeof(*answer->first_use));
	for (size_t i = 0; i < mappings_snapshots(mappings)->count; i++) {
		err = mappings_advance_snapshot(mappings, i);
		if (err)
			return err;
		if (!add_uses(answer, mappings, mappings_snapshots(mappings)->items[i].end_ns,
			      &last))
			return err_nomem();
	}
	return NULL;
}

static bool is_shown(const struct answer *answer, size_t index)
{
	const struct mapping *mapping = &answer->all->items[index];

	if (mapping->begin_ns > answer->until_ns || mapping->end_ns <= answer->from_ns)
		return false;
	return !answer->has_at || answer->at_bytes[index] > 0;
}

static struct err *order(const struct answer *answer, struct sort_pair **pairs_ret,
			 size_t *count_ret)
{
	struct sort_pair *pairs =
		arena_array(answer->context->arena, answer->all->count, sizeof(*pairs));
	const bool is_text = answer->context->settings->format == EMIT_TEXT;
	size_t count = 0;

	if (!pairs)
		return err_nomem();
	for (size_t i = 0; i < answer->all->count; i++) {
		const struct mapping *mapping = &answer->all->items[i];

		/* people: the largest first, what was resident before what was only mapped */
		if (is_shown(answer, i))
			pairs[count++] = (struct sort_pair) {
				.key = is_text ? ~(mapping->resident_bytes_max << 12 |
						   u64_min(mapping->mapped_bytes_max >> 20, 4095))
					       : i,
				.index = (uint32_t)i
			};
	}
	*pairs_ret = pairs;
	*count_ret = count;
	return sort_pairs(pairs, count) ? NULL : err_nomem();
}

static struct err *run(const struct report_context *context, FILE *out)
{
	const bool is_text = context->settings->format == EMIT_TEXT;
	const uint64_t top = context->settings->with.top ? context->settings->with.top
			     : is_text			 ? ROWS_SHOWN
							 : UINT64_MAX;
	CLEAN(space_destroy) struct space *space = NULL;
	struct answer answer = { .context = context, .has_at = context->settings->with.at };
	uint64_t at_ns = model_process(context->model)->duration_ns;
	struct sort_pair *pairs = NULL;
	struct table table;
	size_t count = 0;
	struct err *err = report_moment(context, &at_ns);

	if (!err)
		err = report_window_rows(context, &answer.from_ns, &answer.until_ns);
	if (!err)
		err = space_create(context->model, &space);
	if (!err)
		err = gather(&answer, space, at_ns);
	if (!err && context->settings->format == EMIT_JSON)
		err = gather_uses(&answer);
	if (!err)
		err = order(&answer, &pairs, &count);
	if (!err)
		err = table_begin(&table, context, out, "mappings",
				  is_text ? people_columns : program_columns,
				  is_text ? array_size(people_columns)
					  : array_size(program_columns));
	for (size_t i = 0; i < u64_min(count, top) && !err; i++)
		emit_mapping(table.emit, &answer, pairs[i].index);
	use_vec_deinit(&answer.uses);
	return err ? err : table_end(&table);
}

const struct report report_mappings = {
	.name = "mappings",
	.summary = "the address space over time: who mapped what, and how much was resident",
	.depth = MODEL_FULL,
	.has_window = true,
	.instead = "--from, --until and --at choose by time, and so does all else in the table "
		   "'mappings' of `memtape sql`",
	.run = run,
};
