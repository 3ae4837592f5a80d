/*
 * sizes: block sizes, by powers of two.
 */
#include "answer/about.h"
#include "base/str.h"
#include "questions/questions.h"
#include "select/passes.h"

struct size_bucket {
	const char *range;
	uint64_t size_min, size_max;
	uint64_t allocated_count;
	struct shape_share share;
	uint64_t allocated_bytes;
	uint64_t peak_count, peak_bytes;
	uint64_t leaked_count, leaked_bytes;
	uint64_t temporary_count;
};

struct sizes {
	struct shape_rows sizes;
	struct about about;
};

static const struct member bucket_members[] = {
	MEMBER(struct size_bucket, range, TEXT, NULL, .title = "size", .is_text = true),
	MEMBER(struct size_bucket, size_min, BYTES, "the smallest that belong to it",
	       .is_wide = true),
	MEMBER(struct size_bucket, size_max, BYTES, "the largest", .is_wide = true),
	MEMBER(struct size_bucket, allocated_count, COUNT, NULL, .title = "allocations"),
	MEMBER(struct size_bucket, share, SHARE, "of all allocations", .title = "share"),
	MEMBER(struct size_bucket, allocated_bytes, BYTES, NULL, .title = "allocated"),
	MEMBER(struct size_bucket, peak_count, COUNT, "blocks alive at the peak",
	       .title = "at peak"),
	MEMBER(struct size_bucket, peak_bytes, BYTES, "alive at the peak", .title = "bytes"),
	MEMBER(struct size_bucket, leaked_count, COUNT, "blocks never freed, and not suppressed",
	       .title = "leaked"),
	MEMBER(struct size_bucket, leaked_bytes, BYTES, "never freed, and not suppressed",
	       .title = "bytes"),
	MEMBER(struct size_bucket, temporary_count, COUNT,
	       "freed before their thread allocated again", .title = "temporary"),
};
static const struct shape shape_bucket = SHAPE("SizeBucket", struct size_bucket, bucket_members);

static const struct member sizes_members[] = {
	MEMBER(struct sizes, sizes, ROWS, "those that have allocations, the smallest first",
	       .shape = &shape_bucket),
	MEMBER(struct sizes, about, FLAT, NULL, .shape = &shape_about),
};
static const struct shape shape_sizes = SHAPE("Sizes", struct sizes, sizes_members);

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
 * The model has these sums for all allocations; for a part, or with suppressed leaks, rows are
 * counted.
 */
static struct err *buckets_count(const struct asked *asked,
				 const struct model_size_bucket **buckets_ret)
{
	const struct selection *selection = asked->selection;
	struct model_size_bucket *buckets =
		arena_array(asked->arena, MODEL_SIZE_BUCKETS, sizeof(*buckets));
	CLEAN(free) struct pass_rows *rows = malloc(sizeof(*rows));
	struct pass pass = pass_begin(asked->model, selection);

	if (!buckets || !rows)
		return err_nomem();
	while (pass_next(&pass)) {
		pass_rows_read(&pass, rows);
		for (size_t i = 0; i < pass.count; i++) {
			const uint64_t bytes = rows->size[i], flags = rows->flags[i];
			const uint64_t free_ns = rows->free_ns[i];
			struct model_size_bucket *bucket = &buckets[bucket_of(bytes)];

			sum_take(&bucket->allocated, true, bytes);
			sum_take(&bucket->peak,
				 selection_at_peak(selection, rows->alloc_ns[i], free_ns, flags),
				 bytes);
			sum_take(&bucket->leaked,
				 selection_is_leaked(selection, free_ns, flags, rows->stack[i]),
				 bytes);
			sum_take(&bucket->temporary, flags & MODEL_ALLOCATION_TEMPORARY, bytes);
		}
	}
	*buckets_ret = buckets;
	return NULL;
}

/* NULL: no memory. */
static const char *range_text(struct arena *arena, uint64_t least, uint64_t most)
{
	char bytes[STR_SHORT_BYTES];

	if (least >= 1024)
		return arena_printf(arena, "%s ..", str_iec(bytes, least));
	if (least <= 1)
		return arena_printf(arena, "%llu B", (unsigned long long)most);
	return arena_printf(arena, "%llu - %llu B", (unsigned long long)least,
			    (unsigned long long)most);
}

static struct size_bucket bucket_row(const struct asked *asked, unsigned index,
				     const struct model_size_bucket *bucket)
{
	const uint64_t most = index == 0 ? 0 : UINT64_MAX >> (64 - index);
	const uint64_t least = index == 0 ? 0 : (most >> 1) + 1;

	return (struct size_bucket) {
		.range = range_text(asked->arena, least, most),
		.size_min = least,
		.size_max = most,
		.allocated_count = bucket->allocated.count,
		.share = { bucket->allocated.count, asked->selection->sums.total.allocated.count },
		.allocated_bytes = bucket->allocated.bytes,
		.peak_count = bucket->peak.count,
		.peak_bytes = bucket->peak.bytes,
		.leaked_count = bucket->leaked.count,
		.leaked_bytes = bucket->leaked.bytes,
		.temporary_count = bucket->temporary.count,
	};
}

static struct err *ask(const struct asked *asked, void *result)
{
	const struct selection *selection = asked->selection;
	const struct model_size_bucket *buckets = model_size_buckets(asked->model);
	struct size_bucket *items = arena_array(asked->arena, MODEL_SIZE_BUCKETS, sizeof(*items));
	struct sizes *sizes = result;
	struct err *err = items ? NULL : err_nomem();
	size_t count = 0;

	if (!err && (!selection_is_all(selection) || selection->suppressed))
		err = buckets_count(asked, &buckets);
	for (unsigned i = 0; i < MODEL_SIZE_BUCKETS && !err; i++) {
		if (buckets[i].allocated.count == 0)
			continue;
		items[count] = bucket_row(asked, i, &buckets[i]);
		if (!items[count++].range)
			err = err_nomem();
	}
	sizes->sizes = (struct shape_rows) { items, count };
	return err ? err : about_find(asked, &sizes->about);
}

const struct question question_sizes = {
	.name = "sizes",
	.summary = "how large the blocks were, by powers of two",
	.shape = &shape_sizes,
	.depth = MODEL_SUMMARY,
	.selects = true,
	.recounts_leaks = true,
	.ask = ask,
};
