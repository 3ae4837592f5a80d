/* Who may ask: host, site and token, and that the token is compared as it should be. */
#include "../test.h"

#include "http/guard.h"

static void assert_err(struct err *err, enum err_code code)
{
	assert_non_null(err);
	assert_int_equal(err_code_of(err), code);
	err_destroy(err);
}

static struct guard made(bool with_token)
{
	struct guard guard = { 0 };

	assert_null(guard_allow(&guard, "127.0.0.1", 8080));
	assert_null(guard_allow(&guard, "localhost", 8080));
	assert_null(guard_allow(&guard, "::1", 8080));
	assert_null(guard_allow(&guard, "Profiles.test:81", 8080));
	if (with_token)
		memcpy(guard.token.text, "0123456789abcdef0123456789abcdef", TOKEN_TEXT_BYTES);
	return guard;
}

static struct request request_to(const char *host)
{
	return (struct request) { .method = "GET", .target = "/", .host = { host, 1 } };
}

static void hosts_are_compared_whole(void **state)
{
	static const struct {
		const char *host;
		unsigned status;
	} rows[] = {
		{ "127.0.0.1:8080", 0 },
		{ "localhost:8080", 0 },
		{ "LocalHost:8080", 0 },
		{ "[::1]:8080", 0 },
		{ "profiles.test:81", 0 },
		{ "127.0.0.1", 403 },
		{ "127.0.0.1:808", 403 },
		{ "127.0.0.1:80800", 403 },
		{ "::1:8080", 403 },
		{ "127.0.0.1:8080 ", 403 },
		{ "profiles.test", 403 },
		{ "profiles.test:8080", 403 },
		{ "", 403 },
		{ "evil.test:8080", 403 },
		{ "[::1]", 403 },
		{ "localhost:8080.", 403 },
		{ "xlocalhost:8080", 403 },
	};
	const struct guard guard = made(false);

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		const struct request request = request_to(rows[i].host);

		assert_int_equal(guard_check(&guard, &request, false).status, rows[i].status);
		assert_int_equal(guard_check(&guard, &request, true).status, rows[i].status);
	}
}

static void exactly_one_host_is_wanted(void **state)
{
	const struct guard guard = made(false);
	struct request request = request_to("127.0.0.1:8080");

	(void)state;
	request.host.count = 2;
	assert_int_equal(guard_check(&guard, &request, false).status, 400);
	request.host = (struct header) { NULL, 0 };
	assert_int_equal(guard_check(&guard, &request, false).status, 400);
}

static void names_that_are_none_are_not_allowed(void **state)
{
	static const char *const names[] = { "a b", "a/b", "user@host", "a\n", "a\tb", "\x7f" };
	struct guard guard = { 0 };

	(void)state;
	for (size_t i = 0; i < array_size(names); i++)
		assert_err(guard_allow(&guard, names[i], 1), ERR_USAGE);
	for (size_t i = 0; i < GUARD_HOSTS_MAX; i++)
		assert_null(guard_allow(&guard, "host", 1));
	assert_err(guard_allow(&guard, "host", 1), ERR_USAGE);
}

static void a_host_without_a_port_has_none_where_there_is_none(void **state)
{
	struct guard guard = { 0 };
	struct request request = request_to("localhost");

	(void)state;
	assert_null(guard_allow(&guard, "localhost", 0));
	assert_int_equal(guard_check(&guard, &request, false).status, 0);
}

static void other_sites_are_refused(void **state)
{
	static const struct {
		const char *origin, *site;
		bool is_api;
		unsigned status;
	} rows[] = {
		{ NULL, NULL, true, 0 },
		{ "http://127.0.0.1:8080", NULL, true, 0 },
		{ "http://127.0.0.1:8080", "same-origin", true, 0 },
		{ NULL, "same-origin", true, 0 },
		{ NULL, "none", false, 0 },
		{ NULL, "none", true, 403 },
		{ NULL, "cross-site", false, 403 },
		{ NULL, "same-site", true, 403 },
		{ NULL, "", true, 403 },
		{ "null", NULL, true, 403 },
		{ "", NULL, true, 403 },
		{ "https://127.0.0.1:8080", NULL, true, 403 },
		{ "http://localhost:8080", NULL, true, 403 },
		{ "http://127.0.0.1:8080.evil.test", NULL, true, 403 },
		{ "http://127.0.0.1:8080", "cross-site", true, 403 },
	};
	const struct guard guard = made(false);

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		struct request request = request_to("127.0.0.1:8080");

		request.origin = (struct header) { rows[i].origin, rows[i].origin ? 1 : 0 };
		request.fetch_site = (struct header) { rows[i].site, rows[i].site ? 1 : 0 };
		assert_int_equal(guard_check(&guard, &request, rows[i].is_api).status,
				 rows[i].status);
	}
}

static void a_token_is_wanted_for_the_api_alone(void **state)
{
	static const struct {
		const char *method, *target, *authorization;
		unsigned status;
	} rows[] = {
		{ "GET", "/x", NULL, 401 },
		{ "GET", "/x", "Bearer 0123456789abcdef0123456789abcdef", 0 },
		{ "POST", "/x", "bearer 0123456789abcdef0123456789abcdef", 0 },
		{ "GET", "/x", "Basic 0123456789abcdef0123456789abcdef", 401 },
		{ "GET", "/x", "Bearer  0123456789abcdef0123456789abcdef", 401 },
		{ "GET", "/x", "Bearer 0123456789abcdef0123456789abcde", 401 },
		{ "GET", "/x", "Bearer 0123456789abcdef0123456789abcdeF", 401 },
		{ "GET", "/x", "Bearer ", 401 },
		{ "GET", "/x", "", 401 },
		{ "GET", "/x?token=0123456789abcdef0123456789abcdef", NULL, 0 },
		{ "HEAD", "/x?a=b&token=0123456789abcdef0123456789abcdef&c=d", NULL, 0 },
		{ "POST", "/x?token=0123456789abcdef0123456789abcdef", NULL, 401 },
		{ "GET", "/x?token=0123456789abcdef0123456789abcdef0", NULL, 401 },
		{ "GET", "/x?token=", NULL, 401 },
		{ "GET", "/x?xtoken=0123456789abcdef0123456789abcdef", NULL, 401 },
		{ "GET", "/x?token=0&token=0123456789abcdef0123456789abcdef", NULL, 401 },
		{ "GET", "/x/token=0123456789abcdef0123456789abcdef", NULL, 401 },
	};
	const struct guard guard = made(true);

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		struct request request = request_to("127.0.0.1:8080");

		request.method = rows[i].method;
		request.target = rows[i].target;
		request.authorization =
			(struct header) { rows[i].authorization, rows[i].authorization ? 1 : 0 };
		assert_int_equal(guard_check(&guard, &request, true).status, rows[i].status);
		assert_int_equal(guard_check(&guard, &request, false).status, 0);
	}
}

static void tokens_differ_and_have_128_bits(void **state)
{
	struct token one = { 0 }, two = { 0 };

	(void)state;
	assert_null(token_make(&one));
	assert_null(token_make(&two));
	assert_int_equal(strlen(one.text), 32);
	assert_int_equal(strspn(one.text, "0123456789abcdef"), 32);
	assert_string_not_equal(one.text, two.text);
}

static void a_token_equals_itself_alone(void **state)
{
	struct token token = { 0 };
	char other[TOKEN_TEXT_BYTES];

	(void)state;
	assert_null(token_make(&token));
	assert_true(token_equals(&token, token.text, 32));
	assert_false(token_equals(&token, token.text, 31));
	assert_false(token_equals(&token, "", 0));
	for (size_t i = 0; i < 32; i++) {
		memcpy(other, token.text, sizeof(other));
		other[i] ^= 1;
		assert_false(token_equals(&token, other, 32));
	}
	memset(&token, 0, sizeof(token)); /* none is wanted: then none fits */
	memset(other, 0, sizeof(other));
	assert_false(token_equals(&token, other, 32));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_are_compared_whole),
		cmocka_unit_test(exactly_one_host_is_wanted),
		cmocka_unit_test(names_that_are_none_are_not_allowed),
		cmocka_unit_test(a_host_without_a_port_has_none_where_there_is_none),
		cmocka_unit_test(other_sites_are_refused),
		cmocka_unit_test(a_token_is_wanted_for_the_api_alone),
		cmocka_unit_test(tokens_differ_and_have_128_bits),
		cmocka_unit_test(a_token_equals_itself_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
