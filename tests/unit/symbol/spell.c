#include "../test.h"

#include "symbol/spell.h"

static const struct {
	const char *full;
	const char *shown;
	const char *without; /* arguments; NULL: as shown */
} rows[] = {
	{ "main", "main", NULL },
	{ "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
	  ">::reserve("
	  "unsigned long)",
	  "std::string::reserve(unsigned long)", NULL },
	{ "f(std::vector<int, std::allocator<int> > const&)", "f(std::vector<int> const&)",
	  "f(std::vector<...> const&)" },
	{ "std::map<int, std::vector<long, std::allocator<long> >, std::less<int>, "
	  "std::allocator<std::pair<int const, std::vector<long, std::allocator<long> > > > "
	  ">::operator[](int const&)",
	  "std::map<int, std::vector<long>>::operator[](int const&)",
	  "std::map<...>::operator[](int const&)" },
	{ "std::unique_ptr<A, std::default_delete<A> >::operator->() const",
	  "std::unique_ptr<A>::operator->() const", "std::unique_ptr<...>::operator->() const" },
	{ "std::map<int, int, std::less<int>, mine::pool<int> >::clear()",
	  "std::map<int, int, std::less<int>, mine::pool<int>>::clear()",
	  "std::map<...>::clear()" },
	{ "std::basic_ostream<char, std::char_traits<char> >& std::operator<< "
	  "<std::char_traits<char> >(std::basic_ostream<char, std::char_traits<char> >&, char "
	  "const*)",
	  "std::ostream& std::operator<< <std::char_traits<char>>(std::ostream&, char const*)",
	  NULL },
	{ "mine::holder<int, std::allocator<int> >::f()",
	  "mine::holder<int, std::allocator<int>>::f()", "mine::holder<...>::f()" },
	{ "std::filesystem::__cxx11::path::string[abi:cxx11]() const",
	  "std::filesystem::path::string() const", NULL },
	{ "std::__1::vector<int, std::__1::allocator<int>>::push_back(int)",
	  "std::vector<int>::push_back(int)", "std::vector<...>::push_back(int)" },
	{ "run<main::{lambda(int)#1}>(main::{lambda(int)#1})",
	  "run<main::{lambda(int)#1}>("
	  "main::{lambda(int)#1})",
	  "run<...>(main::{lambda(int)#1})" },
	{ "a::operator<(a::b const&, a::b const&)", "a::operator<(a::b const&, a::b const&)",
	  NULL },
	{ "a::b::operator()<int>(int)", "a::b::operator()<int>(int)", NULL },
	{ "(anonymous namespace)::f<(anonymous namespace)::g>()",
	  "(anonymous namespace)::f<(anonymous namespace)::g>()",
	  "(anonymous namespace)::f<...>()" },
	{ "<alloc::vec::Vec<T> as core::iter::FromIterator<T>>::from_iter",
	  "<alloc::vec::Vec<T> as core::iter::FromIterator<T>>::from_iter",
	  "<alloc::vec::Vec<...> as core::iter::FromIterator<...>>::from_iter" },
	{ "broken<int", "broken<int", NULL },
	{ "broken::f(a<b", "broken::f(a<b", NULL },
	{ "LazyCompile:~f<x file.js:3", "LazyCompile:~f<x file.js:3", NULL },
};

static void names_are_shown_as_people_write_them(void **state)
{
	struct arena arena = { 0 };

	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		const char *without = rows[i].without ? rows[i].without : rows[i].shown;

		assert_string_equal(spell_name(rows[i].full, SYMBOL_SPELL_SHORT, &arena),
				    rows[i].shown);
		assert_ptr_equal(spell_name(rows[i].full, SYMBOL_SPELL_FULL, &arena), rows[i].full);
		if (i != 6 && i != 12) /* operators' arguments: said below */
			assert_string_equal(
				spell_name(rows[i].full, SYMBOL_SPELL_NO_ARGUMENTS, &arena),
				without);
	}
	arena_deinit(&arena);
}

static void what_is_nested_without_end_stays_as_it_is(void **state)
{
	struct arena arena = { 0 };
	char name[4001];

	(void)state;
	memset(name, '<', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_ptr_equal(spell_name(name, SYMBOL_SPELL_SHORT, &arena), name);
	memset(name, '(', sizeof(name) - 1);
	name[0] = ':';
	assert_ptr_equal(spell_name(name, SYMBOL_SPELL_SHORT, &arena), name);
	arena_deinit(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_shown_as_people_write_them),
		cmocka_unit_test(what_is_nested_without_end_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
