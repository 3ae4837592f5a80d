#include "questions/address_space.h"

#include <sys/mman.h>

#include "answer/note.h"
#include "base/sort.h"
#include "base/str.h"
#include "questions/questions.h"

enum { PROT_TEXT_BYTES = 5 };

static const struct member use_members[] = {
	MEMBER(struct mapping_use, ns, NS, "when it was looked at"),
	MEMBER(struct mapping_use, mapped_bytes, BYTES, NULL),
	MEMBER(struct mapping_use, resident_bytes, BYTES, NULL),
};
static const struct shape shape_use = SHAPE("MappingUse", struct mapping_use, use_members);

static const struct member node_members[] = {
	MEMBER(struct mapping_node, node, PLAIN, "number of the NUMA node"),
	MEMBER(struct mapping_node, bytes, BYTES, NULL),
};
static const struct shape shape_node = SHAPE("MappingNode", struct mapping_node, node_members);

/* Members that are not text columns. */
#define WIDE(field, kind, doc, ...)                                                                \
	MEMBER(struct mapping_row, field, kind, doc, .is_wide = true __VA_OPT__(, ) __VA_ARGS__)

/* Members that only text has. */
#define TEXT(words, field, kind, ...)                                                              \
	MEMBER_AS("shown " words, struct mapping_row, field, kind, NULL, .title = (words),         \
		  .is_text = true __VA_OPT__(, ) __VA_ARGS__)

static const struct member mapping_members[] = {
	MEMBER(struct mapping_row, address, ADDRESS, NULL, .title = "address"),
	WIDE(bytes, BYTES, "as it was mapped first"),
	WIDE(mapped_bytes, BYTES, "what is left of it at the end, or was at `at`"),
	WIDE(mapped_bytes_max, BYTES, "most at once"),
	WIDE(at_peak_bytes, BYTES, "mapped when live blocks were at their peak"),
	WIDE(resident_bytes, BYTES, "when it was looked at last"),
	TEXT("mapped", shown_bytes, BYTES),
	TEXT("resident", resident_bytes_max, BYTES),
	TEXT("prot", prot, TEXT, .left = true),
	MEMBER(struct mapping_row, kind, TEXT, NULL, .title = "kind", .left = true),
	WIDE(prot, TEXT, "r, w, x, and p for private or s for shared"),
	WIDE(flags, TEXT, "of mmap; null: no call was seen", .nullable = true),
	WIDE(shared, FLAG, NULL),
	WIDE(fd, SIGNED, "file descriptor; -1: none"),
	WIDE(offset, BYTES, "in the file"),
	WIDE(name, TEXT, "path of the file, or what the kernel calls it"),
	MEMBER(struct mapping_row, from_ns, NS, NULL, .title = "from"),
	MEMBER(struct mapping_row, to_ns, NS, "null: until the end", .title = "to",
	       .nullable = true),
	WIDE(thread, PLAIN, "id of the thread that mapped it", .nullable = true),
	WIDE(seen, FLAG, "no call was recorded for it, it was only seen"),
	WIDE(cuts, COUNT, "times a part of it was unmapped"),
	WIDE(protects, COUNT, "calls of mprotect"),
	WIDE(moves, COUNT, "calls of mremap that moved it"),
	WIDE(resident_bytes_max, BYTES, "most that was seen"),
	WIDE(usage, ROWS, "where it changed", .shape = &shape_use, .is_data = true),
	WIDE(nodes, ROWS,
	     "how much of it was on which NUMA node at the last look; empty where there is one, "
	     "and "
	     "of mappings of less than 1 MiB",
	     .shape = &shape_node, .is_data = true),
	WIDE(stack, CALLS, "functions that mapped it, the innermost first"),
	TEXT("name or caller", what, TEXT, .left = true, .elastic = true),
};
static const struct shape shape_mapping = SHAPE("MappingRow", struct mapping_row, mapping_members);

static const struct member mappings_members[] = {
	MEMBER(struct mappings_answer, mappings, ROWS, NULL, .shape = &shape_mapping),
	MEMBER(struct mappings_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_mappings =
	SHAPE("Mappings", struct mappings_answer, mappings_members);

enum order { BY_BEGIN, BY_RESIDENT };

static const char *const orders[] = { "begin", "resident", NULL };

/* --- the space at some moments ------------------------------------------------------------------ */

struct found {
	const struct mapping_vec *all;
	uint64_t *at_bytes;   /* by mapping: mapped at `at` */
	uint64_t *peak_bytes; /* by mapping: mapped when live blocks were highest */
	const struct mapping_use *uses;
	const uint32_t *first_use; /* by mapping; NULL: not requested */
	const struct mapping_node *nodes;
	const uint32_t *first_node; /* the same */
};

struct stop {
	uint64_t ns;
	uint64_t **bytes;
	size_t count;
};

/* Current mapped bytes of every mapping. */
static struct err *take_bytes(const struct mapping_vec *all, struct arena *arena, uint64_t **ret)
{
	*ret = arena_array(arena, all->count + 1, sizeof(**ret));
	if (!*ret)
		return err_nomem();
	for (size_t i = 0; i < all->count; i++)
		(*ret)[i] = all->items[i].mapped_bytes;
	return NULL;
}

/* Extends an array made earlier to the final count. */
static struct err *lengthen(struct arena *arena, const struct stop *stop, size_t count)
{
	uint64_t *longer = arena_array(arena, count + 1, sizeof(*longer));

	if (!longer)
		return err_nomem();
	memcpy(longer, *stop->bytes, stop->count * sizeof(*longer));
	*stop->bytes = longer;
	return NULL;
}

/* Walks to both moments, the earlier first, then to the end, where kinds are known best. */
static struct err *gather(const struct asked *asked, struct space *space, uint64_t at_ns,
			  struct found *found)
{
	struct stop stops[2] = {
		{ .ns = model_totals(asked->model)->peak_ns, .bytes = &found->peak_bytes },
		{ .ns = at_ns, .bytes = &found->at_bytes },
	};
	const size_t first = stops[0].ns <= stops[1].ns ? 0 : 1;
	struct err *err = NULL;

	found->all = mappings_all(space_mappings(space));
	for (size_t i = 0; i < 2 && !err; i++) {
		struct stop *stop = &stops[i ^ first];

		err = space_advance(space, stop->ns);
		if (!err)
			err = take_bytes(found->all, asked->arena, stop->bytes);
		stop->count = found->all->count;
	}
	if (!err)
		err = space_advance(space, UINT64_MAX - 1);
	for (size_t i = 0; i < 2 && !err; i++)
		err = lengthen(asked->arena, &stops[i], found->all->count);
	if (err || asked->is_for_table)
		return err;
	err = mapping_nodes_find(asked->model, found->all->count, asked->arena, &found->nodes,
				 &found->first_node);
	return err ? err
		   : mapping_uses_find(asked->model, found->all->count, asked->arena, &found->uses,
				       &found->first_use);
}

/* --- rows --------------------------------------------------------------------------------------- */

/* NULL: no memory. */
static const char *prot_text(const struct mapping *mapping, struct arena *arena)
{
	const char prot[PROT_TEXT_BYTES] = {
		mapping->prot & PROT_READ ? 'r' : '-',
		mapping->prot & PROT_WRITE ? 'w' : '-',
		mapping->prot & PROT_EXEC ? 'x' : '-',
		mapping->is_shared ? 's' : 'p',
	};

	return arena_strdup(arena, prot);
}

/* "MAP_PRIVATE|MAP_ANONYMOUS"; NULL where no call was seen. */
static struct err *flags_text(const struct mapping *mapping, struct arena *arena, const char **ret)
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

	if (mapping->flags < 0)
		return NULL;
	str_add(&words, mapping->flags & MAP_SHARED ? "MAP_SHARED" : "MAP_PRIVATE");
	for (size_t i = 0; i < array_size(bits); i++)
		if (mapping->flags & bits[i].bit)
			str_printf(&words, "|%s", bits[i].name);
	*ret = arena_strdup(arena, str_text(&words));
	return *ret ? NULL : err_nomem();
}

static struct err *texts_fill(const struct asked *asked, const struct mapping *mapping,
			      struct mapping_row *row)
{
	struct err *err = flags_text(mapping, asked->arena, &row->flags);

	row->kind = mapping_kind_words[mapping_kind(mapping)];
	row->prot = prot_text(mapping, asked->arena);
	row->name = arena_strdup(asked->arena, mapping->name);
	if (err || !row->prot || !row->name)
		return err ? err : err_nomem();
	return NULL;
}

static struct shape_rows usage_of(const struct found *found, uint32_t index)
{
	if (!found->first_use)
		return (struct shape_rows) { .items = "" };
	return (struct shape_rows) {
		.items = found->uses + found->first_use[index],
		.count = found->first_use[index + 1] - found->first_use[index],
	};
}

static struct shape_rows nodes_of(const struct found *found, uint32_t index)
{
	if (!found->first_node)
		return (struct shape_rows) { .items = "" };
	return (struct shape_rows) {
		.items = found->nodes + found->first_node[index],
		.count = found->first_node[index + 1] - found->first_node[index],
	};
}

static struct err *row_fill(const struct asked *asked, const struct found *found, uint32_t index,
			    struct mapping_row *row)
{
	const struct mapping *mapping = &found->all->items[index];
	const uint64_t at_bytes = found->at_bytes[index];

	*row = (struct mapping_row) {
		.address = mapping->address,
		.bytes = mapping->bytes,
		.mapped_bytes = asked->with->at ? at_bytes : mapping->mapped_bytes,
		.mapped_bytes_max = mapping->mapped_bytes_max,
		.at_peak_bytes = found->peak_bytes[index],
		.resident_bytes = mapping->resident_bytes,
		.resident_bytes_max = mapping->resident_bytes_max,
		.shown_bytes = asked->with->at ? at_bytes : mapping->mapped_bytes_max,
		.shared = mapping->is_shared,
		.fd = mapping->fd,
		.offset = mapping->offset,
		.from_ns = mapping->begin_ns,
		.to_ns = mapping->end_ns,
		.thread = note_tid(asked->model, mapping->thread),
		.seen = mapping->is_seen,
		.cuts = mapping->cut_count,
		.protects = mapping->protect_count,
		.moves = mapping->move_count,
		.usage = usage_of(found, index),
		.nodes = nodes_of(found, index),
		.stack = mapping->stack,
	};
	return texts_fill(asked, mapping, row);
}

static bool is_asked_for(const struct asked *asked, const struct found *found, size_t index)
{
	const struct mapping *mapping = &found->all->items[index];

	if (mapping->begin_ns > asked->until_ns || mapping->end_ns <= asked->from_ns)
		return false;
	return !asked->with->at || found->at_bytes[index] > 0;
}

/* By resident bytes; mappings that were never resident by mapped bytes. */
static uint64_t order_key(enum order order, const struct mapping *mapping, size_t index)
{
	return order == BY_BEGIN ? index
				 : ~(mapping->resident_bytes_max << 12 |
				     u64_min(mapping->mapped_bytes_max >> 20, 4095));
}

static struct err *rows_fill(const struct asked *asked, const struct found *found,
			     struct shape_rows *rows)
{
	struct sort_pair *order = arena_array(asked->arena, found->all->count + 1, sizeof(*order));
	struct mapping_row *items;
	struct err *err = NULL;
	size_t count = 0;

	if (!order)
		return err_nomem();
	for (size_t i = 0; i < found->all->count; i++)
		if (is_asked_for(asked, found, i))
			order[count++] = (struct sort_pair) {
				order_key((enum order)asked->sort, &found->all->items[i], i),
				(uint32_t)i,
			};
	if (!sort_pairs(order, count))
		return err_nomem();
	count = asked->with->top ? u64_min(count, asked->with->top) : count;
	items = arena_array(asked->arena, count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	for (size_t i = 0; i < count && !err; i++)
		err = row_fill(asked, found, order[i].index, &items[i]);
	*rows = (struct shape_rows) { .items = items, .count = count };
	return err;
}

static struct err *ask(const struct asked *asked, void *result)
{
	CLEAN(space_destroy) struct space *space = NULL;
	struct mappings_answer *answer = result;
	struct found found = { 0 };
	uint64_t at_ns = 0;
	struct err *err = asked_moment(asked, asked->with->at,
				       model_process(asked->model)->duration_ns, &at_ns);

	if (!err)
		err = space_create(asked->model, &space);
	if (!err)
		err = gather(asked, space, at_ns, &found);
	if (!err)
		err = rows_fill(asked, &found, &answer->mappings);
	return err ? err : quality_find(asked, &answer->quality);
}

const struct question question_mappings = {
	.name = "mappings",
	.summary = "the address space over time: who mapped what, and how much was resident",
	.one_process = true,
	.shape = &shape_mappings,
	.depth = MODEL_FULL,
	.takes = TAKES(at) | TAKES(top),
	.has_window = true,
	.sorts = orders,
	.instead = "--from, --until and --at choose by time, and so does all else in the table "
		   "'mappings' of `memtape sql`",
	.ask = ask,
};
