#include "questions/address_space.h"

#include "questions/questions.h"
#include "verdict/shortage.h"

static const struct member sample_members[] = {
	MEMBER(struct rss_sample, ns, NS, "when"),
	MEMBER(struct rss_sample, rss_bytes, BYTES, "resident; the sum of the bands"),
	MEMBER_AS("live", struct rss_sample, bands[RSS_LIVE], SIGNED,
		  "requested bytes of live blocks"),
	MEMBER_AS("slack", struct rss_sample, bands[RSS_SLACK], SIGNED,
		  "what blocks are larger than requested"),
	MEMBER_AS("untouched", struct rss_sample, bands[RSS_UNTOUCHED], SIGNED,
		  "of both, not resident; never positive"),
	MEMBER_AS("free", struct rss_sample, bands[RSS_FREE], SIGNED,
		  "resident in the heap, and in no live block"),
	MEMBER_AS("program", struct rss_sample, bands[RSS_PROGRAM], SIGNED,
		  "anonymous memory that the program mapped"),
	MEMBER_AS("unseen", struct rss_sample, bands[RSS_UNSEEN], SIGNED,
		  "anonymous memory that was mapped unseen"),
	MEMBER_AS("file", struct rss_sample, bands[RSS_FILE], SIGNED, "mapped files"),
	MEMBER_AS("shared", struct rss_sample, bands[RSS_SHARED], SIGNED, "shared memory"),
	MEMBER_AS("module", struct rss_sample, bands[RSS_MODULE], SIGNED,
		  "code and data of modules"),
	MEMBER_AS("stack", struct rss_sample, bands[RSS_STACK], SIGNED, "stacks"),
	MEMBER_AS("memtape", struct rss_sample, bands[RSS_MEMTAPE], SIGNED, "memtape itself"),
	MEMBER_AS("kernel", struct rss_sample, bands[RSS_KERNEL], SIGNED, "kernel pages"),
	MEMBER_AS("remainder", struct rss_sample, bands[RSS_REMAINDER], SIGNED,
		  "what could not be told; may be negative"),
	MEMBER(struct rss_sample, heap_resident, BYTES, "resident in heaps and mapped blocks"),
	MEMBER(struct rss_sample, live_count, COUNT, "live blocks"),
	MEMBER_AS("measured", struct rss_sample, is_measured, FLAG,
		  "mapping by mapping; false: an estimate between two that were"),
};
static const struct shape shape_sample = SHAPE("RssSample", struct rss_sample, sample_members);

static const struct member rss_members[] = {
	MEMBER(struct rss_answer, explanation, TEXT,
	       "what stands between resident memory and the live blocks"),
	MEMBER(struct rss_answer, snapshots, COUNT, "pictures of the address space on the tape"),
	MEMBER(struct rss_answer, pages_known, FLAG,
	       "each says which pages of the heap were resident"),
	MEMBER(struct rss_answer, peak_sample, PLAIN, "index of the sample with most resident",
	       .nullable = true),
	MEMBER(struct rss_answer, most_free_sample, PLAIN,
	       "index of the one with most free before blocks are freed at the end",
	       .nullable = true),
	MEMBER(struct rss_answer, samples, ROWS, "in the order of time", .shape = &shape_sample),
	MEMBER(struct rss_answer, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
static const struct shape shape_rss = SHAPE("Rss", struct rss_answer, rss_members);

/* What is resident may be less than what is used. */
static struct err *add_shortage(const struct asked *asked, struct str *words)
{
	struct shortages shortages;
	struct err *err = shortages_find(asked->model, asked->arena, &shortages);

	if (err || shortages.level < VERDICT_WARNING)
		return err;
	str_printf(words, " %s was short of memory meanwhile: ", shortages_subject(&shortages));
	shortages_add_words(&shortages, words);
	str_add(words,
		". Pages may have been swapped out or dropped: they are not resident, though "
		"the program uses them.");
	return NULL;
}

static struct err *explain(const struct asked *asked, const struct rss *rss,
			   const struct space_waste *waste, struct rss_answer *answer)
{
	CLEAN(str_deinit) struct str words = { 0 };
	struct err *err;

	rss_words(&words, rss, waste);
	err = add_shortage(asked, &words);
	if (err)
		return err;
	answer->explanation = arena_strdup(asked->arena, str_text(&words));
	return answer->explanation ? NULL : err_nomem();
}

/* At the highest RSS, if resident pages are known. */
static struct err *explain_at_peak(const struct asked *asked, const struct rss *rss,
				   struct rss_answer *answer)
{
	CLEAN(space_destroy) struct space *space = NULL;
	struct space_waste waste = { 0 };
	const struct rss_sample *peak;
	struct err *err;

	if (rss->samples.count == 0)
		return explain(asked, rss, NULL, answer);
	peak = &rss->samples.items[rss->peak];
	if (!peak->is_measured)
		return explain(asked, rss, NULL, answer);
	err = space_create(asked->model, &space);
	if (!err)
		space_follow_marks(space, &rss->marks);
	if (!err)
		err = space_waste_find(asked->model, space, peak->ns, asked->arena, &waste);
	if (!err)
		err = explain(asked, rss, &waste, answer);
	space_waste_deinit(&waste);
	return err;
}

static struct err *ask(const struct asked *asked, void *result)
{
	CLEAN(rss_deinit) struct rss rss = { 0 };
	struct rss_answer *answer = result;
	struct rss_sample *items;
	struct err *err = rss_explain(asked->model, &rss);

	if (!err)
		err = explain_at_peak(asked, &rss, answer);
	if (err)
		return err;
	items = arena_array(asked->arena, rss.samples.count + 1, sizeof(*items));
	if (!items)
		return err_nomem();
	if (rss.samples.count > 0)
		memcpy(items, rss.samples.items, rss.samples.count * sizeof(*items));
	answer->samples = (struct shape_rows) { .items = items, .count = rss.samples.count };
	answer->snapshots = rss.snapshot_count;
	answer->pages_known = rss.pages_known;
	answer->peak_sample = rss.samples.count > 0 ? rss.peak : SHAPE_NONE;
	answer->most_free_sample = rss.samples.count > 0 ? rss.most_free : SHAPE_NONE;
	answer->last_sample = rss.last;
	return quality_find(asked, &answer->quality);
}

const struct question question_rss = {
	.name = "rss",
	.summary = "what resident memory consists of, over time",
	.one_process = true,
	.shape = &shape_rss,
	.depth = MODEL_FULL,
	.is_patient = true,
	.instead = "--json has every sample with its time",
	.ask = ask,
};
