#include "../test.h"

#include "report/text.h"

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"

static const struct {
	const char *function;
	size_t columns;
	const char *shown;
} rows[] = {
	{ "main", 40, "main" },
	{ "f(" STRING " const&)", 40, "f(std::string const&)" },
	{ "std::vector<int, std::allocator<int> >::push_back(int const&)", 60,
	  "std::vector<int>::push_back(int const&)" },
	{ "std::map<a, b, std::less<a>, std::allocator<std::pair<a const, b> > >::at(a)", 60,
	  "std::map<a, b, std::less<a>>::at(a)" },
	{ "(anonymous namespace)::f(int)", 40, "f(int)" },
	{ "std::vector<int, std::allocator<int> >::push_back(int const&)", 30,
	  "std::vector<int>::push_back()" },
	{ "std::vector<int, std::allocator<int> >::push_back(int const&)", 27,
	  "std::vector<…>::push_back()" },
	{ "std::vector<int, std::allocator<int> >::push_back(int const&)", 18, "…::push_back()" },
	{ "std::vector<int, std::allocator<int> >::push_back(int const&)", 10, "std::vect…" },
	{ "clang::Decl::Visitor::visit(clang::Decl*)", 20, "…::Visitor::visit()" },
	{ "void app::visit<int>(app::Visitor<int>&)", 16, "app::visit<…>()" },
	{ "bool operator< <char>(a const&, a const&)", 30, "bool operator< <char>()" },
	{ "f(void (*)(int), g<(x)1>)", 12, "f()" },
	{ "0x1234 [libfoo.so+0x1234]", 40, "libfoo.so+0x1234" },
	{ "unbalanced<(((", 8, "unbalan…" },
	{ "(outer frames not known)", 12, "(outer fram…" }, /* no parameters, but a remark */
	{ "(anonymous namespace)::f(int, int)", 6, "f()" },
	{ "", 8, "" },
};

static void functions_are_shown_as_people_say_them(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		CLEAN(str_deinit) struct str out = { 0 };

		str_add_function(&out, rows[i].function, rows[i].columns);
		assert_string_equal(str_text(&out), rows[i].shown);
		assert_true(str_width(str_text(&out)) <= rows[i].columns);
	}
}

static void a_path_is_one_word_of_a_shell(void **state)
{
	static const struct {
		const char *path;
		const char *word;
	} paths[] = {
		{ "app.1.mtape", "app.1.mtape" },
		{ "my tape", "'my tape'" },
		{ "it's", "'it'\\''s'" },
		{ "$(reboot)", "'$(reboot)'" },
		{ "", "''" },
	};

	(void)state;
	for (size_t i = 0; i < array_size(paths); i++) {
		CLEAN(str_deinit) struct str out = { 0 };

		str_add_shell(&out, paths[i].path);
		assert_string_equal(str_text(&out), paths[i].word);
	}
}

static void colours_are_only_where_they_are_wanted(void **state)
{
	struct report_settings settings = { 0 };
	struct text plain = text_begin(&settings);
	struct text coloured;

	(void)state;
	settings.colour = true;
	coloured = text_begin(&settings);
	text_add(&plain, TEXT_BAD, "words");
	text_add(&coloured, TEXT_BAD, "words");
	assert_string_equal(str_text(&plain.out), "words");
	assert_string_equal(str_text(&coloured.out), "\033[33mwords\033[0m");
	text_deinit(&plain);
	text_deinit(&coloured);
}

static void words_cannot_steer_the_terminal(void **state)
{
	struct report_settings settings = { 0 };
	struct text text = text_begin(&settings);

	(void)state;
	text_function(&text, TEXT_PLAIN, "\033]0;title\007f", 40);
	assert_null(strchr(str_text(&text.out), '\033'));
	assert_null(strchr(str_text(&text.out), '\007'));
	text_deinit(&text);
}

static void every_report_is_complete(void **state)
{
	(void)state;
	for (const struct report *const *at = report_table; *at; at++) {
		assert_non_null((*at)->question->name);
		assert_non_null((*at)->question->summary);
		assert_true(((*at)->question->ask != NULL) != ((*at)->run != NULL));
		assert_ptr_equal(report_find((*at)->question->name), *at);
	}
	assert_null(report_find("no such report"));
}

static const struct {
	const char *name;
	const char *reports;
} options[] = {
#define PARAMETER(field, name, letter, arg, kind, questions, doc, words, max, usual)               \
	{ name, questions },
#define OPERAND(field, name, arg, kind, doc)
#include "answer/parameters.def"
#undef PARAMETER
#undef OPERAND
};

static void options_are_for_reports_that_there_are(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(options); i++) {
		for (const char *at = options[i].reports; *at;) {
			const size_t len = strcspn(at, ",:");
			CLEAN(str_deinit) struct str name = { 0 };

			str_add_bytes(&name, at, len);
			assert_non_null(report_find(str_text(&name)));
			assert_int_equal(at[len + 1], ' ');
			at += len + 2;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_shown_as_people_say_them),
		cmocka_unit_test(a_path_is_one_word_of_a_shell),
		cmocka_unit_test(colours_are_only_where_they_are_wanted),
		cmocka_unit_test(words_cannot_steer_the_terminal),
		cmocka_unit_test(every_report_is_complete),
		cmocka_unit_test(options_are_for_reports_that_there_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
