#include "questions/address_space.h"

#include <assert.h>

#include "base/sort.h"
#include "questions/questions.h"
#include "space/fault_owners.h"
#include "space/huge_losses.h"

const char *const trace_words[] = {
	[TAPE_KERNEL_BRK] = "brk",
	[TAPE_KERNEL_MMAP] = "mmap",
	[TAPE_KERNEL_MUNMAP] = "munmap",
	[TAPE_KERNEL_FAULT] = "faults",
	[TAPE_KERNEL_OOM] = "oom",
	[TAPE_KERNEL_MAJOR_FAULT] = "major_faults",
	[TAPE_KERNEL_HUGE_SPLIT] = "thp_splits",
	[TAPE_KERNEL_KINDS] = NULL,
};

static const struct member kind_members[] = {
	MEMBER(struct trace_kind, count, COUNT, "events in the whole run, by the kernel's count"),
	MEMBER(struct trace_kind, recorded, COUNT, "of these, on the tape in the range of time"),
	MEMBER(struct trace_kind, lost, COUNT, "not recorded: the kernel had no room for them"),
	MEMBER(struct trace_kind, own, COUNT,
	       "not recorded: the kernel did it for memtape's recorder in the program"),
	MEMBER(struct trace_kind, period, COUNT, "of so many events one was recorded"),
	MEMBER(struct trace_kind, bytes, BYTES,
	       "of those recorded: by which the heap grew, mapped, unmapped, or pages"),
	MEMBER_AS("user_only", struct trace_kind, is_user_only, FLAG,
		  "what happened within system calls could not be seen"),
};
static const struct shape shape_kind = SHAPE("TraceKind", struct trace_kind, kind_members);

static const struct member stack_members[] = {
	MEMBER(struct trace_stack, kind, TEXT, NULL, .words = trace_words, .left = true),
	MEMBER(struct trace_stack, count, COUNT, "events"),
	MEMBER(struct trace_stack, bytes, BYTES, NULL),
	MEMBER(struct trace_stack, place, FLAT, NULL, .shape = &shape_place),
	MEMBER(struct trace_stack, stack, FRAMES, "of the program"),
};
static const struct shape shape_stack = SHAPE("TraceStack", struct trace_stack, stack_members);

static const struct member owner_members[] = {
	MEMBER(struct trace_owner, count, COUNT, "page faults, or splits, in blocks of this stack"),
	MEMBER(struct trace_owner, bytes, BYTES, "of their pages"),
	MEMBER(struct trace_owner, blocks, COUNT, "how many blocks these are"),
	MEMBER(struct trace_owner, place, FLAT, NULL, .shape = &shape_place),
	MEMBER(struct trace_owner, stack, FRAMES, "of the allocations"),
};
static const struct shape shape_owner = SHAPE("TraceOwner", struct trace_owner, owner_members);

static const struct member owners_members[] = {
	MEMBER(struct trace_owners, count, COUNT, "page faults, or splits, in the range of time"),
	MEMBER(struct trace_owners, in_blocks, COUNT, "in a block that lived, or was allocated"),
	MEMBER(struct trace_owners, allocating, COUNT,
	       "of these, while it was allocated: by calloc, realloc or the allocator"),
	MEMBER(struct trace_owners, in_heap, COUNT,
	       "in memory of the allocator, but in no block: its own words, and what is free"),
	MEMBER(struct trace_owners, in_stacks, COUNT, "in stacks of threads"),
	MEMBER(struct trace_owners, in_files, COUNT,
	       "in mapped files: the program and its libraries, data"),
	MEMBER(struct trace_owners, elsewhere, COUNT, "in other memory, or it is not known what"),
	MEMBER(struct trace_owners, sites, ROWS, "by stack of the allocations; most faults first",
	       .shape = &shape_owner),
};
static const struct shape shape_owners = SHAPE("TraceOwners", struct trace_owners, owners_members);

static const struct member estimate_members[] = {
	MEMBER(struct trace_estimate, address, ADDRESS, "of the mapping, or of several"),
	MEMBER(struct trace_estimate, mapped_bytes, BYTES, "its length"),
	MEMBER(struct trace_estimate, count, COUNT, "huge pages that were split, at least"),
	MEMBER(struct trace_estimate, bytes, BYTES, "of these"),
	MEMBER(struct trace_estimate, huge_bytes, BYTES, "of it in huge pages before, at most"),
	MEMBER(struct trace_estimate, time_ns, NS, "when most of them were gone"),
	MEMBER(struct trace_estimate, kind, TEXT, "what the mapping is for", .nullable = true),
	MEMBER(struct trace_estimate, name, TEXT, "path, or a name in brackets", .nullable = true),
	MEMBER(struct trace_estimate, blocks, COUNT, "of the stack, in it"),
	MEMBER(struct trace_estimate, place, FLAT, NULL, .shape = &shape_place),
	MEMBER(struct trace_estimate, stack, FRAMES,
	       "of the blocks that have most of it, or of the call that mapped it"),
};
static const struct shape shape_estimate =
	SHAPE("TraceEstimate", struct trace_estimate, estimate_members);

#define KIND(field, doc)                                                                           \
	MEMBER(struct trace_answer, field, OBJECT, doc, .shape = &shape_kind, .nullable = true)
static const struct member answer_members[] = {
	KIND(brk, "the heap's end was moved; null, as for the others: not traced"),
	KIND(mmap, "memory was mapped"),
	KIND(munmap, "memory was unmapped"),
	KIND(faults, "page faults"),
	KIND(major_faults, "page faults that waited for a disk"),
	KIND(oom, "processes that the kernel killed, for want of memory"),
	KIND(thp_splits, "huge pages were split into small ones"),
	MEMBER(struct trace_answer, stacks, ROWS,
	       "events of one kind and stack; of each kind those with most bytes or, of faults, "
	       "events",
	       .shape = &shape_stack),
	MEMBER(struct trace_answer, owners, OBJECT,
	       "the blocks in which pages were touched; null: no page faults were traced, or the "
	       "tape has no allocations",
	       .shape = &shape_owners, .nullable = true),
	MEMBER(struct trace_answer, split_owners, OBJECT,
	       "the blocks whose huge pages were split, as owners; null: splits were not traced, "
	       "or "
	       "the tape has no allocations",
	       .shape = &shape_owners, .nullable = true),
	MEMBER(struct trace_answer, split_estimates, ROWS,
	       "splits as estimated, by mapping: huge pages that were gone between two looks, "
	       "though "
	       "their memory was not; those with most",
	       .shape = &shape_estimate),
	MEMBER(struct trace_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_answer = SHAPE("Trace", struct trace_answer, answer_members);

static const struct trace_kind **kind_place(struct trace_answer *answer, enum tape_kernel_kind kind)
{
	const struct trace_kind **const places[TAPE_KERNEL_KINDS] = {
		[TAPE_KERNEL_BRK] = &answer->brk,
		[TAPE_KERNEL_MMAP] = &answer->mmap,
		[TAPE_KERNEL_MUNMAP] = &answer->munmap,
		[TAPE_KERNEL_FAULT] = &answer->faults,
		[TAPE_KERNEL_OOM] = &answer->oom,
		[TAPE_KERNEL_MAJOR_FAULT] = &answer->major_faults,
		[TAPE_KERNEL_HUGE_SPLIT] = &answer->thp_splits,
	};

	assert(kind < TAPE_KERNEL_KINDS);
	return places[kind];
}

const struct trace_kind *trace_answer_kind(const struct trace_answer *answer,
					   enum tape_kernel_kind kind)
{
	return *kind_place((struct trace_answer *)(uintptr_t)answer, kind);
}

VEC_DEFINE(stack_vec, struct trace_stack);

static int compare_stacks(const void *context, const void *a, const void *b)
{
	const struct trace_stack *left = a, *right = b;
	const bool is_bytes = left->number <= TAPE_KERNEL_MUNMAP;
	const uint64_t left_value = is_bytes ? left->bytes : left->count;
	const uint64_t right_value = is_bytes ? right->bytes : right->count;

	(void)context;
	if (left->number != right->number)
		return left->number < right->number ? -1 : 1;
	if (left_value != right_value)
		return left_value > right_value ? -1 : 1;
	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	return (left->stack > right->stack) - (left->stack < right->stack);
}

/* The stacks of a kind, at most `top`, into rows that have room for all. */
static struct err *stacks_find(const struct asked *asked, enum tape_kernel_kind kind,
			       struct stack_vec *found)
{
	const size_t count = model_stack_count(asked->model);
	struct model_stack_sums *sums = arena_array(asked->arena, count + 1, sizeof(*sums));
	const size_t first = found->count;
	const uint64_t top = asked->with->top ? asked->with->top : UINT64_MAX;

	if (!sums)
		return err_nomem();
	memset(sums, 0, count * sizeof(*sums));
	kernel_events_add(asked->model, kind, asked->from_ns, asked->until_ns, sums);
	for (size_t i = 0; i < count; i++) {
		const struct trace_stack stack = { .kind = trace_words[kind],
						   .count = sums[i].temporary.count,
						   .bytes = sums[i].temporary.bytes,
						   .stack = (uint32_t)i,
						   .number = kind };

		if (stack.count > 0 && !stack_vec_push(found, stack))
			return err_nomem();
	}
	if (!sort_stable(found->items + first, found->count - first, sizeof(*found->items),
			 compare_stacks, NULL))
		return err_nomem();
	found->count = first + u64_min(found->count - first, top);
	return NULL;
}

static struct err *kinds_find(const struct asked *asked, struct trace_answer *answer,
			      struct stack_vec *found)
{
	struct err *err = NULL;

	for (uint32_t kind = 0; kind < TAPE_KERNEL_KINDS && !err; kind++) {
		struct trace_kind *of;
		struct kernel_events events;

		if (!kernel_events_exist(asked->model, kind))
			continue;
		of = arena_new(asked->arena, struct trace_kind);
		if (!of)
			return err_nomem();
		events = kernel_events_total(asked->model, kind, asked->from_ns, asked->until_ns);
		*of = (struct trace_kind) { .count = events.count,
					    .recorded = events.recorded,
					    .lost = events.lost,
					    .own = events.own,
					    .period = events.period,
					    .bytes = events.bytes,
					    .is_user_only = events.is_user_only };
		*kind_place(answer, kind) = of;
		err = stacks_find(asked, kind, found);
	}
	return err;
}

static int compare_owners(const void *context, const void *a, const void *b)
{
	const struct trace_owner *left = a, *right = b;

	(void)context;
	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	return (left->stack > right->stack) - (left->stack < right->stack);
}

static struct err *sites_fill(const struct asked *asked, const struct fault_owners *found,
			      struct trace_owners *owners)
{
	const size_t stack_count = model_stack_count(asked->model);
	struct trace_owner *items = arena_array(asked->arena, stack_count + 1, sizeof(*items));
	struct asked of_place = *asked;
	size_t count = 0;

	if (!items)
		return err_nomem();
	for (size_t i = 0; i < stack_count; i++)
		if (found->stacks[i].count > 0)
			items[count++] = (struct trace_owner) { .count = found->stacks[i].count,
								.bytes = found->stacks[i].bytes,
								.blocks = found->blocks[i],
								.stack = (uint32_t)i };
	if (!sort_stable(items, count, sizeof(*items), compare_owners, NULL))
		return err_nomem();
	count = u64_min(count, asked->with->top ? asked->with->top : UINT64_MAX);
	of_place.mode = WALK_MY;
	for (size_t i = 0; i < count; i++)
		items[i].place = place_of_stack(&of_place, items[i].stack);
	owners->sites = (struct shape_rows) { items, count };
	return NULL;
}

static struct err *owners_find(const struct asked *asked, enum tape_kernel_kind kind,
			       const struct trace_owners **owners_ret)
{
	struct trace_owners *owners;
	struct fault_owners found;
	struct err *err;

	if (!fault_owners_exist(asked->model, kind))
		return NULL;
	owners = arena_new(asked->arena, struct trace_owners);
	if (!owners)
		return err_nomem();
	err = fault_owners_find(asked->model, kind, asked->from_ns, asked->until_ns, asked->limits,
				asked->arena, &found);
	if (err)
		return err;
	*owners = (struct trace_owners) { .count = found.count,
					  .in_blocks = found.places[FAULT_IN_BLOCK],
					  .allocating = found.allocating_count,
					  .in_heap = found.places[FAULT_IN_HEAP],
					  .in_stacks = found.places[FAULT_IN_STACK],
					  .in_files = found.places[FAULT_IN_FILE],
					  .elsewhere = found.places[FAULT_ELSEWHERE] };
	*owners_ret = owners;
	return sites_fill(asked, &found, owners);
}

static struct err *estimates_find(const struct asked *asked, struct shape_rows *rows)
{
	struct huge_losses losses;
	struct err *err = huge_losses_find(asked->model, asked->from_ns, asked->until_ns,
					   asked->arena, &losses);
	struct trace_estimate *items;
	struct asked of_place = *asked;

	if (err)
		return err;
	of_place.mode = WALK_MY;
	items = arena_array(asked->arena, losses.count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	for (size_t i = 0; i < losses.count; i++) {
		const struct huge_loss *loss = &losses.items[i];
		const uint32_t stack = range_owner_stack(&loss->owner);

		items[i] = (struct trace_estimate) { .address = loss->begin,
						     .mapped_bytes = loss->end - loss->begin,
						     .count = loss->count,
						     .bytes = loss->count * loss->page_bytes,
						     .huge_bytes = loss->before_bytes,
						     .time_ns = loss->ns,
						     .blocks = loss->owner.blocks,
						     .kind = loss->owner.kind,
						     .name = loss->owner.name,
						     .stack = stack };
		items[i].place = place_of_stack(&of_place, stack);
	}
	*rows = (struct shape_rows) { items, losses.count };
	return NULL;
}

static struct err *ask(const struct asked *asked, void *result)
{
	CLEAN(stack_vec_deinit) struct stack_vec found = { 0 };
	struct trace_answer *answer = result;
	struct asked of_place = *asked;
	struct err *err = kinds_find(asked, answer, &found);
	struct trace_stack *items;

	if (err)
		return err;
	items = arena_array(asked->arena, found.count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	of_place.mode = WALK_MY; /* who asked the allocator */
	for (size_t i = 0; i < found.count; i++) {
		items[i] = found.items[i];
		items[i].place = place_of_stack(&of_place, items[i].stack);
	}
	answer->stacks = (struct shape_rows) { items, found.count };
	err = owners_find(asked, TAPE_KERNEL_FAULT, &answer->owners);
	if (!err)
		err = owners_find(asked, TAPE_KERNEL_HUGE_SPLIT, &answer->split_owners);
	if (!err)
		err = estimates_find(asked, &answer->split_estimates);
	return err ? err : quality_find(asked, &answer->quality);
}

const struct question question_trace = {
	.name = "trace",
	.summary = "what the kernel did: brk, mmap and page faults, with stacks (memtape trace)",
	.one_process = true,
	.shape = &shape_answer,
	.depth = MODEL_FULL,
	.takes = TAKES(top),
	.has_window = true,
	.shows_all = true,
	.is_patient = true,
	.instead = "--from and --until choose by time",
	.ask = ask,
};
