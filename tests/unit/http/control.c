/*
 * What the server asks of a recording, and what it believes. The recording's end of the socket is
 * ours here: its words are there before they are waited for, as questions are numbered from 1 on.
 */
#include "../test.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/control.h"

struct ends {
	struct control control;
	int recording; /* -1: closed */
};

static void assert_err(struct err *err, enum err_code code, const char *part)
{
	assert_non_null(err);
	assert_int_equal(err_code_of(err), code);
	assert_non_null(strstr(err_message(err), part));
	err_destroy(err);
}

static void ends_make(struct ends *ends)
{
	int sockets[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	assert_null(control_init(&ends->control, sockets[0]));
	ends->recording = sockets[1];
}

static void ends_close(struct ends *ends)
{
	control_deinit(&ends->control);
	if (ends->recording >= 0)
		close(ends->recording);
}

static void say(const struct ends *ends, const void *bytes, size_t size)
{
	assert_int_equal(send(ends->recording, bytes, size, MSG_DONTWAIT), size);
}

static struct control_ask heard(const struct ends *ends)
{
	struct control_ask ask;

	assert_int_equal(recv(ends->recording, &ask, sizeof(ask), MSG_DONTWAIT), sizeof(ask));
	return ask;
}

static bool hears_nothing(const struct ends *ends)
{
	char byte;

	return recv(ends->recording, &byte, 1, MSG_DONTWAIT) < 0;
}

static void only_sockets_of_messages_are_taken(void **state)
{
	struct control control;
	int pipes[2], stream[2];

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, stream), 0);
	assert_err(control_init(&control, pipes[0]), ERR_USAGE, "--control");
	assert_err(control_init(&control, stream[0]), ERR_USAGE, "--control");
	assert_err(control_init(&control, -1), ERR_USAGE, "--control");
	for (size_t i = 0; i < 2; i++) { /* they stay as they are */
		assert_int_equal(close(pipes[i]), 0);
		assert_int_equal(close(stream[i]), 0);
	}
}

static void without_a_recording_nothing_can_be_asked(void **state)
{
	struct control_word word;

	(void)state;
	assert_false(control_is_open(NULL));
	assert_err(control_mark(NULL, "x"), ERR_UNSUPPORTED, "record --serve");
	assert_err(control_show(NULL, &word), ERR_UNSUPPORTED, "record --serve");
	assert_err(control_stop(NULL, &word), ERR_UNSUPPORTED, "record --serve");
}

static void what_is_asked_arrives_whole(void **state)
{
	struct control_word word = { .number = 1, .done = 1 };
	struct control_ask ask;
	struct ends ends;

	(void)state;
	ends_make(&ends);
	say(&ends, &word, sizeof(word));
	assert_null(control_mark(&ends.control, "loaded \xc3\xa4"));
	ask = heard(&ends);
	assert_int_equal(ask.kind, CONTROL_MARK);
	assert_int_equal(ask.number, 1);
	assert_string_equal(ask.mark, "loaded \xc3\xa4");
	word = (struct control_word) { .number = 2, .done = 1, .tape_bytes = 77, .ticks = 99 };
	say(&ends, &word, sizeof(word));
	word = (struct control_word) { 0 };
	assert_null(control_show(&ends.control, &word));
	assert_int_equal(heard(&ends).kind, CONTROL_SHOW);
	assert_int_equal(word.tape_bytes, 77);
	assert_int_equal(word.ticks, 99);
	word = (struct control_word) { .number = 3, .done = 1, .tape_bytes = 88 };
	say(&ends, &word, sizeof(word));
	assert_null(control_stop(&ends.control, &word));
	assert_int_equal(heard(&ends).kind, CONTROL_STOP);
	assert_int_equal(word.tape_bytes, 88);
	for (uint32_t i = 0; i < 2; i++) {
		bool has_changed = i == 0;

		word = (struct control_word) { .number = 4 + i, .done = 1, .has_changed = i };
		say(&ends, &word, sizeof(word));
		assert_null(control_pause(&ends.control, i == 0, &has_changed));
		assert_int_equal(heard(&ends).kind, i == 0 ? CONTROL_PAUSE : CONTROL_RESUME);
		assert_int_equal(has_changed, i);
	}
	ends_close(&ends);
}

/* Whether it was sent: as it is, or not at all. */
static bool is_marked(struct ends *ends, const char *text)
{
	const struct control_word word = { .number = ends->control.number + 1, .done = 1 };
	struct err *err;

	say(ends, &word, sizeof(word)); /* stays there, and is passed over, if nothing is asked */
	err = control_mark(&ends->control, text);
	if (!err) {
		assert_string_equal(heard(ends).mark, text);
		return true;
	}
	assert_int_equal(err_code_of(err), ERR_USAGE);
	err_destroy(err);
	assert_true(hears_nothing(ends));
	assert_int_equal(recv(ends->control.fd, &(char) { 0 }, 1, MSG_DONTWAIT), 1);
	return false;
}

static void a_mark_is_one_line_of_1_to_255_bytes(void **state)
{
	char text[CONTROL_MARK_BYTES + 1];
	struct ends ends;

	(void)state;
	ends_make(&ends);
	for (int byte = 1; byte < 256; byte++) {
		const bool may = byte >= ' ' && byte != 0x7f;

		assert_int_equal(is_marked(&ends, (char[]) { (char)byte, '\0' }), may);
		assert_int_equal(is_marked(&ends, (char[]) { 'a', (char)byte, 'b', '\0' }), may);
	}
	memset(text, 'x', sizeof(text));
	for (size_t len = CONTROL_MARK_BYTES; len >= CONTROL_MARK_BYTES - 2; len--) {
		text[len] = '\0';
		assert_int_equal(is_marked(&ends, text), len < CONTROL_MARK_BYTES);
	}
	assert_false(is_marked(&ends, ""));
	ends_close(&ends);
}

static void words_about_other_questions_are_passed_over(void **state)
{
	struct control_word word = { .number = 7, .done = 1, .tape_bytes = 1 };
	struct ends ends;

	(void)state;
	ends_make(&ends);
	say(&ends, &word, sizeof(word)); /* of somebody who gave up */
	word.number = 0;
	say(&ends, &word, sizeof(word));
	word.number = 1;
	say(&ends, &word, sizeof(word) - 1); /* no word at all */
	word.tape_bytes = 2;
	say(&ends, &word, sizeof(word));
	assert_null(control_show(&ends.control, &word));
	assert_int_equal(word.tape_bytes, 2);
	ends_close(&ends);
}

static void a_recording_that_does_not_record_says_so(void **state)
{
	const struct control_word no = { .number = 1, .tape_bytes = 5 };
	struct control_word word = { .tape_bytes = 3 };
	struct ends ends;

	(void)state;
	ends_make(&ends);
	say(&ends, &no, sizeof(no));
	assert_err(control_stop(&ends.control, &word), ERR_STATE, "nothing is being recorded");
	assert_int_equal(word.tape_bytes, 3);
	ends_close(&ends);
}

static void a_recording_that_has_ended_is_not_waited_for(void **state)
{
	const struct control_word last = { .number = 1, .done = 1, .tape_bytes = 5 };
	struct control_word word;
	struct ends ends;

	(void)state;
	ends_make(&ends);
	assert_true(control_is_open(&ends.control));
	close(ends.recording);
	ends.recording = -1;
	assert_false(control_is_open(&ends.control));
	assert_err(control_show(&ends.control, &word), ERR_STATE, "has ended");
	ends_close(&ends);
	ends_make(&ends); /* its last word is heard all the same */
	say(&ends, &last, sizeof(last));
	shutdown(ends.recording, SHUT_WR);
	assert_false(control_is_open(&ends.control));
	assert_null(control_stop(&ends.control, &word));
	assert_int_equal(word.tape_bytes, 5);
	assert_err(control_show(&ends.control, &word), ERR_STATE, "has ended");
	ends_close(&ends);
}

/* Takes its three seconds. */
static void who_is_not_answered_is_told_so(void **state)
{
	struct control_word word;
	struct ends ends;

	(void)state;
	ends_make(&ends);
	assert_err(control_show(&ends.control, &word), ERR_STATE, "does not answer");
	while (send(ends.control.fd, &word, sizeof(word), MSG_DONTWAIT) > 0)
		;
	assert_err(control_show(&ends.control, &word), ERR_STATE, "does not read");
	ends_close(&ends);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_sockets_of_messages_are_taken),
		cmocka_unit_test(without_a_recording_nothing_can_be_asked),
		cmocka_unit_test(what_is_asked_arrives_whole),
		cmocka_unit_test(a_mark_is_one_line_of_1_to_255_bytes),
		cmocka_unit_test(words_about_other_questions_are_passed_over),
		cmocka_unit_test(a_recording_that_does_not_record_says_so),
		cmocka_unit_test(a_recording_that_has_ended_is_not_waited_for),
		cmocka_unit_test(who_is_not_answered_is_told_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
