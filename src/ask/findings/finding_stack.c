/*
 * stack: threads that came near the end of their stacks. Known stack use is never too high, so a
 * thread known by its deepest call counts the same as one known by its pages.
 */
#include "findings/finding.h"

enum { USED_PERCENT = 80 };

static bool is_near_end(const struct model_stack_use *use)
{
	return use->known != MODEL_STACK_UNKNOWN && use->reserved_bytes != MODEL_BYTES_UNKNOWN &&
	       use->reserved_bytes > 0 &&
	       finding_is_share(use->used_bytes, use->reserved_bytes, USED_PERCENT);
}

/* Whether a is nearer to its end. */
static bool is_nearer(const struct model_stack_use *a, const struct model_stack_use *b)
{
	return (double)a->used_bytes * (double)b->reserved_bytes >
	       (double)b->used_bytes * (double)a->reserved_bytes;
}

static struct err *stack_add(struct finding_search *search, const struct finder *finder,
			     uint64_t count, uint64_t bytes, const struct model_thread *worst)
{
	const struct model_stack_use *use = &worst->stack_use;
	CLEAN(str_deinit) struct str evidence = { 0 };
	const struct finding finding = {
		.bytes = bytes,
		.count = count,
		.stack = FINDING_NO_STACK,
		.link = { .page = "threads", .report = "threads" },
	};

	finding_add_counted(&evidence, count, "thread");
	str_printf(&evidence, " used %d %% of %s stack or more; the worst, ", USED_PERCENT,
		   count == 1 ? "its" : "their");
	if (worst->name[0])
		str_printf(&evidence, "%s (%u), ", worst->name, worst->tid);
	else
		str_printf(&evidence, "%u, ", worst->tid);
	str_add_iec(&evidence, use->used_bytes);
	str_add(&evidence, " of ");
	str_add_iec(&evidence, use->reserved_bytes);
	str_add(&evidence, use->known == MODEL_STACK_PAGES
				   ? ", by the pages that it touched"
				   : " at least, down to the deepest call that was recorded");
	return finding_add(search, finder, finding, &evidence);
}

static struct err *find(struct finding_search *search, const struct finder *finder)
{
	const struct model_thread *worst = NULL;
	uint64_t count = 0, bytes = 0;

	for (size_t i = 0; i < model_thread_count(search->model); i++) {
		const struct model_thread *thread = model_thread(search->model, i);

		if (!is_near_end(&thread->stack_use))
			continue;
		count++;
		bytes += u64_min(thread->stack_use.used_bytes, UINT64_MAX - bytes);
		if (!worst || is_nearer(&thread->stack_use, &worst->stack_use))
			worst = thread;
	}
	return worst ? stack_add(search, finder, count, bytes, worst) : NULL;
}

const struct finder finder_stack = {
	.type = "stack",
	.title = "A thread came near the end of its stack",
	.advice = "A little deeper and the program dies: give the thread more "
		  "(pthread_attr_setstacksize, "
		  "ulimit -s), or keep large arrays and deep recursion off the stack.",
	.what = "stacks that are nearly full",
	.find = find,
};
