#include "base/number.h"
#include "findings/findings.h"

#include <assert.h>

#include "base/sort.h"
#include "findings/causes.h"
#include "model/import.h"

/* --- what finders share -------------------------------------------------------------------- */

bool finding_is_worth(const struct finding_search *search, uint64_t bytes)
{
	assert(search->totals);
	return bytes >= FINDING_BYTES_MIN &&
	       bytes >= search->totals->peak.bytes / FINDING_PEAK_SHARE;
}

bool finding_calls_are_worth(uint64_t calls, uint64_t all)
{
	return calls >= FINDING_CALLS_MIN && calls >= all / FINDING_CALLS_SHARE;
}

uint64_t finding_rate(const struct finding_search *search, size_t site, uint64_t count)
{
	const struct site_facts *facts = &search->facts[site];
	const double seconds = (double)(facts->last_ns - facts->first_ns) / 1e9;

	return seconds > 1e-9 ? u64_of_double((double)count / seconds) : count;
}

bool finding_has_ended(const struct finding_search *search)
{
	const enum tape_end_kind kind = model_process(search->model)->end_kind;

	return !model_goes_on(search->model) && kind != TAPE_END_SIGNAL && kind != TAPE_END_EXEC;
}

void finding_add_counted(struct str *out, uint64_t count, const char *thing)
{
	str_add_grouped(out, count);
	str_printf(out, " %s%s", thing, count == 1 ? "" : "s");
}

char *finding_moment(const struct finding_search *search, uint64_t ns)
{
	return arena_printf(search->arena, "%" PRIu64 "ns", ns);
}

/* A function of a library is where many come by: what is found there has no cause in common. */
static struct cause_place place_of(const struct finding_search *search,
				   const struct finding *finding)
{
	const struct name_frame *frame =
		finding_frame(finding, search->model, search->names, search->mode);

	if (!frame || names_get(search->names, frame->name)->role != NAME_MINE)
		return (struct cause_place) { .name = NAME_NO_STACK };
	return (struct cause_place) { frame->name, frame->line };
}

struct err *finding_add(struct finding_search *search, const struct finder *finder,
			struct finding finding, const struct str *evidence)
{
	assert(finder->title && finder->advice);
	assert(finding.stack == FINDING_NO_STACK ||
	       finding.stack < model_stack_count(search->model));
	assert(finding.link.page);
	assert(finding.link.report);
	finding.type = finder->type;
	if (!finding.title)
		finding.title = finder->title;
	if (!finding.advice)
		finding.advice = finder->advice;
	finding.evidence = arena_printf(search->arena, "%s.", str_text(evidence));
	if (finding.rank == 0)
		finding.rank =
			finder->is_passing ? finding.bytes / FINDING_PASSED_WEIGHT : finding.bytes;
	finding.is_serious = !finder->is_passing;
	if (evidence->failed || !finding.evidence ||
	    !part_vec_push(&search->found,
			   (struct cause_part) { finding, place_of(search, &finding), finder }))
		return err_nomem();
	return NULL;
}

uint64_t finding_slack_at_peak(const struct finding_search *search, const struct site *site)
{
	const uint64_t usable = search->facts[site - search->sites.items].peak_usable;

	assert((size_t)(site - search->sites.items) < search->sites.count);
	return usable > site->sums.peak.bytes ? usable - site->sums.peak.bytes : 0;
}

struct err *finding_add_at_peak(struct finding_search *search, const struct finder *finder,
				const struct site *site, uint64_t bytes, const char *metric,
				const char *sort, const struct str *evidence)
{
	const struct finding finding = {
		.bytes = bytes,
		.count = site->sums.peak.count,
		.stack = site->stacks[METRIC_PEAK],
		.link = { .page = "sites",
			  .report = "groups",
			  .filter = finding_site_filter(search, site, "at_peak"),
			  .metric = metric,
			  .sort = sort },
	};

	assert(bytes > 0);
	return finding.link.filter ? finding_add(search, finder, finding, evidence) : err_nomem();
}

/* --- the search ---------------------------------------------------------------------------- */

static void search_deinit(struct finding_search *search)
{
	rss_deinit(&search->rss);
	arena_deinit(&search->reallocs_arena);
	part_vec_deinit(&search->found);
}

CLEAN_DEFINE_DEINIT(search_deinit, struct finding_search);

static unsigned what_there_is(const struct finding_search *search)
{
	const bool has_rows =
		model_row_count(search->model) > 0 || search->totals->allocated.count == 0;

	/* Walking the address space needs rows too. */
	return (has_rows ? FINDER_ROWS : 0) |
	       (has_rows && search->rss.snapshot_count > 0 ? FINDER_SPACE : 0) |
	       (model_system_count(search->model) > 0 ? FINDER_SYSTEM : 0);
}

/* Sequential walks over the tape, each on its own processor. */
static struct err *walk_do(void *context, uint64_t number)
{
	struct finding_search *search = *(struct finding_search **)context;

	if (number == 0)
		return rss_explain(search->model, &search->rss);
	return reallocs_find(search->model, NULL, REALLOC_BY_COPIED, 0, &search->reallocs_arena,
			     &search->reallocs);
}

static struct err *walks_do(struct finding_search *search)
{
	enum { WALKS = 2 };
	struct finding_search *workers[WALKS] = { search, search };

	return sweep_run(&search->limits, WALKS, walk_do, workers, sizeof(*workers),
			 sweep_workers(&search->limits, WALKS));
}

static struct err *search_prepare(struct finding_search *search)
{
	struct err *err;

	search->totals = model_totals(search->model);
	search->duration_ns = model_process(search->model)->duration_ns;
	search->sums = search->suppressed ? search->suppressed->sums : sums_of_model(search->model);
	err = sites_find(&search->sums, search->names, search->mode, search->arena, &search->sites);
	if (err || model_row_count(search->model) == 0)
		return err;
	err = site_facts_find(search, &search->facts);
	if (!err)
		err = bad_frees_find(search->model, search->names, &search->limits, search->arena,
				     &search->bad_frees);
	if (!err)
		err = sweep_check(&search->limits);
	return err ? err : walks_do(search);
}

static const char *need_words(unsigned lacking)
{
	if (lacking & FINDER_ROWS)
		return "single allocations are not at hand";
	if (lacking & FINDER_SYSTEM)
		return "the tape has no samples of the system; `memtape record` takes them, the "
		       "bare "
		       "library does not";
	return "the tape has no pictures of the address space; `memtape record` takes them, the "
	       "bare "
	       "library does not, and a run of some milliseconds has none";
}

/* What could not be searched for without the missing data, as one sentence. */
static const char *missing_sentence(const struct finding_search *search, unsigned lacking)
{
	const unsigned has = what_there_is(search);
	CLEAN(str_deinit) struct str text = { 0 };

	for (size_t i = 0; finder_table[i]; i++) {
		const unsigned lacks = finder_table[i]->needs & ~has;

		if ((lacks & -lacks) != lacking)
			continue;
		str_printf(&text, "%s%s", text.len ? ", " : "", finder_table[i]->what);
	}
	if (text.len == 0)
		return "";
	str_printf(&text, ": %s", need_words(lacking));
	return text.failed ? NULL : arena_strdup(search->arena, str_text(&text));
}

/* Finders do not need names: without them everything is found, but not attributed. */
static const char *stacks_sentence(const struct finding_search *search)
{
	const uint32_t flags = model_process(search->model)->flags;

	if (flags & TAPE_FLAG_ALLOC_STACKS || search->totals->allocated.count == 0)
		return "";
	return "which function it is: the tape has no stacks; record without --no-stacks";
}

static struct err *list_missing(const struct finding_search *search, struct findings *findings)
{
	const char *const sentences[] = {
		missing_sentence(search, FINDER_ROWS),	 missing_sentence(search, FINDER_SPACE),
		missing_sentence(search, FINDER_SYSTEM), stacks_sentence(search),
		finding_bad_frees_missing(search),
	};
	const char **missing = arena_array(search->arena, array_size(sentences), sizeof(*missing));

	if (!missing)
		return err_nomem();
	for (size_t i = 0; i < array_size(sentences); i++) {
		if (!sentences[i])
			return err_nomem();
		if (sentences[i][0])
			missing[findings->missing_count++] = sentences[i];
	}
	findings->missing = missing;
	return NULL;
}

static struct err *rank_found(const struct finding_search *search, struct findings *findings)
{
	struct finding *causes = NULL, *items;
	struct sort_pair *order;
	size_t count = 0;
	struct err *err = causes_join(search->found.items, search->found.count, search->arena,
				      &causes, &count);

	if (err)
		return err;
	items = arena_array(search->arena, count, sizeof(*items));
	order = arena_array(search->arena, count, sizeof(*order));
	if (!items || !order)
		return err_nomem();
	for (size_t i = 0; i < count; i++)
		order[i] = (struct sort_pair) { ~causes[i].rank, (uint32_t)i };
	if (!sort_pairs(order, count))
		return err_nomem();
	findings->count = u64_min(count, FINDINGS_MAX);
	for (size_t i = 0; i < findings->count; i++)
		items[i] = causes[order[i].index];
	findings->items = items;
	return NULL;
}

struct err *findings_find(const struct model *model, struct names *names, enum walk_mode mode,
			  struct suppressor *suppressor, const struct sweep_limits *limits,
			  struct arena *arena, struct findings *findings_ret)
{
	CLEAN(search_deinit)
	struct finding_search search = {
		.model = model, .names = names, .mode = mode, .arena = arena
	};
	struct findings findings = { 0 };
	struct err *err;

	assert(model && names);
	assert(mode != WALK_ALL);
	if (limits)
		search.limits = *limits;
	err = suppressor_find(suppressor, &search.suppressed);
	if (!err)
		err = search_prepare(&search);
	for (size_t i = 0; finder_table[i] && !err; i++) {
		const struct finder *finder = finder_table[i];

		err = sweep_check(&search.limits);
		if (!err && (finder->needs & ~what_there_is(&search)) == 0)
			err = finder->find(&search, finder);
	}
	if (!err)
		err = rank_found(&search, &findings);
	if (!err)
		err = list_missing(&search, &findings);
	if (err)
		return err;
	findings.leaked = search.sums.total.leaked;
	*findings_ret = findings;
	return NULL;
}

const struct name_frame *finding_frame(const struct finding *finding, const struct model *model,
				       struct names *names, enum walk_mode mode)
{
	struct walk walk;

	if (finding->stack == FINDING_NO_STACK)
		return NULL;
	walk = walk_begin(model, names, finding->stack, mode);
	return walk_next(&walk);
}
