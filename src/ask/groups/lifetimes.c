#include "groups/lifetimes.h"

#include <assert.h>

enum { FIRST_NS = 100 };

uint64_t lifetimes_bucket_min(unsigned bucket)
{
	assert(bucket < LIFETIME_BUCKETS);
	return bucket == 0 ? 0 : lifetimes_bucket_max(bucket - 1) + 1;
}

uint64_t lifetimes_bucket_max(unsigned bucket)
{
	uint64_t end = FIRST_NS;

	assert(bucket < LIFETIME_BUCKETS);
	if (bucket + 1 >= LIFETIME_BUCKETS)
		return UINT64_MAX;
	while (bucket-- > 0)
		end *= 10;
	return end - 1;
}

unsigned lifetimes_bucket(uint64_t ns)
{
	static const uint64_t tens[] = {
		1,	     10,	   100,		  1000,		  10000,
		100000,	     1000000,	   10000000,	  100000000,	  1000000000,
		10000000000, 100000000000, 1000000000000, 10000000000000, 100000000000000
	};
	/* Decimal digits minus one: bits times log10(2), or one more. */
	const unsigned bits = ns ? 64 - (unsigned)__builtin_clzll(ns) : 0;
	unsigned digits = bits * 1233 >> 12;

	if (digits >= array_size(tens))
		return LIFETIME_BUCKETS - 1;
	digits += ns >= tens[digits]; /* now the exact number */
	return digits <= 2 ? 0 : (unsigned)u64_min(digits - 2, LIFETIME_BUCKETS - 1);
}

static void sum_take(struct model_sum *sum, uint64_t bytes)
{
	sum->count++;
	sum->bytes += bytes;
}

static void lifetime_count(struct lifetimes *lifetimes, const struct pass_rows *values, size_t i)
{
	const uint64_t bytes = values->size[i];

	if (values->flags[i] & MODEL_ALLOCATION_LOST_FREE) {
		sum_take(&lifetimes->lost, bytes);
	} else if (model_never_freed(values->free_ns[i], values->flags[i])) {
		sum_take(&lifetimes->never, bytes);
	} else {
		const uint64_t ns = values->free_ns[i] - values->alloc_ns[i];

		sum_take(&lifetimes->freed, bytes);
		sum_take(&lifetimes->buckets[lifetimes_bucket(ns)], bytes);
		spread_add(&lifetimes->spread, ns);
	}
}

struct err *lifetimes_find(const struct model *model, const struct selection *selection,
			   struct arena *arena, struct lifetimes **lifetimes_ret)
{
	struct lifetimes *lifetimes = arena_alloc(arena, sizeof(*lifetimes));
	CLEAN(free) struct pass_rows *values = malloc(sizeof(*values));
	struct pass pass = pass_begin(model, selection);

	if (!lifetimes || !values)
		return err_nomem();
	spread_init(&lifetimes->spread);
	while (pass_next(&pass)) {
		pass_rows_read(&pass, values);
		for (size_t i = 0; i < pass.count; i++)
			lifetime_count(lifetimes, values, i);
	}
	assert(lifetimes->spread.count == lifetimes->freed.count);
	*lifetimes_ret = lifetimes;
	return NULL;
}

struct err *lifetimes_by_site(const struct sites *sites, const uint32_t *index_of, size_t count,
			      const struct selection *selection, struct arena *arena,
			      struct lifetimes **by_site_ret)
{
	struct lifetimes *by_site = arena_array(arena, count, sizeof(*by_site));
	CLEAN(free) struct pass_rows *values = malloc(sizeof(*values));
	struct pass pass = pass_begin(sites->sums->model, selection);

	assert(count <= sites->count);
	if (!by_site || !values)
		return err_nomem();
	for (size_t i = 0; i < count; i++)
		spread_init(&by_site[i].spread);
	while (pass_next(&pass)) {
		pass_rows_read(&pass, values);
		for (size_t i = 0; i < pass.count; i++) {
			const uint32_t site = sites->site_of[values->stack[i]];
			const uint32_t index = site == UINT32_MAX ? UINT32_MAX : index_of[site];

			if (index != UINT32_MAX)
				lifetime_count(&by_site[index], values, i);
		}
	}
	*by_site_ret = by_site;
	return NULL;
}
