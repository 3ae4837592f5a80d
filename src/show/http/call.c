#include "http/call.h"

#include <assert.h>
#include <time.h>

#include "base/monotonic.h"
#include "http/memo.h"
#include "http/tapes.h"
#include "http/text_counts.h"
#include "report/report.h"
#include "select/moment.h"

static const struct param *param_of(const struct call *call, const char *name)
{
	const struct param *known[PARAMS_MAX];
	const size_t count = route_params(call->route, known);

	for (size_t i = 0; i < count; i++) {
		if (strcmp(known[i]->name, name) == 0)
			return known[i];
	}
	assert(!"a parameter that is in the route's table");
	return NULL;
}

bool call_has(const struct call *call, const char *name)
{
	assert(param_of(call, name));
	return params_find(call->params, name) != NULL;
}

const char *call_text(const struct call *call, const char *name)
{
	const struct param_value *value = params_find(call->params, name);

	assert(param_of(call, name));
	return value ? value->text : NULL;
}

uint64_t call_number(const struct call *call, const char *name)
{
	const struct param_value *value = params_find(call->params, name);

	return value ? value->number : param_of(call, name)->fallback;
}

unsigned call_choice(const struct call *call, const char *name)
{
	assert(param_of(call, name)->kind == PARAM_CHOICE);
	return (unsigned)call_number(call, name);
}

bool call_flag(const struct call *call, const char *name)
{
	assert(param_of(call, name)->kind == PARAM_FLAG);
	return call_number(call, name) != 0;
}

static void value_place(const struct param_value *value, void *target)
{
	switch (value->param->kind) {
	case PARAM_TEXT:
	case PARAM_FILTER:
	case PARAM_MOMENT:
		*(const char **)target = value->text;
		return;
	case PARAM_NUMBER:
		*(uint64_t *)target = value->number;
		return;
	case PARAM_CHOICE:
		*(int *)target = (int)value->number;
		return;
	case PARAM_FLAG:
		*(bool *)target = value->number != 0;
		return;
	case PARAM_TEXTS:
	case PARAM_HASH:
	case PARAM_PATH:
		break;
	}
	assert(!"a kind that has a place");
}

void call_fill(const struct call *call, void *settings)
{
	for (size_t i = 0; i < call->params->count; i++) {
		const struct param_value *value = &call->params->values[i];

		if (value->param->has_place)
			value_place(value, (char *)settings + value->param->place);
	}
}

const char *const *call_texts(const struct call *call, const char *name, size_t *count_ret)
{
	const struct params *params = call->params;
	const char **texts = arena_array(call->arena, params->count + 1, sizeof(*texts));
	size_t count = 0;

	assert(param_of(call, name)->kind == PARAM_TEXTS);
	for (size_t i = 0; texts && i < params->count; i++) {
		if (strcmp(params->values[i].param->name, name) == 0)
			texts[count++] = params->values[i].text;
	}
	*count_ret = count;
	return texts;
}

/* "until", "a_until". */
static bool is_until(const char *name)
{
	const size_t len = strlen(name), end = strlen("until");

	return len >= end && strcmp(name + len - end, "until") == 0;
}

struct err *call_moment(struct call *call, const char *name, uint64_t fallback_ns, uint64_t *ns_ret)
{
	const char *text = call_text(call, name);
	struct moment moment;
	struct err *err;

	assert(param_of(call, name)->kind == PARAM_MOMENT);
	if (!text || !*text) {
		*ns_ret = fallback_ns;
		return NULL;
	}
	err = moment_parse(text, &moment);
	if (!err && is_until(name))
		err = moment_until_ns(&moment, call->model, ns_ret);
	else if (!err)
		err = moment_ns(&moment, call->model, ns_ret);
	return call_blame(call, name, err);
}

bool call_hash(const struct call *call, const char *name, uint64_t *hash_ret)
{
	const struct param_value *value = params_find(call->params, name);

	assert(param_of(call, name)->kind == PARAM_HASH);
	assert(param_of(call, name));
	if (value)
		*hash_ret = value->number;
	return value != NULL;
}

struct err *call_path(struct call *call, const char *name, const uint64_t **hashes_ret,
		      size_t *count_ret)
{
	const char *text = call_text(call, name);
	uint64_t *hashes =
		arena_array(call->arena, text ? strlen(text) / 2 + 1 : 1, sizeof(*hashes));
	size_t count = 0;

	assert(param_of(call, name)->kind == PARAM_PATH);
	if (!hashes)
		return err_nomem();
	for (const char *at = text; at && *at;) {
		char *end;

		hashes[count++] = strtoull(at, &end, 16);
		at = *end ? end + 1 : end;
	}
	*hashes_ret = hashes;
	*count_ret = count;
	return NULL;
}

uint64_t call_time_left_ns(const struct call *call)
{
	const uint64_t now = monotonic_ns();

	if (call->limits.deadline_ns == 0)
		return 0;
	return call->limits.deadline_ns > now ? call->limits.deadline_ns - now : 1;
}

struct err *call_keep(struct call *call, const char *key,
		      struct err *(*make)(struct call *call, void *context, struct arena *arena,
					  const void **value_ret),
		      void *context, const void **value_ret)
{
	struct memo *memo = call->loaded ? call->loaded->memo : NULL;
	struct memo_item *item;
	const void *value = NULL;
	bool is_new;
	struct err *err;

	assert(key && *key);
	assert(call->held_count <= CALL_HELD_MAX);
	if (!memo)
		return make(call, context, call->arena, value_ret);
	assert(call->held_count < CALL_HELD_MAX);
	err = memo_hold(memo, key, &call->limits, &item, &is_new);
	if (err)
		return err;
	call->held[call->held_count++] = item;
	if (is_new) {
		item->arena.budget = call->arena->budget;
		err = make(call, context, &item->arena, &value);
		arena_release_budget(&item->arena); /* it is shared with other calls */
		memo_done(memo, item, err ? NULL : value);
	}
	if (!err)
		*value_ret = item->value;
	return err;
}

void call_at_end(struct call *call, void (*end)(void *ends), void *ends)
{
	assert(end);
	assert(!call->end);
	call->end = end;
	call->ends = ends;
}

void call_release(struct call *call)
{
	assert(call->held_count <= CALL_HELD_MAX);
	if (call->end)
		call->end(call->ends);
	call->end = NULL;
	for (size_t i = 0; i < call->held_count; i++)
		memo_release(call->loaded->memo, call->held[i]);
	call->held_count = 0;
}

static struct err *selection_make_kept(struct call *call, void *context, struct arena *arena,
				       const void **value_ret)
{
	const struct selection *selection;
	struct err *err = selection_make(call->model, tapes_names_unready(call->loaded), context,
					 arena, &selection);

	if (!err)
		*value_ret = selection;
	return err;
}

/* struct facts is per thread, and limits are per call. */
static struct err *selection_borrow(struct call *call, const struct selection *kept,
				    const struct selection **selection_ret)
{
	struct selection *own = arena_new(call->arena, struct selection);
	struct facts *facts = arena_new(call->arena, struct facts);
	struct err *err;

	if (!own || !facts)
		return err_nomem();
	err = facts_init(facts, call->model, kept->names, call->arena);
	if (err)
		return err;
	facts->from_ns = kept->from_ns;
	facts->until_ns = kept->until_ns;
	facts->suppressor = kept->facts->suppressor;
	*own = *kept;
	own->facts = facts;
	own->limits = call->limits;
	*selection_ret = own;
	return NULL;
}

/* The key of a part of the tape among kept values. */
static void part_key(struct str *key, const char *filter, const char *from, const char *until)
{
	const char *const texts[] = { filter, from, until };

	str_add(key, "part");
	for (size_t i = 0; i < array_size(texts); i++)
		str_printf(key, " %zu:%s", texts[i] ? strlen(texts[i]) : 0,
			   texts[i] ? texts[i] : "");
}

void call_part_key(const struct call *call, struct str *key)
{
	part_key(key, call_text(call, "q"), call_text(call, "from"), call_text(call, "until"));
}

struct err *call_select_part(struct call *call, const char *filter, const char *from,
			     const char *until, enum call_leaks leaks,
			     const struct selection **selection_ret)
{
	struct selection_settings settings = {
		.filter = filter,
		.from = from,
		.until = until,
		.ignores_leaks = leaks != CALL_LEAKS,
		.time_limit_ns = call_time_left_ns(call),
		.thread_count = call->limits.thread_count,
		.cancel = call->limits.cancel,
	};
	struct names *names = call->loaded ? tapes_names_unready(call->loaded) : NULL;
	CLEAN(str_deinit) struct str key = { 0 };
	const void *kept;
	struct err *err = NULL;

	assert(call->model && call->arena);
	if (filter && *filter)
		err = call_names(call, &names);
	if (err)
		return err;
	if (leaks != CALL_UNSUPPRESSED && call->loaded && tapes_have_names(call->loaded))
		settings.suppressor = &call->loaded->suppressor;
	part_key(&key, filter, from, until);
	str_printf(&key, " %d", settings.suppressor ? (int)leaks : CALL_UNSUPPRESSED);
	if (!call->loaded || !selection_needs_rows(&settings) || key.failed)
		return selection_make(call->model, names, &settings, call->arena, selection_ret);
	err = call_keep(call, str_text(&key), selection_make_kept, &settings, &kept);
	return err ? err : selection_borrow(call, kept, selection_ret);
}

struct err *call_select_with(struct call *call, enum call_leaks leaks,
			     const struct selection **selection_ret)
{
	const char *filter = call_text(call, "q");
	struct err *err = call_select_part(call, filter, call_text(call, "from"),
					   call_text(call, "until"), leaks, selection_ret);

	assert(leaks <= CALL_UNSUPPRESSED);
	return call_blame_filter(call, filter, err);
}

struct err *call_blame_filter(struct call *call, const char *filter, struct err *err)
{
	if (err && err_code_of(err) == ERR_USAGE && filter && *filter)
		return call_blame(call, "q", err);
	return err;
}

struct err *call_select(struct call *call, const struct selection **selection_ret)
{
	return call_select_with(call, CALL_LEAKS, selection_ret);
}

struct err *call_names(struct call *call, struct names **names_ret)
{
	struct err *err = tapes_wait_names(call->loaded, &call->limits);

	assert(call->loaded);
	if (!err)
		*names_ret = tapes_names_unready(call->loaded);
	return err;
}

struct err *call_names_view(struct call *call, struct names **names_ret)
{
	struct names *names = NULL;
	struct err *err = call_names(call, &names);

	if (err)
		return err;
	*names_ret = names_view(names);
	return *names_ret ? NULL : err_nomem();
}

struct err *call_text_counts(struct call *call, const struct field *field,
			     const struct text_counts **counts_ret)
{
	CLEAN(text_counts_destroy) struct text_counts *made = NULL;
	struct text_counts *there = NULL;
	struct text_counts **kept = &call->loaded->text_counts[field - field_table];
	struct names *names = NULL;
	struct err *err = call_names(call, &names);

	assert(field >= field_table && (size_t)(field - field_table) < field_count);
	*counts_ret = __atomic_load_n(kept, __ATOMIC_ACQUIRE);
	if (err || *counts_ret)
		return err;
	err = text_counts_create(field, call->model, names, &call->limits, &made);
	if (err)
		return err;
	/* Two threads may have found the same; the first one stays. */
	if (__atomic_compare_exchange_n(kept, &there, made, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		there = steal(made);
	*counts_ret = there;
	return NULL;
}

/* NULL: the route is no question's, and no report is named. */
static const struct question *question_of(const struct call *call)
{
	const struct param_value *name = params_find(call->params, "name");
	const struct report *report = name ? report_find(name->text) : NULL;

	return report ? report->question : call->route->question;
}

static enum model_subject subject_of(const struct call *call)
{
	const struct question *question = question_of(call);
	const struct param_value *by = params_find(call->params, "by");
	const struct param_value *q = params_find(call->params, "q");
	const struct param_value *filter = q ? q : params_find(call->params, "filter");

	if (params_find(call->params, "pools"))
		return call_flag(call, "pools") ? MODEL_OF_POOLS : MODEL_OF_HEAP;
	if (by && strcmp(by->text, group_by_words[GROUP_BY_POOL]) == 0)
		return MODEL_OF_POOLS;
	if (filter)
		return selection_subject(filter->text);
	return question ? question->subject : MODEL_OF_HEAP;
}

struct err *call_choose_subject(struct call *call)
{
	struct loaded *pools = NULL;
	struct err *err;

	assert(call->loaded);
	if (subject_of(call) == MODEL_OF_HEAP)
		return NULL;
	err = tapes_acquire_pools(call->tape, call->loaded, &pools);
	if (err)
		return err;
	tapes_release(call->loaded);
	call->loaded = pools;
	call->model = pools->model;
	return NULL;
}

struct err *call_check(const struct call *call)
{
	return sweep_check(&call->limits);
}

struct err *call_blame(struct call *call, const char *name, struct err *err)
{
	assert(param_of(call, name));
	if (err)
		call->params->wrong = name;
	return err;
}
