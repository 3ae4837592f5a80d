#include "collect/memory_limits.h"

#include <assert.h>
#include <stdlib.h>

#include "base/str.h"
#include "collect/collector_state.h"

enum { PERCENT = 100, MARGIN_PERCENT = 10 };

static const char *const kind_words[LIMIT_COUNT] = { "rss", "heap", "cgroup", "available" };

/* --- what the user says ---------------------------------------------------------------------- */

static bool parse_percent(const char *text, uint64_t *value_ret)
{
	char *end;

	*value_ret = strtoull(text, &end, 10);
	return end != text && (strcmp(end, "%") == 0 || !*end) && *value_ret > 0 &&
	       *value_ret <= PERCENT;
}

static struct err *parse_one(const char *text, struct limits *limits)
{
	const char *equals = strchr(text, '=');

	for (size_t kind = 0; kind < LIMIT_COUNT && equals; kind++) {
		uint64_t *value = &limits->value[kind];

		if (strlen(kind_words[kind]) != (size_t)(equals - text) ||
		    strncmp(kind_words[kind], text, (size_t)(equals - text)) != 0)
			continue;
		if (*value)
			return err_new(ERR_USAGE, "--snapshot-at: there are two limits of %s",
				       kind_words[kind]);
		if (kind == LIMIT_CGROUP ? parse_percent(equals + 1, value)
					 : str_parse_bytes(equals + 1, value) && *value > 0)
			return NULL;
	}
	return err_new(ERR_USAGE,
		       "--snapshot-at: %s is no limit such as rss=1g, heap=1g, cgroup=90%% or "
		       "available=500m",
		       text);
}

struct err *limits_parse(const struct option_list *texts, struct limits *limits)
{
	struct err *err = NULL;

	*limits = (struct limits) { 0 };
	for (size_t i = 0; i < texts->count && !err; i++)
		err = parse_one(texts->items[i], limits);
	return err;
}

bool limits_are_set(const struct limits *limits)
{
	for (size_t kind = 0; kind < LIMIT_COUNT; kind++)
		if (limits->value[kind])
			return true;
	return false;
}

/* --- how much there is now ------------------------------------------------------------------- */

/* UINT64_MAX: unknown. */
static uint64_t measure(const struct collector *collector, enum limit_kind kind)
{
	const struct tape_usage *usage = &collector->usage.last;

	switch (kind) {
	case LIMIT_RSS:
		return usage->rss_bytes;
	case LIMIT_HEAP:
		if (usage->rss_bytes == USAGE_UNKNOWN || usage->shared_bytes == USAGE_UNKNOWN)
			return UINT64_MAX;
		return usage->rss_bytes - u64_min(usage->shared_bytes, usage->rss_bytes);
	case LIMIT_CGROUP:
		if (usage->cgroup_bytes == USAGE_UNKNOWN || usage->cgroup_limit_bytes == 0 ||
		    usage->cgroup_limit_bytes == USAGE_UNKNOWN)
			return UINT64_MAX;
		return (uint64_t)((double)usage->cgroup_bytes / (double)usage->cgroup_limit_bytes *
				  PERCENT);
	case LIMIT_AVAILABLE:
		return collector->system.last.available_bytes;
	case LIMIT_COUNT:
		break;
	}
	return UINT64_MAX;
}

static bool is_reached(enum limit_kind kind, uint64_t now, uint64_t limit)
{
	return kind == LIMIT_AVAILABLE ? now <= limit : now >= limit;
}

/* Far enough on the other side for the limit to count again. */
static bool is_left(enum limit_kind kind, uint64_t now, uint64_t limit)
{
	/* a limit in percent is smaller than a hundred, and one in bytes may be large */
	const uint64_t margin =
		limit / PERCENT * MARGIN_PERCENT + limit % PERCENT * MARGIN_PERCENT / PERCENT;

	return kind == LIMIT_AVAILABLE ? now > limit + margin : now < limit - margin;
}

static void make(struct collector *collector, enum limit_kind kind, uint64_t now)
{
	const struct tape_mark mark = { .node = TAPE_NODE_NONE };
	CLEAN(str_deinit) struct str text = { 0 };

	str_printf(&text, "snapshot: %s ", kind_words[kind]);
	if (kind == LIMIT_CGROUP)
		str_printf(&text, "%u%%", (unsigned)now);
	else
		str_add_iec(&text, now);
	collector_note(collector, TAPE_EXT_MARK, &mark, sizeof(mark), str_text(&text));
	collector_snapshot(collector);
}

void limits_look(struct collector *collector)
{
	const struct limits *limits = &collector->settings->limits;

	for (unsigned kind = 0; kind < LIMIT_COUNT; kind++) {
		const uint64_t limit = limits->value[kind];
		const uint64_t now = limit ? measure(collector, (enum limit_kind)kind) : UINT64_MAX;

		if (!limit || now == UINT64_MAX)
			continue;
		if (collector->limit_reached[kind]) {
			collector->limit_reached[kind] =
				!is_left((enum limit_kind)kind, now, limit);
		} else if (is_reached((enum limit_kind)kind, now, limit)) {
			collector->limit_reached[kind] = true; /* before the snapshot comes here */
			make(collector, (enum limit_kind)kind, now);
		}
	}
}
