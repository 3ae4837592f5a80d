/* Who is too slow is shut out, who is gone is known, and there are only so many. */
#include "../test.h"

#include <sys/socket.h>

#include "http/connections.h"

enum { MAX = 3 };

struct pair {
	struct connection *connection;
	int server, client;
};

static struct pair connect_one(struct connections *connections, unsigned seconds)
{
	struct pair pair = { 0 };
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	pair.server = fds[0];
	pair.client = fds[1];
	connections_expect(connections);
	pair.connection = connections_begin(connections, fds[0], seconds);
	assert_non_null(pair.connection);
	return pair;
}

static void end(struct connections *connections, struct pair *pair)
{
	connections_end(connections, pair->connection);
	close(pair->server);
	if (pair->client >= 0)
		close(pair->client);
}

static bool is_shut(const struct pair *pair)
{
	char c;

	return recv(pair->client, &c, 1, MSG_DONTWAIT) == 0;
}

static void only_so_many_may_come(void **state)
{
	struct connections connections;
	struct pair pairs[MAX];
	bool are_any;

	(void)state;
	connections_init(&connections, MAX);
	assert_int_equal(connections_watch(&connections, &are_any), MAX);
	assert_false(are_any);
	for (unsigned i = 0; i < MAX; i++) {
		pairs[i] = connect_one(&connections, 100);
		assert_int_equal(connections_watch(&connections, &are_any), MAX - 1 - i);
		assert_true(are_any);
	}
	end(&connections, &pairs[1]);
	assert_int_equal(connections_watch(&connections, &are_any), 1);
	connections_expect(&connections); /* on its way: it counts */
	assert_int_equal(connections_watch(&connections, &are_any), 0);
	end(&connections, &pairs[0]);
	end(&connections, &pairs[2]);
	connections_deinit(&connections);
}

static void the_slow_are_shut_out(void **state)
{
	struct connections connections;
	struct pair slow, quick;
	bool are_any;

	(void)state;
	connections_init(&connections, MAX);
	slow = connect_one(&connections, 0);
	quick = connect_one(&connections, 100);
	usleep(1000);
	connections_watch(&connections, &are_any);
	assert_true(is_shut(&slow));
	assert_false(is_shut(&quick));
	connections_enter(&connections, quick.connection, CONNECTION_SENDING, 0);
	connections_watch(&connections, &are_any);
	assert_false(is_shut(&quick));
	end(&connections, &slow);
	end(&connections, &quick);
	connections_deinit(&connections);
}

static void who_is_gone_is_known_while_an_answer_is_found(void **state)
{
	struct connections connections;
	struct pair pair;
	bool are_any;

	(void)state;
	connections_init(&connections, MAX);
	pair = connect_one(&connections, 100);
	connections_enter(&connections, pair.connection, CONNECTION_RUNNING, 0);
	connections_watch(&connections, &are_any);
	assert_false(pair.connection->cancel);
	assert_int_equal(send(pair.client, "next", 4, 0), 4); /* another request is no end */
	connections_watch(&connections, &are_any);
	assert_false(pair.connection->cancel);
	close(pair.client);
	pair.client = -1;
	connections_watch(&connections, &are_any);
	assert_true(pair.connection->cancel);
	end(&connections, &pair);
	connections_deinit(&connections);
}

static void streams_take_no_place_and_end_with_their_client(void **state)
{
	struct connections connections;
	struct pair stream;
	bool are_any;

	(void)state;
	connections_init(&connections, MAX);
	stream = connect_one(&connections, 100);
	assert_int_equal(connections_watch(&connections, &are_any), MAX - 1);
	connections_enter(&connections, stream.connection, CONNECTION_STREAMING, 0);
	assert_int_equal(connections_watch(&connections, &are_any), MAX);
	assert_true(are_any);
	assert_false(stream.connection->cancel);
	close(stream.client);
	stream.client = -1;
	connections_watch(&connections, &are_any);
	assert_true(stream.connection->cancel);
	end(&connections, &stream);
	connections_deinit(&connections);
}

static void an_end_cancels_all(void **state)
{
	struct connections connections;
	struct pair one, two, late;

	(void)state;
	connections_init(&connections, MAX);
	one = connect_one(&connections, 100);
	two = connect_one(&connections, 100);
	connections_cancel(&connections);
	assert_true(one.connection->cancel);
	assert_true(two.connection->cancel);
	late = connect_one(&connections, 100); /* was on its way */
	assert_true(late.connection->cancel);
	end(&connections, &late);
	end(&connections, &one);
	end(&connections, &two);
	connections_end(&connections, NULL);
	connections_deinit(&connections);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_so_many_may_come),
		cmocka_unit_test(the_slow_are_shut_out),
		cmocka_unit_test(who_is_gone_is_known_while_an_answer_is_found),
		cmocka_unit_test(streams_take_no_place_and_end_with_their_client),
		cmocka_unit_test(an_end_cancels_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
