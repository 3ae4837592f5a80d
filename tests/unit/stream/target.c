#include "../test.h"

#include "stream/stream.h"

static void addresses_are_what_they_say(void **state)
{
	static const struct {
		const char *text;
		uint16_t port;
		bool is_v6;
		uint8_t address[16];
	} rows[] = {
		{ "tcp://127.0.0.1:8747", 8747, false, { 127, 0, 0, 1 } },
		{ "tcp://255.254.3.0:65535", 65535, false, { 255, 254, 3, 0 } },
		{ "tcp://[::1]:1", 1, true, { [15] = 1 } },
		{ "tcp://[::]:1", 1, true, { 0 } },
		{ "tcp://[fe80::a:B]:1", 1, true, { 0xfe, 0x80, [13] = 10, [15] = 11 } },
		{ "tcp://[1::]:1", 1, true, { [1] = 1 } },
		{ "tcp://[1:2:3:4:5:6:7:8]:1",
		  1,
		  true,
		  { 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8 } },
		{ "tcp://[::ffff:192.0.2.1]:1",
		  1,
		  true,
		  { [10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 1 } },
	};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		struct stream_target target;

		assert_null(stream_target_parse(rows[i].text, &target));
		assert_int_equal(target.port, rows[i].port);
		assert_true(target.is_v6 == rows[i].is_v6);
		assert_memory_equal(target.address, rows[i].address, sizeof(target.address));
		assert_true(target.has_file && !target.drops && !target.no_token);
	}
}

static void what_is_no_address_is_refused(void **state)
{
	static const char *const rows[] = {
		"tcp://",
		"tcp://1.2.3.4",
		"tcp://1.2.3.4:",
		"tcp://1.2.3.4:0",
		"tcp://1.2.3.4:65536",
		"tcp://1.2.3.4:1x",
		"tcp://1.2.3.256:1",
		"tcp://1.2.3:1",
		"tcp://1.2.3.4.5:1",
		"tcp://[1.2.3.4]:1",
		"tcp://::1:1",
		"tcp://[:1]:1",
		"tcp://[1:]:1",
		"tcp://[1::2::3]:1",
		"tcp://[1:2:3:4:5:6:7]:1",
		"tcp://[12345::]:1",
		"tcp://[1:2:3:4:5:6:7:8:9]:1",
		"tcp://[1:2:3:4:5:6:7::8:9]:1",
		"tcp://[g::]:1",
		"tcp://:1",
		"tcp://[]:1",
		"tcp://[::1:1",
		"tcp://no.such.name.example:1",
	};

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		struct stream_target target;

		assert_non_null(stream_target_parse(rows[i], &target));
	}
}

static void words_say_what_else_is_wanted(void **state)
{
	struct stream_target target;

	(void)state;
	assert_null(stream_target_parse("tcp://1.2.3.4:1,none,drop,no-token", &target));
	assert_true(!target.has_file && target.drops && target.no_token);
	assert_null(stream_target_parse("tcp://1.2.3.4:1,/a/%e.%p:x", &target));
	assert_true(target.has_file);
	assert_string_equal(target.pattern, "/a/%e.%p:x");
	assert_non_null(stream_target_parse("tcp://1.2.3.4:1,a,b", &target));
	assert_non_null(stream_target_parse("tcp://1.2.3.4:1,none,b", &target));
	assert_non_null(stream_target_parse("tcp://1.2.3.4:1,,", &target));
	assert_non_null(stream_target_parse("tcp://1.2.3.4:1,drop", &target));
}

static void only_this_machine_is_loopback(void **state)
{
	struct stream_target target;

	(void)state;
	assert_null(stream_target_parse("tcp://127.255.0.9:1", &target));
	assert_true(stream_target_is_loopback(&target));
	assert_null(stream_target_parse("tcp://128.0.0.1:1", &target));
	assert_false(stream_target_is_loopback(&target));
	assert_null(stream_target_parse("tcp://[::1]:1", &target));
	assert_true(stream_target_is_loopback(&target));
	assert_null(stream_target_parse("tcp://[::2]:1", &target));
	assert_false(stream_target_is_loopback(&target));
}

static void announcements_go_where_they_are_told(void **state)
{
	static const uint8_t v6[16] = { [15] = 1 };
	struct stream_target target;

	(void)state;
	assert_null(stream_announced_parse("1", NULL, &target));
	assert_true(target.is_announced && target.is_everywhere && target.has_file);
	assert_int_equal(target.port, WIRE_ANNOUNCE_PORT);
	assert_false(target.no_token || stream_target_is_loopback(&target));
	assert_null(stream_announced_parse("192.168.1.255:9,no-token", "8100", &target));
	assert_true(target.no_token && !target.is_everywhere && target.address[3] == 255);
	assert_true(target.port == 9 && target.listen_port == 8100);
	assert_null(stream_announced_parse("[::1]", "", &target));
	assert_true(target.is_v6 && target.port == WIRE_ANNOUNCE_PORT && target.listen_port == 0);
	assert_memory_equal(target.address, v6, sizeof(v6));
	assert_null(stream_announced_parse("[::1]:65535", NULL, &target));
	assert_true(target.is_v6 && target.port == 65535);
}

static void what_is_no_announcement_is_refused(void **state)
{
	static const char *const rows[] = { "2",    "::1",   "1:1",	     "127.0.0.1:",
					    "[::1", ":1",    "127.0.0.1:x",  "127.0.0.1:65536",
					    "1,",   "1,yes", "1,no-token,x", ",no-token" };
	struct stream_target target;

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++)
		assert_non_null(stream_announced_parse(rows[i], NULL, &target));
	assert_non_null(stream_announced_parse("1", "x", &target));
	assert_non_null(stream_announced_parse("1", "65536", &target));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_what_they_say),
		cmocka_unit_test(what_is_no_address_is_refused),
		cmocka_unit_test(words_say_what_else_is_wanted),
		cmocka_unit_test(only_this_machine_is_loopback),
		cmocka_unit_test(announcements_go_where_they_are_told),
		cmocka_unit_test(what_is_no_announcement_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
