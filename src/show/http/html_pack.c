#include "http/html_pack.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "base/vec.h"
#include "groups/groups.h"

enum { HASH_DIGITS = 16, SHARE_MIN = 200 /* smaller branches than 1 / SHARE_MIN are not opened */ };

struct detail {
	unsigned columns;  /* of the timeline */
	unsigned px;	   /* of flame graphs */
	unsigned sites;	   /* per order */
	unsigned branches; /* per tree */
	unsigned frames;   /* functions with full details */
	unsigned sources;
};

static const struct detail details[HTML_DETAILS] = {
	{ 1200, 2000, 200, 24, 60, 40 },
	{ 800, 1000, 100, 12, 30, 20 },
	{ 400, 500, 50, 8, 10, 8 },
	{ 200, 200, 20, 2, 0, 3 },
};

static const char *const directions[] = { "down", "up" };

/* --- requests ------------------------------------------------------------------------------ */

static struct err *refusal_of(const char *target, const struct answer *answer)
{
	const char *text = answer->blob ? answer->blob->bytes : answer->bytes;
	const size_t size = answer->blob ? answer->blob->size : answer->size;

	return err_new(ERR_STATE, "%s: %.*s", target, (int)u64_min(size, 400), text ? text : "");
}

/*
 * Answers that the tape does not support (404, 501) are not in the report. body_ret, if not NULL,
 * is set to the answer's offset in pack->json, SIZE_MAX: none.
 */
static struct err *ask(struct html_pack *pack, const char *target, size_t *body_ret)
{
	const struct request request = { .method = "GET",
					 .target = target,
					 .host = { HTML_HOST, 1 } };
	CLEAN(answer_deinit) struct answer answer;
	struct err *err = NULL;

	answer_init(&answer);
	server_answer(pack->server, &request, &answer);
	if (body_ret)
		*body_ret = SIZE_MAX;
	if (answer.status == 200 && answer.blob) {
		str_add(&pack->json, pack->answer_count++ ? ",\n" : "{");
		str_add_json(&pack->json, target);
		str_add_char(&pack->json, ':');
		if (body_ret)
			*body_ret = pack->json.len;
		html_redact(&pack->redaction, answer.blob->bytes, answer.blob->size, &pack->json);
	} else if (answer.status != 404 && answer.status != 501) {
		err = refusal_of(target, &answer);
	}
	if (pack->progress)
		pack->progress(pack->context, pack->answer_count);
	if (!err && pack->json.failed)
		err = err_nomem();
	return err;
}

static struct err *asked(struct html_pack *pack, size_t *body_ret, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

static struct err *asked(struct html_pack *pack, size_t *body_ret, const char *fmt, ...)
{
	CLEAN(free) char *target = NULL;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vasprintf(&target, fmt, args);
	va_end(args);
	if (len < 0) {
		target = NULL;
		return err_nomem();
	}
	return ask(pack, target, body_ret);
}

/* --- fixed requests ------------------------------------------------------------------------ */

static struct err *fixed_ask(struct html_pack *pack)
{
	static const char *const targets[] = {
		"info",
		"tape",
		"fields",
		"summary",
		"overview",
		"findings",
		"grid?nx=24&ny=15&x=size&y=lifetime",
		"grid?nx=10&ny=24&x=time&y=lifetime",
		"grid?nx=60&ny=22&x=time&y=lifetime",
		"grid?nx=40&ny=22&x=size&y=lifetime",
		"grid?nx=60&ny=22&x=time&y=latency",
		"threads?top=1000",
		"lifetimes",
		"rss",
		"usage?points=400",
		"mallopts",
		"mappings?top=1000",
	};
	struct err *err = NULL;

	for (size_t i = 0; !err && i < array_size(targets); i++)
		err = asked(pack, NULL, "/api/v1/%s", targets[i]);
	return err;
}

static struct err *timelines_ask(struct html_pack *pack, const struct detail *detail)
{
	static const char *const bys[] = { "",
					   "&bands=module",
					   "&bands=lifetime",
					   "&bands=thread",
					   "&bands=size",
					   "&bands=auto",
					   "&bands=function",
					   "&bands=function&frames=exact" };
	struct err *err = NULL;

	for (size_t i = 0; !err && i < array_size(bys); i++)
		err = asked(pack, NULL, "/api/v1/curves?points=%u&top=5%s", detail->columns,
			    bys[i]);
	return err;
}

static struct err *flames_ask(struct html_pack *pack, const struct detail *detail)
{
	struct err *err = NULL;

	for (size_t i = 0; metric_words_stacks[i]; i++) {
		for (size_t d = 0; !err && d < array_size(directions); d++)
			err = asked(pack, NULL, "/api/v1/flame?dir=%s&m=%s&px=%u", directions[d],
				    metric_words_stacks[i], detail->px);
	}
	return err;
}

/* --- requests derived from answers --------------------------------------------------------- */

/* The value of the next member `key` from *at on, which moves past it; NULL: no more. */
static const char *value_next(const char **at, const char *key)
{
	const char *found = *at ? strstr(*at, key) : NULL;

	*at = found ? found + strlen(key) : NULL;
	return *at;
}

static uint64_t number_at(const char *text)
{
	return text ? strtoull(text, NULL, 10) : 0;
}

enum { PATH_BYTES = 64 * (HASH_DIGITS + 1) };

struct branch {
	char path[PATH_BYTES]; /* hashes separated by dots */
};

VEC_DEFINE(branch_vec, struct branch);

/* Adds children of the answer at `body` that are worth opening. */
static struct err *branches_add(const char *body, const char *path, uint64_t *total,
				struct branch_vec *branches)
{
	struct branch next;

	if (!*total) {
		const char *at = body;

		*total = number_at(value_next(&at, "\"total\":"));
	}
	for (const char *at = body, *hash; (hash = value_next(&at, "\"hash\":\"")) != NULL;) {
		const uint64_t value = number_at(value_next(&at, "\"total\":"));
		const uint64_t children = number_at(value_next(&at, "\"children\":"));

		if (!children || value < *total / SHARE_MIN ||
		    strlen(path) + HASH_DIGITS + 2 > sizeof(next.path))
			continue;
		str_format(next.path, sizeof(next.path), "%s%s%.16s", path, *path ? "." : "", hash);
		if (!branch_vec_push(branches, next))
			return err_nomem();
	}
	return NULL;
}

static struct err *tree_ask(struct html_pack *pack, const char *measure, const char *direction,
			    unsigned branch_max)
{
	CLEAN(branch_vec_deinit) struct branch_vec branches = { 0 };
	uint64_t total = 0;
	struct err *err = NULL;

	for (size_t i = 0; !err && i <= branches.count && i <= branch_max; i++) {
		struct branch now = { "" };
		size_t body;

		if (i > 0)
			now = branches.items[i - 1];
		err = asked(pack, &body, "/api/v1/children?dir=%s&m=%s&n=200%s%s", direction,
			    measure, now.path[0] ? "&path=" : "", now.path);
		if (!err && body != SIZE_MAX)
			err = branches_add(pack->json.ptr + body, now.path, &total, &branches);
	}
	return err;
}

static struct err *trees_ask(struct html_pack *pack, const struct detail *detail)
{
	struct err *err = NULL;

	for (size_t i = 0; metric_words_stacks[i]; i++) {
		for (size_t d = 0; !err && d < array_size(directions); d++)
			err = tree_ask(pack, metric_words_stacks[i], directions[d],
				       detail->branches);
	}
	return err;
}

/* Requests the details of functions in the flame graph. */
static struct err *frames_ask(struct html_pack *pack, size_t sites, unsigned frame_max)
{
	/* Rows also have the hashes of their stacks: the callers. */
	CLEAN(str_deinit) struct str asked_for = { 0 };
	const size_t end = pack->json.len;
	struct err *err = NULL;
	unsigned count = 0;

	for (size_t at = sites; !err && count < frame_max && at < end;) {
		const char *text = pack->json.ptr + at;
		const char *hash = value_next(&text, "\"hash\":\"");
		char digits[HASH_DIGITS + 1];

		if (!hash || (size_t)(hash - pack->json.ptr) >= end)
			break;
		at = (size_t)(hash - pack->json.ptr);
		str_format(digits, sizeof(digits), "%.16s", hash);
		if (strstr(str_text(&asked_for), digits))
			continue;
		str_add(&asked_for, digits);
		str_add_char(&asked_for, ' ');
		count++;
		err = asked(pack, NULL, "/api/v1/frame?h=%s", digits);
	}
	return !err && asked_for.failed ? err_nomem() : err;
}

/* The Leaks page. */
static struct err *leaks_ask(struct html_pack *pack, const struct detail *detail)
{
	static const char *const questions[] = { "growth", "leak-classes", "holders", "retained",
						 "stale" };
	struct err *err = NULL;

	for (size_t i = 0; !err && i < array_size(questions); i++)
		err = asked(pack, NULL, "/api/v1/%s?top=%u", questions[i], detail->sites);
	return err;
}

static struct err *sites_ask(struct html_pack *pack, const struct detail *detail)
{
	static const char *const sorts[] = { "size", "leaked_size", "allocated_count",
					     "temporary_count", "saves" };
	size_t body;
	struct err *err =
		asked(pack, &body, "/api/v1/sites?by=function&n=%u&sort=peak_size&spark=24&saves=1",
		      detail->sites);

	if (!err && body != SIZE_MAX)
		err = frames_ask(pack, body, detail->frames);
	for (size_t i = 0; !err && i < array_size(sorts); i++)
		err = asked(pack, NULL, "/api/v1/sites?by=function&n=%u&sort=%s&spark=24&saves=1",
			    detail->sites, sorts[i]);
	for (unsigned by = 0; !err && by < GROUP_BYS; by++) {
		if (by != GROUP_BY_FUNCTION)
			err = asked(pack, NULL,
				    "/api/v1/sites?by=%s&n=%u&sort=peak_size&spark=24&saves=1",
				    group_by_words[by], detail->sites / 2);
	}
	return err;
}

/* Requests the list of files, and optionally their text with values of the first measure. */
static struct err *sources_ask(struct html_pack *pack, const struct detail *detail)
{
	const unsigned source_max = pack->with_source ? detail->sources : 0;
	size_t body;
	struct err *err = asked(pack, &body, "/api/v1/files?sort=%s", metric_words[0]);
	size_t at = body;

	for (unsigned i = 0; !err && body != SIZE_MAX && i < source_max; i++) {
		const char *text = pack->json.ptr + at;
		const char *id = value_next(&text, "\"id\":\"");

		if (!id)
			break;
		at = (size_t)(id - pack->json.ptr);
		err = asked(pack, NULL, "/api/v1/source?file=%.16s&l0=1", id);
	}
	for (size_t i = 1; !err && metric_words_stacks[i]; i++)
		err = asked(pack, NULL, "/api/v1/files?sort=%s", metric_words_stacks[i]);
	return err;
}

struct err *html_pack_fill(struct html_pack *pack, unsigned detail_index)
{
	const struct detail *detail = &details[detail_index];
	struct err *err;

	assert(detail_index < array_size(details));
	str_clear(&pack->json);
	pack->answer_count = 0;
	err = fixed_ask(pack);
	if (!err)
		err = timelines_ask(pack, detail);
	if (!err)
		err = flames_ask(pack, detail);
	if (!err)
		err = trees_ask(pack, detail);
	if (!err)
		err = sites_ask(pack, detail);
	if (!err)
		err = leaks_ask(pack, detail);
	if (!err)
		err = sources_ask(pack, detail);
	str_add(&pack->json, "}\n");
	return !err && pack->json.failed ? err_nomem() : err;
}
