#include "space/fault_owners.h"

#include <assert.h>
#include <stdlib.h>

#include "base/sort.h"
#include "space/mappings.h"
#include "sums/kernel_events.h"

enum {
	PAGE_BITS = 12, /* only a way to find addresses: pages may be larger */
	LOOK_BACK = 16	/* faults of a page while one of its blocks was allocated: at most */
};

/* A fault in the order of pages and, of a page, of time. */
struct placed {
	uint64_t page, ns;
	uint32_t fault;
	bool is_seen; /* a block was allocated there afterwards */
};

/* Faults of a page: from first to the next page's first. */
struct paged {
	uint64_t page;
	size_t first;
	bool has_blocks; /* at some time */
};

VEC_DEFINE(paged_vec, struct paged);

struct joining {
	const struct model *model;
	enum tape_kernel_kind kind;
	const struct sweep_limits *limits;
	struct fault_owners found;
	struct placed *placed;
	struct paged_vec pages; /* and one after the last */
};

/* --- the faults -------------------------------------------------------------------------------- */

static bool is_fault(const struct model_note *note, enum tape_kernel_kind kind, uint64_t from_ns,
		     uint64_t until_ns)
{
	return note->type == TAPE_EXT_KERNEL && note->kernel.kind == (uint32_t)kind &&
	       note->ns >= from_ns && note->ns <= until_ns;
}

bool fault_owners_exist(const struct model *model, enum tape_kernel_kind kind)
{
	return model_totals(model)->allocated.count > 0 &&
	       kernel_events_total(model, kind, 0, UINT64_MAX).recorded > 0;
}

static struct err *faults_take(struct joining *joining, uint64_t from_ns, uint64_t until_ns,
			       struct arena *arena)
{
	const struct model *model = joining->model;
	struct fault_owners *found = &joining->found;

	for (size_t i = 0; i < model_note_count(model); i++)
		found->count += is_fault(&model_notes(model)[i], joining->kind, from_ns, until_ns);
	found->faults = arena_array(arena, found->count + 1, sizeof(*found->faults));
	found->stacks = arena_array(arena, model_stack_count(model) + 1, sizeof(*found->stacks));
	found->blocks = arena_array(arena, model_stack_count(model) + 1, sizeof(*found->blocks));
	if (!found->faults || !found->stacks || !found->blocks)
		return err_nomem();
	memset(found->stacks, 0, model_stack_count(model) * sizeof(*found->stacks));
	memset(found->blocks, 0, model_stack_count(model) * sizeof(*found->blocks));
	found->count = 0;
	for (size_t i = 0; i < model_note_count(model); i++) {
		const struct model_note *note = &model_notes(model)[i];

		if (!is_fault(note, joining->kind, from_ns, until_ns))
			continue;
		found->event_bytes = note->kernel.bytes;
		found->faults[found->count++] = (struct owned_fault) {
			.address = note->kernel.address,
			.ns = note->ns,
			.stack = note->stack,
			.owner = CAPTURE_STACK_NONE,
			.row = MODEL_NO_ROW,
			.place = FAULT_ELSEWHERE,
		};
	}
	return NULL;
}

static struct err *faults_place(struct joining *joining)
{
	const size_t count = joining->found.count;

	joining->placed = malloc((count + 1) * sizeof(*joining->placed));
	if (!joining->placed)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const struct owned_fault *fault = &joining->found.faults[i];

		joining->placed[i] = (struct placed) { .page = fault->address >> PAGE_BITS,
						       .ns = fault->ns,
						       .fault = (uint32_t)i };
	}
	if (!sort_by_u64(joining->placed, count, sizeof(*joining->placed),
			 offsetof(struct placed, page)))
		return err_nomem();
	for (size_t i = 0; i <= count; i++) {
		const uint64_t page = i < count ? joining->placed[i].page : UINT64_MAX;

		if ((i == 0 || i == count || page != joining->placed[i - 1].page) &&
		    !paged_vec_push(&joining->pages, (struct paged) { page, i, false }))
			return err_nomem();
	}
	return NULL;
}

/* --- blocks ------------------------------------------------------------------------------------ */

struct lived {
	uint64_t address, end;
	uint64_t alloc_ns, free_ns;
	uint64_t row;
	uint32_t stack;
};

/* Whether the stack is what the allocation's stack has called. */
static bool goes_on_from(const struct model *model, uint32_t stack, uint32_t allocation)
{
	while (stack > allocation) /* a parent's number is less */
		stack = model_stacks(model)[stack].parent;
	return stack == allocation;
}

static bool fault_is_in(const struct owned_fault *fault, const struct lived *block)
{
	return fault->owner == CAPTURE_STACK_NONE && fault->address >= block->address &&
	       fault->address < block->end;
}

static void fault_charge(struct joining *joining, struct owned_fault *fault,
			 const struct lived *block, bool is_allocating)
{
	fault->owner = block->stack;
	fault->row = block->row;
	fault->is_allocating = is_allocating;
	fault->place = FAULT_IN_BLOCK;
	joining->found.allocating_count += is_allocating;
}

/* Of the faults from begin to end, the first one at this time or later. */
static size_t placed_at(const struct joining *joining, size_t begin, size_t end, uint64_t ns)
{
	while (begin < end) {
		const size_t middle = begin + (end - begin) / 2;

		if (joining->placed[middle].ns < ns)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin;
}

static void page_join(struct joining *joining, size_t begin, size_t end, const struct lived *block)
{
	const size_t born = placed_at(joining, begin, end, block->alloc_ns);
	const size_t back = born - u64_min(born - begin, LOOK_BACK);

	for (size_t i = born; i < end && joining->placed[i].ns < block->free_ns; i++) {
		struct owned_fault *fault = &joining->found.faults[joining->placed[i].fault];

		if (fault_is_in(fault, block))
			fault_charge(joining, fault, block, false);
	}
	for (size_t i = born; i-- > back;) {
		struct placed *placed = &joining->placed[i];
		struct owned_fault *fault = &joining->found.faults[placed->fault];

		if (placed->is_seen || !fault_is_in(fault, block))
			continue;
		placed->is_seen = true;
		if (goes_on_from(joining->model, fault->stack, block->stack))
			fault_charge(joining, fault, block, true);
	}
}

static void block_join(struct joining *joining, const struct lived *block)
{
	struct paged *pages = joining->pages.items;
	const uint64_t page = block->address >> PAGE_BITS;
	size_t begin = 0, end = joining->pages.count - 1;

	while (begin < end) {
		const size_t middle = begin + (end - begin) / 2;

		if (pages[middle].page < page)
			begin = middle + 1;
		else
			end = middle;
	}
	for (size_t i = begin;
	     i + 1 < joining->pages.count && pages[i].page <= (block->end - 1) >> PAGE_BITS; i++) {
		pages[i].has_blocks = true;
		page_join(joining, pages[i].first, pages[i + 1].first, block);
	}
}

/* A batch of rows. */
struct rows {
	uint64_t address[MODEL_BATCH], size[MODEL_BATCH], usable[MODEL_BATCH];
	uint64_t alloc_ns[MODEL_BATCH], free_ns[MODEL_BATCH], stack[MODEL_BATCH];
};

static void rows_read(const struct model *model, uint64_t first, size_t count, struct rows *rows)
{
	model_rows_read(model, MODEL_ADDRESS, first, count, rows->address);
	model_rows_read(model, MODEL_SIZE, first, count, rows->size);
	model_rows_read(model, MODEL_USABLE, first, count, rows->usable);
	model_rows_read(model, MODEL_ALLOC_NS, first, count, rows->alloc_ns);
	model_rows_read(model, MODEL_FREE_NS, first, count, rows->free_ns);
	model_rows_read(model, MODEL_STACK, first, count, rows->stack);
}

/* In the order of allocations: the first one after a fault is that during which it happened. */
static struct err *rows_join(struct joining *joining)
{
	CLEAN(free) struct rows *rows = malloc(sizeof(*rows));
	const uint64_t row_count = model_row_count(joining->model);
	struct err *err = NULL;

	if (!rows)
		return err_nomem();
	for (uint64_t first = 0; !err && first < row_count; first += MODEL_BATCH) {
		const size_t count = u64_min(MODEL_BATCH, row_count - first);

		rows_read(joining->model, first, count, rows);
		for (size_t i = 0; i < count; i++) {
			const uint64_t address = rows->address[i];
			const uint64_t bytes = u64_max(rows->usable[i], rows->size[i]);

			if (bytes > 0 && bytes <= UINT64_MAX - address)
				block_join(joining,
					   &(struct lived) { address, address + bytes,
							     rows->alloc_ns[i], rows->free_ns[i],
							     first + i, (uint32_t)rows->stack[i] });
		}
		if (joining->limits && first / MODEL_BATCH % 64 == 0)
			err = sweep_check(joining->limits);
	}
	return err;
}

/* --- where the others are ---------------------------------------------------------------------- */

static uint32_t mapping_at(const struct mappings *mappings, uint64_t address)
{
	const struct mappings_piece_vec *pieces = mappings_pieces(mappings);
	size_t begin = 0, end = pieces->count;

	while (begin < end) {
		const size_t middle = begin + (end - begin) / 2;

		if (pieces->items[middle].end <= address)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin < pieces->count && pieces->items[begin].begin <= address
		       ? pieces->items[begin].mapping
		       : UINT32_MAX;
}

static enum fault_place place_of(const struct mapping *mapping)
{
	switch (mapping_kind(mapping)) {
	case MAPPING_HEAP:
	case MAPPING_BLOCKS:
		return FAULT_IN_HEAP;
	case MAPPING_STACK:
		return FAULT_IN_STACK;
	case MAPPING_FILE:
	case MAPPING_SHARED:
	case MAPPING_MODULE:
		return FAULT_IN_FILE;
	case MAPPING_PROGRAM:
	case MAPPING_UNSEEN:
	case MAPPING_KERNEL:
	case MAPPING_MEMTAPE:
	case MAPPING_RESERVED:
		break;
	}
	return FAULT_ELSEWHERE;
}

/* As it was mapped then or, if no call is on the tape, as the kernel showed it next. */
static struct err *mappings_find(const struct fault_owners *found, struct mappings *mappings,
				 uint32_t *mapping_of)
{
	const struct mappings_snapshot_vec *snapshots = mappings_snapshots(mappings);
	size_t snapshot = 0, pending = 0;
	struct err *err = NULL;

	for (size_t i = 0; i <= found->count && !err; i++) {
		const uint64_t ns = i < found->count ? found->faults[i].ns : UINT64_MAX;

		while (!err && snapshot < snapshots->count &&
		       snapshots->items[snapshot].end_ns < ns) {
			err = mappings_advance_snapshot(mappings, snapshot++);
			for (; !err && pending < i; pending++)
				if (mapping_of[pending] == UINT32_MAX)
					mapping_of[pending] = mapping_at(
						mappings, found->faults[pending].address);
		}
		if (!err && i < found->count)
			err = mappings_advance(mappings, ns);
		if (!err && i < found->count)
			mapping_of[i] = mapping_at(mappings, found->faults[i].address);
	}
	return err;
}

static struct err *places_find(struct fault_owners *found, const struct model *model)
{
	CLEAN(mappings_destroy) struct mappings *mappings = NULL;
	CLEAN(free) uint32_t *mapping_of = malloc((found->count + 1) * sizeof(*mapping_of));
	struct err *err = mapping_of ? mappings_create(model, &mappings) : err_nomem();

	if (!err)
		err = mappings_find(found, mappings, mapping_of);
	if (err)
		return err;
	for (size_t i = 0; i < found->count; i++)
		if (found->faults[i].row != MODEL_NO_ROW && mapping_of[i] != UINT32_MAX)
			mappings_mark_blocks(mappings, mapping_of[i]);
	for (size_t i = 0; i < found->count; i++) {
		struct owned_fault *fault = &found->faults[i];

		if (fault->row == MODEL_NO_ROW && mapping_of[i] != UINT32_MAX)
			fault->place = place_of(&mappings_all(mappings)->items[mapping_of[i]]);
	}
	return NULL;
}

/* What nobody showed as mapped, but has blocks at some time, is of the allocator. */
static void pages_place(struct joining *joining)
{
	const struct paged_vec *pages = &joining->pages;

	for (size_t i = 0; i + 1 < pages->count; i++)
		for (size_t k = pages->items[i].first; k < pages->items[i + 1].first; k++) {
			struct owned_fault *fault =
				&joining->found.faults[joining->placed[k].fault];

			if (pages->items[i].has_blocks && fault->place == FAULT_ELSEWHERE)
				fault->place = FAULT_IN_HEAP;
		}
}

/* --- all --------------------------------------------------------------------------------------- */

/* Blocks of several faults count once. */
static struct err *blocks_count(struct joining *joining)
{
	struct fault_owners *found = &joining->found;
	CLEAN(free)
	struct sort_pair *rows = malloc((found->count + 1) * sizeof(*rows));
	size_t count = 0;

	if (!rows)
		return err_nomem();
	for (size_t i = 0; i < found->count; i++)
		if (found->faults[i].row != MODEL_NO_ROW)
			rows[count++] =
				(struct sort_pair) { found->faults[i].row, found->faults[i].owner };
	if (!sort_pairs(rows, count))
		return err_nomem();
	for (size_t i = 0; i < count; i++)
		found->blocks[rows[i].index] += i == 0 || rows[i].key != rows[i - 1].key;
	return NULL;
}

static void sum_up(struct joining *joining)
{
	struct fault_owners *found = &joining->found;

	for (size_t i = 0; i < found->count; i++) {
		const struct owned_fault *fault = &found->faults[i];

		found->places[fault->place]++;
		if (fault->row == MODEL_NO_ROW)
			continue;
		assert(fault->owner < model_stack_count(joining->model));
		found->stacks[fault->owner].count++;
		found->stacks[fault->owner].bytes += found->event_bytes;
	}
}

struct err *fault_owners_find(const struct model *model, enum tape_kernel_kind kind,
			      uint64_t from_ns, uint64_t until_ns,
			      const struct sweep_limits *limits, struct arena *arena,
			      struct fault_owners *owners_ret)
{
	struct joining joining = { .model = model, .kind = kind, .limits = limits };
	struct err *err = faults_take(&joining, from_ns, until_ns, arena);

	assert(joining.found.count <= UINT32_MAX);
	if (!err)
		err = faults_place(&joining);
	if (!err)
		err = rows_join(&joining);
	if (!err)
		err = places_find(&joining.found, model);
	if (!err)
		err = blocks_count(&joining);
	if (!err)
		pages_place(&joining);
	free(joining.placed);
	paged_vec_deinit(&joining.pages);
	if (err)
		return err;
	sum_up(&joining);
	*owners_ret = joining.found;
	return NULL;
}
