#include "questions/threads.h"

#include "answer/note.h"
#include "base/sort.h"
#include "questions/questions.h"

struct handover_row {
	uint64_t allocated_by;
	uint64_t freed_by; /* SHAPE_NONE: never freed, or freeing thread unknown */
	uint64_t count, bytes;
};

static const struct member thread_members[] = {
	MEMBER(struct thread_row, tid, PLAIN, "the kernel's id", .title = "tid"),
	MEMBER_AS("name", struct thread_row, thread.name, TEXT, "the last it had", .title = "name",
		  .left = true),
	MEMBER_AS("allocated_count", struct thread_row, sums.allocated.count, COUNT, NULL,
		  .title = "allocations"),
	MEMBER_AS("allocated_bytes", struct thread_row, sums.allocated.bytes, BYTES, NULL,
		  .title = "allocated"),
	MEMBER_AS("peak_count", struct thread_row, sums.peak.count, COUNT,
		  "of its blocks, alive at the peak", .is_wide = true),
	MEMBER_AS("peak_bytes", struct thread_row, sums.peak.bytes, BYTES,
		  "of its blocks, alive at the peak", .title = "at peak"),
	MEMBER_AS("leaked_count", struct thread_row, sums.leaked.count, COUNT,
		  "blocks never freed, and not suppressed", .title = "leaked"),
	MEMBER_AS("leaked_bytes", struct thread_row, sums.leaked.bytes, BYTES,
		  "never freed, and not suppressed", .title = "bytes"),
	MEMBER_AS("temporary_count", struct thread_row, sums.temporary.count, COUNT,
		  "freed before it allocated again", .title = "temporary"),
	MEMBER(struct thread_row, free_count, COUNT, "blocks it freed, of any thread",
	       .title = "frees"),
	MEMBER(struct thread_row, foreign_free_count, COUNT,
	       "of those, allocated by another thread", .title = "of others'"),
	MEMBER_AS("begin_ns", struct thread_row, thread.begin_ns, NS, NULL, .title = "began"),
	MEMBER_AS("end_ns", struct thread_row, thread.end_ns, NS, NULL, .title = "ended",
		  .nullable = true),
	MEMBER_AS("stack_bytes", struct thread_row, thread.stack_use.reserved_bytes, BYTES,
		  "reserved for its stack", .nullable = true, .is_wide = true),
	MEMBER_AS("stack_used_bytes", struct thread_row, thread.stack_use.used_bytes, BYTES,
		  "how far down its stack was used", .nullable = true, .is_wide = true),
	MEMBER(struct thread_row, stack_known, TEXT,
	       "how it is known: by pages touched, or at least so far by events", .nullable = true,
	       .is_wide = true),
	MEMBER(struct thread_row, creator, PLAIN, "id of the thread that created it",
	       .nullable = true, .is_wide = true),
	MEMBER_AS("create_stack", struct thread_row, thread.create_stack, FRAMES,
		  "where it was created", .nullable = true, .is_wide = true),
};
static const struct shape shape_thread = SHAPE("ThreadRow", struct thread_row, thread_members);

static const struct member handover_members[] = {
	MEMBER(struct handover_row, allocated_by, PLAIN, "id of the thread"),
	MEMBER(struct handover_row, freed_by, PLAIN,
	       "id of the thread; null: never freed, or by an unknown thread", .nullable = true),
	MEMBER(struct handover_row, count, COUNT, "blocks"),
	MEMBER(struct handover_row, bytes, BYTES, NULL),
};
static const struct shape shape_handover = SHAPE("Handover", struct handover_row, handover_members);

static const struct member threads_members[] = {
	MEMBER(struct threads_answer, threads, ROWS, NULL, .shape = &shape_thread),
	MEMBER(struct threads_answer, handovers, ROWS, "who freed what who had allocated",
	       .shape = &shape_handover),
	MEMBER(struct threads_answer, about, FLAT, NULL, .shape = &shape_about),
};
static const struct shape shape_threads = SHAPE("Threads", struct threads_answer, threads_members);

static struct thread_row thread_row(const struct asked *asked, const struct handovers *found,
				    uint32_t index)
{
	const struct model_thread *thread = model_thread(asked->model, index);
	/* The model also counts frees of blocks whose allocation was not seen. */
	const bool is_all = selection_is_all(asked->selection);

	return (struct thread_row) {
		.thread = *thread,
		.sums = found->threads[index],
		.free_count = is_all ? thread->free_count : found->free_counts[index],
		.foreign_free_count =
			is_all ? thread->foreign_free_count : found->foreign_free_counts[index],
		.tid = thread->tid,
		.stack_known = model_stack_known_word(&thread->stack_use),
		.creator = note_tid(asked->model, thread->creator),
		.index = index,
	};
}

/* In order of creation, or by the sort key, largest first. */
static struct err *threads_fill(const struct asked *asked, const struct handovers *found,
				struct shape_rows *rows)
{
	const size_t count = model_thread_count(asked->model);
	const size_t top = asked->with->top ? u64_min(asked->with->top, count) : count;
	struct sort_pair *order = arena_array(asked->arena, count + 1, sizeof(*order));
	struct thread_row *items = arena_array(asked->arena, top + 1, sizeof(*items));

	if (!order || !items)
		return err_nomem();
	for (size_t i = 0; i < count; i++) {
		const uint64_t value = metric_value((enum metric)asked->sort, &found->threads[i]);

		order[i] = (struct sort_pair) { asked->with->sort ? ~value : i, (uint32_t)i };
	}
	if (!sort_pairs(order, count))
		return err_nomem();
	for (size_t i = 0; i < top; i++)
		items[i] = thread_row(asked, found, order[i].index);
	*rows = (struct shape_rows) { .items = items, .count = top };
	return NULL;
}

static struct err *handovers_fill(const struct asked *asked, const struct handovers *found,
				  struct shape_rows *rows)
{
	struct handover_row *items = arena_array(asked->arena, found->count + 1, sizeof(*items));

	if (!items)
		return err_nomem();
	for (size_t i = 0; i < found->count; i++) {
		const struct handover *handover = &found->items[i];

		items[i] = (struct handover_row) {
			.allocated_by = note_tid(asked->model, handover->allocator),
			.freed_by = note_tid(asked->model, handover->freer),
			.count = handover->sum.count,
			.bytes = handover->sum.bytes,
		};
	}
	*rows = (struct shape_rows) { .items = items, .count = found->count };
	return NULL;
}

static struct err *ask(const struct asked *asked, void *result)
{
	struct threads_answer *answer = result;
	struct err *err =
		handovers_find(asked->model, asked->selection, asked->arena, &answer->found);

	if (!err)
		err = threads_fill(asked, &answer->found, &answer->threads);
	if (!err)
		err = handovers_fill(asked, &answer->found, &answer->handovers);
	return err ? err : about_find(asked, &answer->about);
}

const struct question question_threads = {
	.name = "threads",
	.summary = "what each thread allocated, whose blocks it freed, its stack, who created it",
	.shape = &shape_threads,
	.depth = MODEL_FULL,
	.takes = TAKES(top),
	.selects = true,
	.sorts = metric_words,
	.ask = ask,
};
