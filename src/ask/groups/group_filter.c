#include "groups/group_filter.h"

#include <assert.h>

#include "base/map.h"
#include "groups/lifetimes.h"

enum ambiguity {
	IN_MODULES = 1 << 0, /* several modules have functions of this name */
	OVERLOADED = 1 << 1  /* another function has this name with parameters */
};

struct group_filters {
	const struct selection *selection;
	const struct groups *groups;
	uint8_t *ambiguities; /* by group, if groups have functions */
};

/* --- texts --------------------------------------------------------------------------------- */

/* Quotes the text. False: not possible, as it ends with a backslash that would escape the quote. */
static bool add_quoted(struct str *out, const char *text)
{
	const size_t len = strlen(text);
	const char quote = strchr(text, '"') && !strchr(text, '\'') ? '\'' : '"';

	if (len > 0 && text[len - 1] == '\\')
		return false;
	str_add_char(out, quote);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == quote)
			str_add_char(out, '\\');
		str_add_char(out, text[i]);
	}
	str_add_char(out, quote);
	return true;
}

static bool add_equal(struct str *out, const char *field, const char *text)
{
	str_printf(out, "%s = ", field);
	return add_quoted(out, text);
}

/* Matches the exact text, where "=" would match others too. */
static bool add_exact(struct str *out, const char *field, const char *text)
{
	char *pattern = NULL;
	bool is_good;

	if (strstr(text, "\\E") || asprintf(&pattern, "^\\Q%s\\E$", text) < 0)
		return false;
	str_printf(out, "%s ~ ", field);
	is_good = add_quoted(out, pattern);
	free(pattern);
	return is_good;
}

/* A path without folders would also match the last part of other paths. */
static bool add_path(struct str *out, const char *field, const char *path)
{
	if (!path || !*path) {
		str_printf(out, "%s = none", field);
		return true;
	}
	return strchr(path, '/') ? add_equal(out, field, path) : add_exact(out, field, path);
}

/* --- which names are enough ---------------------------------------------------------------- */

static uint64_t text_key(const char *text, size_t len)
{
	return hash_bytes(text, len, 0);
}

struct lookup {
	const struct group_filters *filters;
	struct map by_name; /* of a function: the first group with it, plus 1 */
};

static void ambiguity_add(struct lookup *lookup, const char *function, size_t len,
			  const struct name *name)
{
	const struct group_filters *filters = lookup->filters;
	const uint64_t *first = map_find(&lookup->by_name, text_key(function, len));

	if (!first)
		return;
	for (size_t i = *first - 1; i < filters->groups->count; i++) {
		const struct group *group = &filters->groups->items[i];
		const struct name *own = names_get(filters->selection->names, group->site->name);

		if (strncmp(own->function, function, len) != 0 || own->function[len] != '\0')
			continue;
		if (name->function[len] == '(')
			filters->ambiguities[i] |= OVERLOADED;
		else if (strcmp(own->module, name->module) != 0)
			filters->ambiguities[i] |= IN_MODULES;
	}
}

static struct err *ambiguities_find(struct group_filters *filters)
{
	struct lookup lookup = { .filters = filters };
	const struct names *names = filters->selection->names;
	bool is_good = true;

	for (size_t i = filters->groups->count; i-- > 0 && is_good;) {
		const char *function =
			names_get(names, filters->groups->items[i].site->name)->function;
		uint64_t *place =
			map_put(&lookup.by_name, text_key(function, strlen(function)), NULL);

		is_good = place != NULL;
		if (place)
			*place = i + 1;
	}
	for (size_t i = 0; i < names_count(names) && is_good; i++) {
		const struct name *name = names_get(names, (uint32_t)i);
		const char *at = name->function;

		ambiguity_add(&lookup, name->function, strlen(name->function), name);
		for (at = strchr(at, '('); at; at = strchr(at + 1, '('))
			ambiguity_add(&lookup, name->function, (size_t)(at - name->function), name);
	}
	map_deinit(&lookup.by_name);
	return is_good ? NULL : err_nomem();
}

struct err *group_filters_make(const struct selection *selection, const struct groups *groups,
			       struct arena *arena, const struct group_filters **filters_ret)
{
	struct group_filters *filters = arena_new(arena, struct group_filters);
	struct err *err = NULL;

	assert((unsigned)groups->by < GROUP_BYS);
	if (!filters)
		return err_nomem();
	*filters = (struct group_filters) { .selection = selection, .groups = groups };
	filters->ambiguities = arena_array(arena, groups->count, sizeof(*filters->ambiguities));
	if (!filters->ambiguities)
		return err_nomem();
	if (groups->by == GROUP_BY_FUNCTION)
		err = ambiguities_find(filters);
	if (!err)
		*filters_ret = filters;
	return err;
}

/* --- kinds of groups ----------------------------------------------------------------------- */

/* Names of the fields, by enum walk_mode. */
struct site_fields {
	const char *function, *source, *location, *module;
};

static const struct site_fields fields_of_mode[] = {
	[WALK_MY] = { "site", "site_source", "site_location", "site_module" },
	[WALK_EXACT] = { "exact_site", "exact_site_source", "exact_site_location",
			 "exact_site_module" },
};

/* Sites that are allocators have no fields. */
static bool has_fields(const struct groups *groups)
{
	return groups->mode != WALK_ALL ||
	       (groups->by != GROUP_BY_FUNCTION && groups->by != GROUP_BY_SOURCE &&
		groups->by != GROUP_BY_MODULE);
}

static bool add_function(struct str *out, const struct group_filters *filters, size_t i)
{
	const struct site_fields *fields = &fields_of_mode[filters->groups->mode];
	const struct group *group = &filters->groups->items[i];
	const struct name *name = names_get(filters->selection->names, group->site->name);
	const bool is_good = filters->ambiguities[i] & OVERLOADED
				     ? add_exact(out, fields->function, name->function)
				     : add_equal(out, fields->function, name->function);

	if (!(filters->ambiguities[i] & IN_MODULES))
		return is_good;
	str_add(out, " and ");
	return is_good && add_path(out, fields->module, name->module);
}

static bool add_source(struct str *out, const struct name_frame *site,
		       const struct site_fields *fields)
{
	CLEAN(str_deinit) struct str location = { 0 };

	if (!site->file)
		return add_path(out, fields->source, NULL);
	if (site->line == 0) {
		const bool is_good = add_path(out, fields->source, site->file);

		str_printf(out, " and %s = none", fields->location);
		return is_good;
	}
	str_printf(&location, "%s:%u", site->file, site->line);
	return !location.failed && add_path(out, fields->location, str_text(&location));
}

/* Thread numbers are reused: then the time identifies the thread. */
static void add_thread(struct str *out, const struct model *model, uint64_t thread)
{
	const struct model_thread *own = model_thread(model, thread);
	bool is_shared = false;

	for (size_t i = 0; i < model_thread_count(model); i++)
		is_shared |= i != thread && model_thread(model, i)->tid == own->tid;
	str_printf(out, "thread = %u", own->tid);
	if (!is_shared)
		return;
	str_printf(out, " and time >= %lluns", (unsigned long long)own->begin_ns);
	if (own->end_ns != MODEL_NEVER)
		str_printf(out, " and time <= %lluns", (unsigned long long)own->end_ns);
}

static void add_size(struct str *out, uint64_t bucket)
{
	if (bucket == 0)
		str_add(out, "size = 0");
	else if (bucket == 1)
		str_add(out, "size = 1");
	else
		str_printf(out, "size in %llu..%llu", 1ULL << (bucket - 1),
			   (1ULL << (bucket - 1)) * 2 - 1);
}

static void add_ns(struct str *out, uint64_t ns)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = { { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 } };
	size_t i = 0;

	while (ns % units[i].ns != 0)
		i++;
	str_printf(out, "%llu%s", (unsigned long long)(ns / units[i].ns), units[i].unit);
}

static void add_lifetime(struct str *out, uint64_t bucket)
{
	if (bucket == LIFETIME_BUCKETS) {
		str_add(out, "not freed");
		return;
	}
	if (bucket > 0) {
		str_add(out, "lifetime >= ");
		add_ns(out, lifetimes_bucket_min((unsigned)bucket));
	}
	if (bucket + 1 == LIFETIME_BUCKETS)
		return;
	str_add(out, bucket > 0 ? " and lifetime < " : "lifetime < ");
	add_ns(out, lifetimes_bucket_max((unsigned)bucket) + 1);
}

static bool add_mark(struct str *out, const struct facts *facts, uint64_t mark)
{
	if (mark == FIELD_NONE) {
		str_add(out, "mark = none");
		return true;
	}
	return add_equal(out, "mark", facts->marks[mark]->text);
}

static bool add_tag(struct str *out, const struct facts *facts, uint64_t tag)
{
	if (tag == FIELD_NONE) {
		str_add(out, "tag = none");
		return true;
	}
	return add_equal(out, "tag", facts->tags.texts[tag]);
}

static bool add_process(struct str *out, const struct members *members, uint64_t key)
{
	if (!members->of_stack) {
		str_add(out, "all");
		return true;
	}
	str_printf(out, "pid = %u and ", members->items[key].pid);
	return add_equal(out, "process", members->items[key].name);
}

static bool add_group(struct str *out, const struct group_filters *filters, size_t i)
{
	const struct group *group = &filters->groups->items[i];
	const struct selection *selection = filters->selection;

	switch (filters->groups->by) {
	case GROUP_BY_STACK:
		str_printf(out, "stack = %u", group->stack);
		return true;
	case GROUP_BY_FUNCTION:
		return add_function(out, filters, i);
	case GROUP_BY_SOURCE:
		return add_source(out, group->site, &fields_of_mode[filters->groups->mode]);
	case GROUP_BY_MODULE:
		return add_path(out, "exact_site_module",
				names_get(selection->names, group->site->name)->module);
	case GROUP_BY_THREAD:
		add_thread(out, selection->model, group->key);
		return true;
	case GROUP_BY_SIZE:
		add_size(out, group->key);
		return true;
	case GROUP_BY_MARK:
		return add_mark(out, selection->facts, group->key);
	case GROUP_BY_TAG:
		return add_tag(out, selection->facts, group->key);
	case GROUP_BY_POOL:
		if (group->key == FIELD_NONE)
			str_add(out, "all");
		else
			return add_equal(out, "pool",
					 model_pools(selection->model)[group->key].name);
		return true;
	case GROUP_BY_CALL:
		return add_equal(out, "call", tape_fn_name((enum tape_fn)group->key));
	case GROUP_BY_LIFETIME:
		add_lifetime(out, group->key);
		return true;
	case GROUP_BY_PROCESS:
		return add_process(out, &selection->facts->members, group->key);
	}
	return false;
}

const char *group_filter(const struct group_filters *filters, size_t i, struct arena *arena)
{
	CLEAN(str_deinit) struct str out = { 0 };

	assert(i < filters->groups->count);
	if (!has_fields(filters->groups))
		return NULL;
	if (!add_group(&out, filters, i) || out.failed)
		return NULL;
	return arena_strdup(arena, str_text(&out));
}
