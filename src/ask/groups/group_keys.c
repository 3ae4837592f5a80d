/* Keys to sort groups by. */
#include <assert.h>
#include <string.h>

#include "base/sort.h"
#include "base/number.h"
#include "groups/grouping.h"

static const enum metric metrics[] = {
	[GROUP_SIZE] = METRIC_ALLOCATED,
	[GROUP_COUNT] = METRIC_COUNT,
	[GROUP_LEAKED_SIZE] = METRIC_LEAKED,
	[GROUP_LEAKED_COUNT] = METRIC_LEAKED_COUNT,
	[GROUP_TEMPORARY_SIZE] = METRIC_TEMPORARY_BYTES,
	[GROUP_TEMPORARY_COUNT] = METRIC_TEMPORARY,
	[GROUP_PEAK_SIZE] = METRIC_PEAK,
	[GROUP_PEAK_COUNT] = METRIC_PEAK_COUNT,
};

/* The other keys. */
static const struct key_row {
	const char *word;
	enum group_unit unit;
} rows[GROUP_KEYS] = {
	[GROUP_USABLE_SIZE] = { "usable_size", GROUP_UNIT_BYTES },
	[GROUP_MIN_SIZE] = { "min_size", GROUP_UNIT_BYTES },
	[GROUP_MAX_SIZE] = { "max_size", GROUP_UNIT_BYTES },
	[GROUP_MIN_TIMESTAMP] = { "min_timestamp", GROUP_UNIT_NS },
	[GROUP_MAX_TIMESTAMP] = { "max_timestamp", GROUP_UNIT_NS },
	[GROUP_INTERVAL] = { "interval", GROUP_UNIT_NS },
	[GROUP_RATE] = { "rate", GROUP_UNIT_COUNT },
	[GROUP_LIFETIME_P50] = { "lifetime_p50", GROUP_UNIT_NS },
	[GROUP_LIFETIME_P90] = { "lifetime_p90", GROUP_UNIT_NS },
	[GROUP_LIFETIME_P99] = { "lifetime_p99", GROUP_UNIT_NS },
	[GROUP_LIFETIME_MAX] = { "lifetime_max", GROUP_UNIT_NS },
	[GROUP_USAGE_MAX] = { "max_total_usage", GROUP_UNIT_BYTES },
	[GROUP_USAGE_MAX_TIME] = { "max_total_usage_first_seen_at", GROUP_UNIT_NS },
	[GROUP_SAVES] = { "saves", GROUP_UNIT_BYTES },
	[GROUP_PEAK_WITHOUT] = { "peak_without", GROUP_UNIT_BYTES },
	[GROUP_PEAK_WITHOUT_TIME] = { "peak_without_at", GROUP_UNIT_NS },
};

const char *group_key_word(enum group_key key)
{
	assert((unsigned)key < GROUP_KEYS);
	return key <= GROUP_PEAK_COUNT ? metric_group_key(metrics[key]) : rows[key].word;
}

enum group_unit group_key_unit(enum group_key key)
{
	assert((unsigned)key < GROUP_KEYS);
	if (key <= GROUP_PEAK_COUNT)
		return metric_is_bytes(metrics[key]) ? GROUP_UNIT_BYTES : GROUP_UNIT_COUNT;
	return rows[key].unit;
}

bool group_key_is_saving(enum group_key key)
{
	return key >= GROUP_SAVES && key <= GROUP_PEAK_WITHOUT_TIME;
}

/* --- order --------------------------------------------------------------------------------- */

static bool starts_with(const char **text, const char *word)
{
	if (strncmp(*text, word, strlen(word)) != 0)
		return false;
	*text += strlen(word);
	return true;
}

static struct err *direction_parse(const char *word, bool *is_ascending)
{
	*is_ascending = strcmp(word, "asc") == 0;
	if (*is_ascending || strcmp(word, "desc") == 0 || strcmp(word, "dsc") == 0)
		return NULL;
	return err_new(ERR_USAGE, "'%s' is not a direction; expected asc or desc", word);
}

struct err *group_order_parse(const char *text, const char *direction,
			      struct group_order *order_ret)
{
	struct group_order order = { 0 };
	const char *name = text;
	const char *colon;
	struct err *err = direction ? direction_parse(direction, &order.is_ascending) : NULL;

	if (err)
		return err;
	if (!starts_with(&name, "only_matched."))
		order.is_of_all = starts_with(&name, "all.");
	colon = strchr(name, ':');
	if (colon)
		err = direction_parse(colon + 1, &order.is_ascending);
	if (err)
		return err;
	for (unsigned i = 0; i < GROUP_KEYS; i++) {
		const size_t len = colon ? (size_t)(colon - name) : strlen(name);

		const char *word = group_key_word((enum group_key)i);

		if (strlen(word) == len && memcmp(word, name, len) == 0) {
			order.key = (enum group_key)i;
			*order_ret = order;
			return NULL;
		}
	}
	return err_new(
		ERR_USAGE,
		"groups cannot be sorted by '%s'; expected size, allocated_count, leaked_size, "
		"interval ... (memtape-report(1)), prefixed with 'all.' for all allocations",
		text);
}

static uint64_t rate(const struct group_sums *sums)
{
	const uint64_t thousand_seconds = UINT64_C(1000000000000);
	const uint64_t ns = sums->last_ns - sums->first_ns;

	if (ns == 0)
		return FIELD_NONE;
	return u64_mul_div(sums->sums.allocated.count, thousand_seconds, ns);
}

uint64_t group_value(const struct group *group, enum group_key key, bool is_of_all)
{
	const struct group_sums *sums = is_of_all ? &group->all : &group->matched;

	assert((unsigned)key < GROUP_KEYS);
	switch (key) {
	case GROUP_SIZE:
	case GROUP_COUNT:
	case GROUP_LEAKED_SIZE:
	case GROUP_LEAKED_COUNT:
	case GROUP_TEMPORARY_SIZE:
	case GROUP_TEMPORARY_COUNT:
	case GROUP_PEAK_SIZE:
	case GROUP_PEAK_COUNT:
		return metric_value(metrics[key], &sums->sums);
	case GROUP_USABLE_SIZE:
		return sums->usable;
	case GROUP_MIN_SIZE:
		return sums->size_min;
	case GROUP_MAX_SIZE:
		return sums->size_max;
	case GROUP_MIN_TIMESTAMP:
		return sums->first_ns;
	case GROUP_MAX_TIMESTAMP:
		return sums->last_ns;
	case GROUP_INTERVAL:
		return sums->last_ns - sums->first_ns;
	case GROUP_RATE:
		return rate(sums);
	case GROUP_LIFETIME_P50:
	case GROUP_LIFETIME_P90:
	case GROUP_LIFETIME_P99:
		return group->lifetimes[is_of_all][key - GROUP_LIFETIME_P50];
	case GROUP_LIFETIME_MAX:
		return sums->freed_count > 0 ? sums->lifetime_max_ns : FIELD_NONE;
	case GROUP_USAGE_MAX:
		return group->usage_max;
	case GROUP_USAGE_MAX_TIME:
		return group->usage_max_ns;
	case GROUP_SAVES:
		return group->saves;
	case GROUP_PEAK_WITHOUT:
		return group->peak_without;
	case GROUP_PEAK_WITHOUT_TIME:
		return group->peak_without_ns;
	}
	return FIELD_NONE;
}

int group_compare(const void *context, const void *left, const void *right)
{
	const struct group_order *order = context;
	const struct group *a = left, *b = right;
	const uint64_t a_value = group_value(a, order->key, order->is_of_all);
	const uint64_t b_value = group_value(b, order->key, order->is_of_all);
	int result = sort_compare_u64(b_value, a_value);

	if (a_value == FIELD_NONE || b_value == FIELD_NONE)
		result = -result;
	else if (order->is_ascending)
		result = -result;
	return result ? result : sort_compare_u64(a->matched.first_ns, b->matched.first_ns);
}
