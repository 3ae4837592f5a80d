/* The table of routes is complete, and paths find their rows. */
#include "../test.h"

#include "http/assets.h"
#include "http/problem.h"
#include "http/route.h"

static void every_row_says_what_it_is(void **state)
{
	size_t count = 0;

	(void)state;
	for (const struct route *const *at = route_table; *at; at++, count++) {
		const struct param *params[PARAMS_MAX];
		const size_t param_count = route_params(*at, params);

		assert_int_equal((*at)->path[0], '/');
		assert_true(strlen(route_summary(*at)) > 5);
		assert_true(route_summary(*at)[strlen(route_summary(*at)) - 1] != '.' ||
			    strstr(route_summary(*at), " ..."));
		/* An answer is a value, or a file. */
		assert_int_equal((*at)->shape != NULL, (*at)->find != NULL);
		assert_int_equal(1, ((*at)->question != NULL) + ((*at)->find != NULL) +
					    ((*at)->run != NULL));
		assert_int_equal((*at)->run != NULL,
				 ((*at)->flags & (ROUTE_RAW | ROUTE_FILE | ROUTE_STREAM)) != 0);
		for (size_t i = 0; i < param_count; i++) {
			assert_true(strlen(params[i]->doc) > 4);
			assert_string_not_equal(params[i]->name, "token");
			assert_int_equal(params[i]->kind == PARAM_CHOICE, params[i]->words != NULL);
			assert_true(params[i]->max == 0 || params[i]->min <= params[i]->max);
			for (size_t k = 0; k < i; k++)
				assert_string_not_equal(params[i]->name, params[k]->name);
		}
	}
	assert_true(count > 10);
}

static const struct route *find(const char *path, const char *id)
{
	const char *found = NULL;
	size_t len = 0;
	const struct route *route = route_find(path, strlen(path), &found, &len);

	if (route && id) {
		assert_non_null(found);
		assert_int_equal(len, strlen(id));
		assert_memory_equal(found, id, len);
	} else if (route) {
		assert_null(found);
	}
	return route;
}

static void paths_find_their_rows(void **state)
{
	(void)state;
	for (const struct route *const *at = route_table; *at; at++) {
		if (!strstr((*at)->path, "{c}"))
			assert_ptr_equal(find((*at)->path, NULL), *at);
	}
	assert_non_null(find("/data/last/mmaps", "last"));
	assert_non_null(find("/data/0123/export/flamegraph", "0123"));
	assert_null(find("/data//mmaps", NULL));
	assert_null(find("/data/a/b/mmaps", NULL));
	assert_null(find("/data/last/mmaps/", NULL));
	assert_null(find("/api/v1/inf", NULL));
	assert_null(find("/api/v1/info/", NULL));
	assert_null(find("/api/v1//info", NULL));
	assert_null(find("api/v1/info", NULL));
	assert_null(find("/API/v1/info", NULL));
	assert_null(find("", NULL));
	assert_null(find("/", NULL));
}

static void assets_are_sorted_and_lie_within_their_bytes(void **state)
{
	(void)state;
	for (const struct asset *at = asset_table; at->path; at++) {
		/* The one-file report's page is for the program itself: no path of a URL is it. */
		if (strcmp(at->path, "report.html") != 0)
			assert_int_equal(at->path[0], '/');
		assert_int_equal(at->etag[0], '"');
		assert_true(!at[1].path || strcmp(at->path, at[1].path) < 0);
		if (at->packed_bytes) {
			assert_int_equal(asset_bytes[at->packed_begin], 0x1f);
			assert_int_equal(asset_bytes[at->packed_begin + 1], 0x8b);
		}
	}
}

static void gzip_is_sent_to_those_who_take_it(void **state)
{
	static const struct {
		const char *text;
		bool takes;
	} rows[] = {
		{ "gzip", true },	  { "gzip, deflate, br", true },
		{ "br,gzip", true },	  { "GZIP", true },
		{ "gzip;q=1.0", true },	  { "gzip ; q=0.5", true },
		{ "gzip;q=0", false },	  { "gzip;q=0.000", false },
		{ "deflate", false },	  { "x-gzip", false },
		{ "gzipped", false },	  { "", false },
		{ "identity, *", false }, { ",,gzip", true },
	};

	(void)state;
	assert_false(assets_takes_gzip(NULL));
	for (size_t i = 0; i < array_size(rows); i++)
		assert_int_equal(assets_takes_gzip(rows[i].text), rows[i].takes);
}

static void problems_are_json_with_their_place(void **state)
{
	static const struct {
		const char *value;
		size_t at;
		const char *place;
	} rows[] = {
		{ "siz > 1", 0, "\"pos\":0,\"len\":3" },
		{ "a \"b c\" d", 2, "\"pos\":2,\"len\":5" },
		{ "a \"b", 2, "\"pos\":2,\"len\":2" },
		{ "a >", 3, "\"pos\":3,\"len\":0" },
		{ "a \xc3\xa4", 2, "\"pos\":2,\"len\":2" },
		{ "short", 99, "\"pos\":null,\"len\":null" },
	};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		const struct problem problem = {
			.message = "filter: <wrong> \"here\"\n  text\n  ^",
			.parameter = "q",
			.value = rows[i].value,
			.has_place = true,
			.at = rows[i].at,
			.suggest = "size",
		};
		CLEAN(str_deinit) struct str out = { 0 };

		problem_write(&problem, &out);
		assert_non_null(strstr(out.ptr, rows[i].place));
		assert_non_null(
			strstr(out.ptr, "\"message\":\"<wrong> \\\"here\\\"\",\"hint\":null"));
		assert_non_null(strstr(out.ptr, "\"suggest\":\"size\""));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_says_what_it_is),
		cmocka_unit_test(paths_find_their_rows),
		cmocka_unit_test(assets_are_sorted_and_lie_within_their_bytes),
		cmocka_unit_test(gzip_is_sent_to_those_who_take_it),
		cmocka_unit_test(problems_are_json_with_their_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
