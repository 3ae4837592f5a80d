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

static const struct {
	const char *name, *mine, *library;
} functions[] = {
	{ "std::vector<char>::resize(unsigned long)", NULL, "std::vector::resize" },
	{ "void std::sort<int*>(int*, int*)", "std::sort<int*>(int*, int*)", "std::sort" },
	{ "main::{lambda()#2} std::for_each<int*, main::{lambda()#2}>(int*, int*)", NULL,
	  "std::for_each" },
	{ "std::ostream& std::operator<< <char>(std::ostream&, char const*)",
	  "std::operator<< <char>(std::ostream&, char const*)", "std::operator<<" },
	{ "std::map<int, int>::operator[](int const&)", NULL, "std::map::operator[]" },
	{ "std::function<void ()>::operator()() const", NULL, "std::function::operator()" },
	{ "bool std::operator< <int>(A<int> const&, A<int> const&)",
	  "std::operator< <int>(A<int> const&, A<int> const&)", "std::operator<" },
	{ "std::string std::operator+<char, std::char_traits<char>, std::allocator<char>>(char "
	  "const*, std::string&&)",
	  "std::operator+<char, std::char_traits<char>, std::allocator<char>>(char const*, "
	  "std::string&&)",
	  "std::operator+" },
	{ "a::b& a::b::operator->*<int>(int)", "a::b::operator->*<int>(int)", NULL },
	{ "bool a::operator<=><int>(a::b<int>, int)", "a::operator<=><int>(a::b<int>, int)", NULL },
	{ "int* app::find<int>(int) const", "app::find<int>(int) const", "app::find" },
	{ "main::{lambda(int)#1}::operator()(int) const", "main::{lambda}", NULL },
	{ "app::run(int)::{lambda(std::string)#2}::operator()(std::string) const",
	  "app::run(int)::{lambda#2}", NULL },
	{ "auto main::{lambda(auto:1)#1}::operator()<int>(int) const", "main::{lambda}", NULL },
	{ "main::{lambda()#1}::operator()() const::{lambda()#1}::operator()() const",
	  "main::{lambda}::{lambda}", NULL },
	{ "(anonymous namespace)::load(int)", "(anonymous namespace)::load(int)",
	  "(anonymous namespace)::load" },
	{ "app::(anonymous namespace)::load(int)", "app::(anonymous namespace)::load(int)", NULL },
	{ "void (*app::handler(int))(std::string)", "app::handler(int)", "app::handler" },
	{ "app::Path::operator std::string() const", "app::Path::operator std::string() const",
	  "app::Path::operator std::string" },
	{ "decltype (f(1)) app::call<int>(int)", "app::call<int>(int)", "app::call" },
	{ "run(int)::{lambda(...)#1}::operator()", "run(int)::{lambda}", NULL },
	{ "main::{lambda(...)#2}::operator()", "main::{lambda#2}", NULL },
	{ "{lambda(...)#1}::operator()", "{lambda}", NULL },
	{ "main::{lambda(int)#1}::_FUN(int)", "main::{lambda}", NULL },
	{ "void* run(int)::{lambda(auto:1)#3}::_FUN<unsigned long>(unsigned long)",
	  "run(int)::{lambda#3}", NULL },
	{ "main::{lambda(int)#1}::_FUNNY(int)", "main::{lambda}::_FUNNY(int)", NULL },
	/* As clang calls them. */
	{ "main::$_0::__invoke(int)", "main::{lambda}", NULL },
	{ "main::$_0::operator()(int) const", "main::{lambda}", NULL },
	{ "main::$_12::operator()<int>(int) const", "main::{lambda#13}", NULL },
	{ "void each<main::$_1>(main::$_1)", "each<main::{lambda#2}>(main::{lambda#2})", NULL },
	{ "$_3::operator()() const", "{lambda#4}", NULL },
	{ "run$_3(int)", "run$_3(int)", NULL },
	{ "a::$_x(int)", "a::$_x(int)", NULL },
	{ "std::for_each<int*, main()::<lambda(int)>>", NULL, "std::for_each" },
	{ "std::operator<< <char>", NULL, "std::operator<< <char>" },
	{ "core::mem::swap::<alloc::vec::Vec<u8>>", NULL,
	  "core::mem::swap::<alloc::vec::Vec<u8>>" },
	{ "main.(*Server).serve", "main.(*Server).serve", NULL },
	{ "github.com/a/b.Load", "github.com/a/b.Load", "github.com/a/b.Load" },
	{ "alloc::str::<impl str>::repeat", "alloc::str::<impl str>::repeat",
	  "alloc::str::<impl str>::repeat" },
	{ "<[T] as alloc::slice::Join<(A, B)>>::join", "<[T] as alloc::slice::Join<(A, B)>>::join",
	  "<[T] as alloc::slice::Join<(A, B)>>::join" },
	{ "core::ops::function::FnOnce::call_once{{vtable.shim}}",
	  "core::ops::function::FnOnce::call_once{{vtable.shim}}", NULL },
	{ "main", "main", "main" },
	{ "", "", "" },
};

static void functions_are_without_what_says_nothing(void **state)
{
	struct arena arena = { 0 };

	(void)state;
	for (size_t i = 0; i < array_size(functions); i++) {
		const char *name = functions[i].name;

		if (functions[i].mine)
			assert_string_equal(spell_function(name, false, &arena), functions[i].mine);
		if (functions[i].library)
			assert_string_equal(spell_function(name, true, &arena),
					    functions[i].library);
	}
	arena_deinit(&arena);
}

static void functions_for_pointers_to_lambdas_are_known(void **state)
{
	(void)state;
	assert_true(spell_is_of_pointer("main::{lambda(int)#1}::_FUN(int)"));
	assert_true(spell_is_of_pointer("run(int)::{lambda(auto:1)#3}::_FUN<long>(long)"));
	assert_true(spell_is_of_pointer("run::{lambda(...)#2}::_FUN"));
	assert_true(spell_is_of_pointer("main::$_0::__invoke(int)"));
	assert_false(spell_is_of_pointer("main::{lambda(int)#1}::operator()(int) const"));
	assert_false(spell_is_of_pointer("std::__invoke<int>(int)"));
	assert_false(spell_is_of_pointer("app::_FUN(int)"));
	assert_false(spell_is_of_pointer("main::{lambda()#1}::_FUN()::{lambda()#1}::operator()()"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_shown_as_people_write_them),
		cmocka_unit_test(functions_are_without_what_says_nothing),
		cmocka_unit_test(functions_for_pointers_to_lambdas_are_known),
		cmocka_unit_test(what_is_nested_without_end_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
