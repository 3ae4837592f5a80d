/*
 * lifetimes: how long blocks lived, from those that are gone at once to those that stay.
 */
#include "groups/lifetimes.h"

#include "report/quality.h"
#include "report/rank.h"

enum {
	SITES_SHOWN = 10,
	SITES_MAX = 1000, /* each has a spread of its own, some KiB */
	RANGE_COLUMNS = 20,
	COLUMNS = 12,
	BAR_COLUMNS_MAX = 40
};

static const struct {
	const char *key;
	const char *title;
	unsigned thousandths;
} percentiles[] = {
	{ "p50_ns", "half", 500 },    { "p90_ns", "90 %", 900 }, { "p99_ns", "99 %", 990 },
	{ "p999_ns", "99.9 %", 999 }, { "max_ns", "all", 1000 },
};

struct site_lifetimes {
	const struct site *const *ranked;
	size_t count;
	const struct lifetimes *by_site; /* in the order of ranked */
};

/* --- text ---------------------------------------------------------------------------------- */

static void add_range(struct str *out, unsigned bucket)
{
	if (bucket == 0) {
		str_add(out, "under ");
		str_add_duration(out, lifetimes_bucket_max(0) + 1);
		return;
	}
	str_add_duration(out, lifetimes_bucket_min(bucket));
	if (bucket + 1 == LIFETIME_BUCKETS) {
		str_add(out, " and more");
		return;
	}
	str_add(out, " - ");
	str_add_duration(out, lifetimes_bucket_max(bucket) + 1);
}

static void add_line(struct text *text, const char *range, const struct model_sum *sum,
		     const struct lifetimes *lifetimes)
{
	const uint64_t whole =
		lifetimes->freed.count + lifetimes->never.count + lifetimes->lost.count;
	char words[STR_SHORT_BYTES];

	text_right(text, TEXT_PLAIN, range, RANGE_COLUMNS);
	text_right(text, TEXT_VALUE, str_grouped(words, sum->count), COLUMNS);
	text_right(text, TEXT_BOLD, str_percent(words, sum->count, whole), COLUMNS - 2);
	text_right(text, TEXT_PLAIN, str_iec(words, sum->bytes), COLUMNS);
	str_add(&text->out, "  ");
	text_bar(text, sum->count, whole, BAR_COLUMNS_MAX);
	str_add_char(&text->out, '\n');
}

/* From the first that has blocks to the last; there is one. */
static void add_freed(struct text *text, const struct lifetimes *lifetimes)
{
	unsigned first = 0, end = LIFETIME_BUCKETS;

	while (first + 1 < end && lifetimes->buckets[first].count == 0)
		first++;
	while (end > first + 1 && lifetimes->buckets[end - 1].count == 0)
		end--;
	for (unsigned i = first; i < end; i++) {
		CLEAN(str_deinit) struct str range = { 0 };

		add_range(&range, i);
		add_line(text, str_text(&range), &lifetimes->buckets[i], lifetimes);
	}
}

static void add_buckets(struct text *text, const struct lifetimes *lifetimes)
{
	if (lifetimes->freed.count == 0)
		str_add(&text->out, "No block was freed, so there are no lifetimes.\n\n");
	text_right(text, TEXT_DIM, "lived", RANGE_COLUMNS);
	text_right(text, TEXT_DIM, "blocks", COLUMNS);
	text_right(text, TEXT_DIM, "share", COLUMNS - 2);
	text_right(text, TEXT_DIM, "bytes", COLUMNS);
	str_add_char(&text->out, '\n');
	if (lifetimes->freed.count > 0)
		add_freed(text, lifetimes);
	add_line(text, "never freed", &lifetimes->never, lifetimes);
	if (lifetimes->lost.count > 0)
		add_line(text, "freed unseen", &lifetimes->lost, lifetimes);
}

static void add_percentiles(struct text *text, const struct lifetimes *lifetimes)
{
	if (lifetimes->freed.count == 0)
		return;
	str_add(&text->out, "\nOf those freed, ");
	for (size_t i = 0; i < array_size(percentiles); i++) {
		str_add(&text->out, i ? ", " : "");
		str_add(&text->out, percentiles[i].title);
		str_add(&text->out, i ? " " : " lived at most ");
		text_style(text, TEXT_VALUE);
		str_add_duration(&text->out,
				 spread_percentile(&lifetimes->spread, percentiles[i].thousandths));
		text_style(text, TEXT_PLAIN);
	}
	str_add(&text->out, ".\n");
}

static void add_site(struct text *text, const struct report_context *context,
		     const struct site *site, const struct lifetimes *lifetimes)
{
	const bool has_freed = lifetimes->freed.count > 0;
	char words[STR_SHORT_BYTES];

	text_right(text, TEXT_VALUE, str_grouped(words, site->sums.allocated.count), COLUMNS);
	text_right(text, TEXT_PLAIN, str_grouped(words, lifetimes->never.count), COLUMNS);
	for (size_t i = 0; i < array_size(percentiles); i++) {
		const uint64_t ns =
			spread_percentile(&lifetimes->spread, percentiles[i].thousandths);

		if (percentiles[i].thousandths != 999)
			text_right(text, TEXT_PLAIN, has_freed ? str_duration(words, ns) : "-",
				   COLUMNS - 2);
	}
	str_add(&text->out, "  ");
	rank_frame(text, context, rank_site_frame(context, site->stacks[METRIC_COUNT]), 1,
		   TEXT_BOLD, text->width - 6 * COLUMNS);
}

static void add_sites(struct text *text, const struct report_context *context,
		      const struct site_lifetimes *sites)
{
	text_heading(text, "By function", "of those freed, how long so many lived at most");
	text_right(text, TEXT_DIM, "blocks", COLUMNS);
	text_right(text, TEXT_DIM, "never freed", COLUMNS);
	for (size_t i = 0; i < array_size(percentiles); i++)
		if (percentiles[i].thousandths != 999)
			text_right(text, TEXT_DIM, percentiles[i].title, COLUMNS - 2);
	text_add(text, TEXT_DIM, "  function");
	str_add_char(&text->out, '\n');
	for (size_t i = 0; i < sites->count; i++)
		add_site(text, context, sites->ranked[i], &sites->by_site[i]);
}

static struct err *lifetimes_text(const struct report_context *context,
				  const struct lifetimes *lifetimes,
				  const struct site_lifetimes *sites, FILE *out)
{
	CLEAN(text_deinit) struct text text = text_begin(context->settings);

	text_head(&text, context->model);
	str_add_char(&text.out, '\n');
	if (model_process(context->model)->flags & TAPE_FLAG_AVERAGES) {
		str_add(&text.out, "How long blocks lived is not known: they stand for sums.\n");
	} else {
		add_buckets(&text, lifetimes);
		add_percentiles(&text, lifetimes);
		if (sites->count > 0)
			add_sites(&text, context, sites);
	}
	quality_text(&text, context);
	return text_write(&text, out);
}

/* --- JSON and CSV -------------------------------------------------------------------------- */

static void emit_bucket(struct emit *emit, uint64_t min_ns, uint64_t max_ns,
			const struct model_sum *sum)
{
	emit_row(emit);
	if (min_ns == MODEL_NEVER)
		emit_null(emit, "min_ns");
	else
		emit_u64(emit, "min_ns", min_ns, EMIT_DURATION);
	if (max_ns == MODEL_NEVER)
		emit_null(emit, "max_ns");
	else
		emit_u64(emit, "max_ns", max_ns, EMIT_DURATION);
	emit_u64(emit, "count", sum->count, EMIT_COUNT);
	emit_u64(emit, "bytes", sum->bytes, EMIT_BYTES);
	emit_end(emit);
}

static void emit_buckets(struct emit *emit, const char *key, const struct lifetimes *lifetimes)
{
	static const struct emit_column columns[] = {
		{ .key = "min_ns" }, { .key = "max_ns" }, { .key = "count" }, { .key = "bytes" }
	};

	emit_table(emit, key, columns, array_size(columns));
	for (unsigned i = 0; i < LIFETIME_BUCKETS; i++)
		emit_bucket(emit, lifetimes_bucket_min(i), lifetimes_bucket_max(i),
			    &lifetimes->buckets[i]);
	if (!key) /* in CSV, where there is no other place for them */
		emit_bucket(emit, MODEL_NEVER, MODEL_NEVER, &lifetimes->never);
	emit_end(emit);
}

static void emit_facts(struct emit *emit, const struct lifetimes *lifetimes)
{
	emit_u64(emit, "freed_count", lifetimes->freed.count, EMIT_COUNT);
	emit_u64(emit, "freed_bytes", lifetimes->freed.bytes, EMIT_BYTES);
	emit_u64(emit, "never_freed_count", lifetimes->never.count, EMIT_COUNT);
	emit_u64(emit, "never_freed_bytes", lifetimes->never.bytes, EMIT_BYTES);
	emit_u64(emit, "freed_unseen_count", lifetimes->lost.count, EMIT_COUNT);
	emit_u64(emit, "freed_unseen_bytes", lifetimes->lost.bytes, EMIT_BYTES);
	for (size_t i = 0; i < array_size(percentiles); i++) {
		if (lifetimes->freed.count == 0)
			emit_null(emit, percentiles[i].key);
		else
			emit_u64(emit, percentiles[i].key,
				 spread_percentile(&lifetimes->spread, percentiles[i].thousandths),
				 EMIT_DURATION);
	}
}

static void emit_sites(struct emit *emit, const char *key, const struct report_context *context,
		       const struct site_lifetimes *sites)
{
	static const struct emit_column columns[] = {
		{ .key = "function" },
		{ .key = "file" },
		{ .key = "line" },
		{ .key = "module" },
		{ .key = "freed_count" },
		{ .key = "freed_bytes" },
		{ .key = "never_freed_count" },
		{ .key = "never_freed_bytes" },
		{ .key = "freed_unseen_count" },
		{ .key = "freed_unseen_bytes" },
		{ .key = "p50_ns" },
		{ .key = "p90_ns" },
		{ .key = "p99_ns" },
		{ .key = "p999_ns" },
		{ .key = "max_ns" },
	};

	emit_table(emit, key, columns, array_size(columns));
	for (size_t i = 0; i < sites->count; i++) {
		const uint32_t stack = sites->ranked[i]->stacks[METRIC_COUNT];

		emit_row(emit);
		rank_emit_place(emit, context, rank_site_frame(context, stack));
		emit_facts(emit, &sites->by_site[i]);
		emit_end(emit);
	}
	emit_end(emit);
}

static struct err *lifetimes_emit(const struct report_context *context,
				  const struct lifetimes *lifetimes,
				  const struct site_lifetimes *sites, FILE *out)
{
	const struct emit_settings settings = { .format = context->settings->format };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &settings);

	if (!emit)
		return err_nomem();
	if (settings.format == EMIT_JSON) {
		emit_object(emit, NULL);
		emit_facts(emit, lifetimes);
		emit_buckets(emit, "lifetimes", lifetimes);
		if (context->settings->with.sites)
			emit_sites(emit, "sites", context, sites);
		quality_emit(emit, context);
		emit_end(emit);
	} else if (context->settings->with.sites) {
		emit_sites(emit, NULL, context, sites);
	} else {
		emit_buckets(emit, NULL, lifetimes);
	}
	return emit_finish(emit);
}

static struct err *sites_lifetimes(const struct report_context *context,
				   struct site_lifetimes *found)
{
	const struct report_settings *settings = context->settings;
	const size_t usual = settings->format == EMIT_TEXT ? SITES_SHOWN : SITES_MAX;
	const size_t top = settings->with.top ? u64_min(settings->with.top, SITES_MAX) : usual;
	struct lifetimes *by_site;
	struct sites sites;
	uint32_t *index_of;
	struct err *err =
		sites_find(&context->sums, context->names, context->mode, context->arena, &sites);

	if (!err)
		err = sites_rank(&sites,
				 settings->has_sort ? (enum metric)settings->sort : METRIC_COUNT,
				 top, context->arena, &found->ranked, &found->count);
	if (err)
		return err;
	index_of = arena_array(context->arena, sites.count, sizeof(*index_of));
	if (!index_of)
		return err_nomem();
	for (size_t i = 0; i < sites.count; i++)
		index_of[i] = UINT32_MAX;
	for (size_t i = 0; i < found->count; i++)
		index_of[found->ranked[i] - sites.items] = (uint32_t)i;
	err = lifetimes_by_site(&sites, index_of, found->count, context->selection, context->arena,
				&by_site);
	if (!err)
		found->by_site = by_site;
	return err;
}

static struct err *run(const struct report_context *context, FILE *out)
{
	struct site_lifetimes sites = { 0 };
	struct lifetimes *lifetimes;
	struct err *err =
		lifetimes_find(context->model, context->selection, context->arena, &lifetimes);

	if (!err && context->settings->with.sites)
		err = sites_lifetimes(context, &sites);
	if (err)
		return err;
	return context->settings->format == EMIT_TEXT
		       ? lifetimes_text(context, lifetimes, &sites, out)
		       : lifetimes_emit(context, lifetimes, &sites, out);
}

const struct report report_lifetimes = {
	.name = "lifetimes",
	.summary = "how long blocks lived, of all or of each function (--sites)",
	.depth = MODEL_FULL,
	.selects = true,
	.ignores_leaks = true,
	.run = run,
};
