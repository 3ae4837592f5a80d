#include "report/table.h"
#include "select/passes.h"

#define SIZE_COLUMNS                                                                               \
	{ .key = "allocated_count", .title = "allocations" },                                      \
		{ .key = "share", .title = "share" },                                              \
		{ .key = "allocated_bytes", .title = "allocated" },                                \
		{ .key = "peak_count", .title = "at peak" },                                       \
		{ .key = "peak_bytes", .title = "bytes" },                                         \
		{ .key = "leaked_count", .title = "leaked" },                                      \
		{ .key = "leaked_bytes", .title = "bytes" },                                       \
	{                                                                                          \
		.key = "temporary_count", .title = "temporary"                                     \
	}

static const struct emit_column people_columns[] = { { .key = "size", .title = "size" },
						     SIZE_COLUMNS };
static const struct emit_column program_columns[] = { { .key = "size_min" },
						      { .key = "size_max" },
						      SIZE_COLUMNS };

/* Least and most bytes of a bucket. */
static void emit_range(struct emit *emit, unsigned bucket)
{
	const uint64_t most = bucket == 0 ? 0 : UINT64_MAX >> (64 - bucket);
	const uint64_t least = bucket == 0 ? 0 : (most >> 1) + 1;
	CLEAN(str_deinit) struct str range = { 0 };

	if (emit_format_of(emit) != EMIT_TEXT) {
		emit_u64(emit, "size_min", least, EMIT_BYTES);
		emit_u64(emit, "size_max", most, EMIT_BYTES);
		return;
	}
	if (least < 1024) {
		if (bucket > 1) {
			str_add_u64(&range, least);
			str_add(&range, " - ");
		}
		str_add_u64(&range, most);
		str_add(&range, " B");
	} else {
		str_add_iec(&range, least);
		str_add(&range, " ..");
	}
	emit_text(emit, "size", str_text(&range));
}

static void emit_bucket(struct emit *emit, const struct report_context *context,
			const struct model_size_bucket *bucket, unsigned i)
{
	emit_row(emit);
	emit_range(emit, i);
	emit_u64(emit, "allocated_count", bucket->allocated.count, EMIT_COUNT);
	emit_percent(emit, "share", bucket->allocated.count, context->sums.total.allocated.count);
	emit_u64(emit, "allocated_bytes", bucket->allocated.bytes, EMIT_BYTES);
	emit_u64(emit, "peak_count", bucket->peak.count, EMIT_COUNT);
	emit_u64(emit, "peak_bytes", bucket->peak.bytes, EMIT_BYTES);
	emit_u64(emit, "leaked_count", bucket->leaked.count, EMIT_COUNT);
	emit_u64(emit, "leaked_bytes", bucket->leaked.bytes, EMIT_BYTES);
	emit_u64(emit, "temporary_count", bucket->temporary.count, EMIT_COUNT);
	emit_end(emit);
}

static void sum_take(struct model_sum *sum, bool is_in, uint64_t bytes)
{
	sum->count += is_in;
	sum->bytes += is_in ? bytes : 0;
}

static unsigned bucket_of(uint64_t bytes)
{
	return bytes == 0 ? 0 : 64 - (unsigned)__builtin_clzll(bytes);
}

/*
 * The model has them of all allocations; those of a part, or where leaks are suppressed, are
 * counted.
 */
static struct err *buckets_find(const struct report_context *context,
				const struct model_size_bucket **buckets_ret)
{
	struct model_size_bucket *buckets =
		arena_array(context->arena, MODEL_SIZE_BUCKETS, sizeof(*buckets));
	CLEAN(free) struct pass_rows *rows = malloc(sizeof(*rows));
	struct pass pass = pass_begin(context->model, context->selection);

	if (!buckets || !rows)
		return err_nomem();
	while (pass_next(&pass)) {
		pass_rows_read(&pass, rows);
		for (size_t i = 0; i < pass.count; i++) {
			const uint64_t bytes = rows->size[i], flags = rows->flags[i];
			struct model_size_bucket *bucket = &buckets[bucket_of(bytes)];

			sum_take(&bucket->allocated, true, bytes);
			sum_take(&bucket->peak,
				 selection_at_peak(context->selection, rows->alloc_ns[i],
						   rows->free_ns[i], flags),
				 bytes);
			sum_take(&bucket->leaked,
				 selection_is_leaked(context->selection, rows->free_ns[i],
						     rows->stack[i]),
				 bytes);
			sum_take(&bucket->temporary, flags & MODEL_ALLOCATION_TEMPORARY, bytes);
		}
	}
	*buckets_ret = buckets;
	return NULL;
}

static struct err *run(const struct report_context *context, FILE *out)
{
	const bool for_people = context->settings->format == EMIT_TEXT;
	const struct model_size_bucket *buckets = model_size_buckets(context->model);
	const bool are_there =
		selection_is_all(context->selection) && !context->selection->suppressed;
	struct err *err = are_there ? NULL : buckets_find(context, &buckets);
	struct table table;

	if (err)
		return err;
	err = table_begin(&table, context, out, "sizes",
			  for_people ? people_columns : program_columns,
			  for_people ? array_size(people_columns) : array_size(program_columns));
	if (err)
		return err;
	for (unsigned i = 0; i < MODEL_SIZE_BUCKETS; i++) {
		if (buckets[i].allocated.count > 0)
			emit_bucket(table.emit, context, &buckets[i], i);
	}
	return table_end(&table);
}

static bool needs_rows(const struct report_settings *settings)
{
	return settings->suppressions && settings->suppressions->count > 0;
}

const struct report report_sizes = {
	.name = "sizes",
	.summary = "how large the blocks were, by powers of two",
	.depth = MODEL_SUMMARY,
	.selects = true,
	.needs_rows = needs_rows,
	.run = run,
};
