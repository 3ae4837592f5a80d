#include "../test.h"

#include "base/str.h"
#include "collect/attach_check.h"

static struct status status_of(const char *text)
{
	struct status status;

	str_format(status.text, sizeof(status.text), "Name:\tshstk\nState:\tS (sleeping)\n%s",
		   text);
	return status;
}

static const struct {
	const char *what, *text;
	enum attach_obstacle obstacle;
	const char *words; /* NULL: it can be */
} rows[] = {
	{ "nothing special", "TracerPid:\t0\nSeccomp:\t0\n", ATTACH_OBSTACLES, NULL },
	{ "an older kernel", "Threads:\t1\n", ATTACH_OBSTACLES, NULL },
	{ "traced", "TracerPid:\t4711\nSeccomp:\t2\n", ATTACH_TRACED, "traced by process 4711" },
	{ "a filter", "TracerPid:\t0\nSeccomp:\t2\n", ATTACH_SECCOMP, "seccomp filter" },
	{ "strict", "Seccomp:\t1\n", ATTACH_SECCOMP, "seccomp" },
	{ "a shadow stack", "Seccomp:\t0\nx86_Thread_features:\tshstk \n", ATTACH_SHADOW_STACK,
	  "shadow stack (CET)" },
	{ "with another feature", "x86_Thread_features:\tshstk wrss \n", ATTACH_SHADOW_STACK,
	  "glibc.cpu.x86_shstk=off" },
	{ "behind another", "x86_Thread_features:\twrss shstk\n", ATTACH_SHADOW_STACK, "shadow" },
	{ "none is on", "x86_Thread_features:\t\nx86_Thread_features_locked:\tshstk wrss \n",
	  ATTACH_OBSTACLES, NULL },
	{ "another word", "x86_Thread_features:\tshstk2 ashstk\n", ATTACH_OBSTACLES, NULL },
};

static void a_status_says_what_is_in_the_way(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		const struct status status = status_of(rows[i].text);
		enum attach_obstacle obstacle = ATTACH_GONE;
		struct err *err = attach_check_status(7, &status, &obstacle);

		assert_int_equal(obstacle, rows[i].obstacle);
		assert_int_equal(!err, !rows[i].words);
		if (err)
			assert_non_null(strstr(err_message(err), rows[i].words));
		err_destroy(err);
	}
}

static void every_obstacle_has_a_word_of_its_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < ATTACH_OBSTACLES; i++) {
		assert_non_null(attach_obstacle_words[i]);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(attach_obstacle_words[i], attach_obstacle_words[j]);
	}
	assert_null(attach_obstacle_words[ATTACH_OBSTACLES]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_status_says_what_is_in_the_way),
		cmocka_unit_test(every_obstacle_has_a_word_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
