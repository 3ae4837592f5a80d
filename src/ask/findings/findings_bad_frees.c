/* Findings for bad frees; each kind has its own finder. */
#include <assert.h>

#include "findings/bad_frees.h"
#include "findings/finding.h"

enum { PAIRS_MAX = 12 /* pairs of stacks per finder; the text says how many more there are */ };

/* Above all findings that only cost memory: certain ones first, then the most frequent. */
static uint64_t rank_of(const struct bad_free *bad)
{
	const uint64_t kind = bad->kind == BAD_FREE_MISMATCHED ? 1 : 2;

	return FINDING_ERROR_RANK + ((bad->is_certain ? kind + 2 : kind) << 40) +
	       u64_min(bad->count, (UINT64_C(1) << 40) - 1);
}

static void add_call(struct str *out, uint32_t fn)
{
	const char *name = fn < TAPE_FN_COUNT ? tape_fn_name((enum tape_fn)fn) : NULL;

	str_add(out, name ? name : "a call that was not seen");
}

static void add_times(struct str *out, uint64_t count)
{
	if (count == 1)
		return;
	str_add_char(out, ' ');
	finding_add_counted(out, count, "time");
}

static void add_address(struct str *out, uint64_t address)
{
	str_printf(out, "0x%" PRIx64, address);
}

static void double_words(const struct finding_search *search, const struct bad_free *bad,
			 struct str *out)
{
	const uint64_t size = model_row_value(search->model, MODEL_SIZE, bad->row);

	add_call(out, bad->fn);
	str_add(out, " was called");
	add_times(out, bad->count);
	str_add(out, " for a block that had been freed already; at first at ");
	add_address(out, bad->address);
	str_add(out, ", ");
	str_add_iec(out, size);
	str_add(out, " that ");
	add_call(out, bad->alloc_fn);
	str_add(out, " had given and ");
	add_call(out, bad->first_fn);
	str_add(out, " had freed");
}

static void invalid_words(const struct finding_search *search, const struct bad_free *bad,
			  struct str *out)
{
	const struct model_process *process = model_process(search->model);

	add_call(out, bad->fn);
	str_add(out, " was called");
	add_times(out, bad->count);
	if (bad->kind == BAD_FREE_INSIDE) {
		str_add(out, " with a pointer ");
		finding_add_counted(out, bad->offset, "byte");
		str_add(out, " into a block that ");
		add_call(out, bad->alloc_fn);
		str_add(out, " had given; at first with ");
		add_address(out, bad->address);
		return;
	}
	str_add(out, " with ");
	add_address(out, bad->address);
	str_printf(out,
		   ", which no call on the tape had given out, and the program died of signal %d",
		   process->end_status);
}

static void mismatch_words(const struct bad_free *bad, struct str *out)
{
	finding_add_counted(out, bad->count, "block");
	str_add(out, " (");
	str_add_iec(out, bad->bytes);
	str_printf(out, ") that ");
	add_call(out, bad->alloc_fn);
	str_printf(out, " had given %s freed by ", bad->count == 1 ? "was" : "were");
	add_call(out, bad->fn);
}

static void evidence_words(const struct finding_search *search, const struct bad_free *bad,
			   struct str *out)
{
	switch (bad->kind) {
	case BAD_FREE_DOUBLE:
		double_words(search, bad, out);
		break;
	case BAD_FREE_INSIDE:
	case BAD_FREE_REFUSED:
		invalid_words(search, bad, out);
		break;
	case BAD_FREE_MISMATCHED:
		mismatch_words(bad, out);
		break;
	}
	if (bad->is_certain)
		return;
	str_add(out, bad->kind == BAD_FREE_MISMATCHED
			     ? "; possibly: the tape has not all there was, or a function that "
			       "called has no name and may be an operator itself"
			     : "; possibly: the tape has not all there was, and the address may "
			       "have been given out again unseen");
}

static char *filter_of(const struct finding_search *search, const struct bad_free *bad)
{
	if (bad->kind == BAD_FREE_MISMATCHED)
		return arena_printf(search->arena, "stack = %u and free_stack = %u",
				    bad->alloc_stack, bad->stack);
	return arena_printf(search->arena, "address = 0x%" PRIx64,
			    bad->address - (bad->kind == BAD_FREE_INSIDE ? bad->offset : 0));
}

static uint32_t known_stack(uint32_t stack)
{
	return stack == CAPTURE_STACK_NONE ? 0 : stack;
}

static struct err *bad_frees_add(struct finding_search *search, const struct finder *finder,
				 const struct bad_free *bad, uint64_t rest,
				 const char *possible_title)
{
	CLEAN(str_deinit) struct str evidence = { 0 };
	struct finding finding = {
		.title = bad->is_certain ? NULL : possible_title,
		.is_possible = !bad->is_certain,
		.bytes = bad->bytes,
		.count = bad->count,
		.rank = rank_of(bad),
		.stack = bad->stack,
		.allocated_stack = known_stack(bad->alloc_stack),
		.freed_before_stack = known_stack(bad->first_stack),
		.link = { .page = "allocations",
			  .report = "allocations",
			  .filter = filter_of(search, bad) },
	};

	if (!finding.link.filter)
		return err_nomem();
	if (bad->row == MODEL_NO_ROW) /* no allocation to show */
		finding.link = (struct finding_link) { .page = "overview", .report = "summary" };
	evidence_words(search, bad, &evidence);
	if (rest > 0) {
		str_add(&evidence, "; ");
		finding_add_counted(&evidence, rest, "more pair");
		str_add(&evidence, " of stacks like this are not listed");
	}
	return finding_add(search, finder, finding, &evidence);
}

struct err *finding_tell_bad_frees(struct finding_search *search, const struct finder *finder,
				   unsigned kinds, const char *possible_title)
{
	const struct bad_frees *bad_frees = &search->bad_frees;
	uint64_t count = 0, told = 0;
	struct err *err = NULL;

	assert(kinds != 0);
	assert(possible_title);
	for (size_t i = 0; i < bad_frees->count; i++)
		count += kinds >> bad_frees->items[i].kind & 1;
	for (size_t i = 0; i < bad_frees->count && told < PAIRS_MAX && !err; i++) {
		const struct bad_free *bad = &bad_frees->items[i];

		if (!(kinds >> bad->kind & 1))
			continue;
		told++;
		err = bad_frees_add(search, finder, bad, told == PAIRS_MAX ? count - told : 0,
				    possible_title);
	}
	return err;
}

const char *finding_bad_frees_missing(const struct finding_search *search)
{
	const struct bad_frees *bad_frees = &search->bad_frees;
	CLEAN(str_deinit) struct str text = { 0 };

	if (bad_frees->unknown_count + bad_frees->unread_count == 0)
		return "";
	str_add(&text, "whether ");
	finding_add_counted(&text, bad_frees->unknown_count + bad_frees->unread_count, "free");
	str_add(&text, " of what no call on the tape had given out were wrong: blocks may come "
		       "from before the "
		       "recording, or from calls that are not recorded");
	if (bad_frees->unread_count > 0) {
		str_add(&text, "; only the first ");
		str_add_grouped(&text, MODEL_STRAY_FREES_MAX);
		str_add(&text, " are looked at");
	}
	return text.failed ? NULL : arena_strdup(search->arena, str_text(&text));
}
