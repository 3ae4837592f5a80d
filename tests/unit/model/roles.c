#include "../test.h"

#include "model/roles.h"

static const struct {
	const char *function;
	enum name_role role;
} rows[] = {
	{ "main", NAME_MINE },
	{ "free_list_push", NAME_MINE },
	{ "malloc", NAME_ALLOCATOR },
	{ "malloc_stats_print", NAME_MINE },
	{ "_int_malloc", NAME_ALLOCATOR },
	{ "operator new(unsigned long)", NAME_ALLOCATOR },
	{ "app::operator new_thing(int)", NAME_MINE },
	{ "xmalloc", NAME_ALLOCATOR },
	{ "xmalloc_tree", NAME_MINE },
	{ "zrealloc_usable", NAME_ALLOCATOR },
	{ "ztry", NAME_MINE },
	{ "_PyMem_RawMalloc", NAME_ALLOCATOR },
	{ "os::malloc(unsigned long, MEMFLAGS)", NAME_ALLOCATOR },
	{ "os::mallocs", NAME_MINE },
	{ "palloc0", NAME_ALLOCATOR },
	{ "palloc_tree", NAME_MINE },
	{ "llvm::SmallVectorBase<unsigned int>::grow_pod(void*, unsigned long, unsigned long)",
	  NAME_ALLOCATOR },
	{ "std::allocator_traits<std::allocator<int> >::allocate(std::allocator<int>&, "
	  "unsigned long)",
	  NAME_ALLOCATOR },
	{ "std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&)", NAME_ALLOCATOR },
	{ "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&)",
	  NAME_ALLOCATOR },
	{ "std::vector<int, std::allocator<int> >::push_back(int const&)", NAME_LIBRARY },
	{ "std::_Rb_tree<int, int>::_Auto_node::_Auto_node(int)", NAME_ALLOCATOR },
	{ "std::_Rb_tree_node<int>* std::_Rb_tree<int>::_M_create_node<int>(int)", NAME_ALLOCATOR },
	{ "std::map<int, int>::operator[](int&&)", NAME_LIBRARY },
	{ "std::__cxx11::basic_string<char>::basic_string(char const*)", NAME_LIBRARY },
	{ "std::__cxx11::basic_string<char>::_M_create(unsigned long&, unsigned long)",
	  NAME_ALLOCATOR },
	{ "std::__1::vector<int>::push_back(int)", NAME_LIBRARY },
	{ "std::__1::__split_buffer<int>::__split_buffer()", NAME_ALLOCATOR },
	{ "std::__invoke_impl<void, app::run>(app::run&&)", NAME_ALLOCATOR },
	/* Library types among arguments do not make a program's function a library's. */
	{ "app::insert(std::_Rb_tree<int>&)", NAME_MINE },
	{ "app::Cache<std::_Rb_tree<int> >::insert(int)", NAME_MINE },
	{ "std::_Rb_tree_iterator<int> app::find<int>(int)", NAME_MINE },
	{ "__rust_alloc", NAME_ALLOCATOR },
	{ "alloc::raw_vec::RawVec<T,A>::reserve_for_push", NAME_ALLOCATOR },
	{ "<alloc::alloc::Global>::alloc_impl_runtime", NAME_ALLOCATOR }, /* rustc 1.95 */
	{ "<alloc::alloc::Global>::grow_impl", NAME_ALLOCATOR },
	{ "<alloc::alloc::Global as core::alloc::Allocator>::allocate", NAME_ALLOCATOR },
	{ "<alloc::raw_vec::RawVecInner<_>>::try_allocate_in", NAME_ALLOCATOR },
	{ "<<alloc::raw_vec::RawVec<T> as core::clone::Clone>::clone", NAME_ALLOCATOR },
	{ "__rustc::__rust_alloc", NAME_ALLOCATOR },
	{ "__rustc::__rdl_realloc", NAME_ALLOCATOR },
	{ "__rustc::rust_panic", NAME_LIBRARY },
	{ "hashbrown::raw::alloc::inner::do_alloc", NAME_ALLOCATOR },
	{ "hashbrown::raw::RawTableInner::resize_inner", NAME_LIBRARY },
	{ "<app::Pool as core::alloc::global::GlobalAlloc>::alloc", NAME_MINE },
	{ "alloc::vec::Vec<T,A>::push", NAME_LIBRARY },
	{ "_start", NAME_START },
	{ "_start_engine", NAME_MINE },
	{ "__libc_start_main_impl", NAME_START },
	{ "clone3", NAME_START },
	{ "cloned", NAME_MINE },
	{ "std::rt::lang_start::{{closure}}", NAME_START },
	{ "", NAME_MINE },
	{ "std::", NAME_LIBRARY },
	{ "std::vector<", NAME_LIBRARY },
};

static enum name_role role_in(const char *function, const char *module)
{
	return role_of(&(struct role_subject) { function, module, NULL }, NULL);
}

static void machinery_is_known_by_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		if (role_in(rows[i].function, "/home/me/app") != rows[i].role)
			fail_msg("%s", rows[i].function);
	}
}

static const struct {
	struct role_subject subject;
	enum name_role role;
} places[] = {
	/* Names of languages' libraries; not what only looks like them. */
	{ { "std::vector<char>::resize(unsigned long)", "/home/me/app", NULL }, NAME_LIBRARY },
	{ { "void std::sort<int*>(int*, int*)", "/home/me/app", NULL }, NAME_LIBRARY },
	{ { "std::vector<int> app::make(int)", "/home/me/app", NULL }, NAME_MINE },
	{ { "my_std::vector::resize(int)", "/home/me/app", NULL }, NAME_MINE },
	{ { "app::std::vector::resize(int)", "/home/me/app", NULL }, NAME_MINE },
	{ { "app::Path::operator std::string() const", "/home/me/app", NULL }, NAME_MINE },
	{ { "void (*app::handler(int))(std::string)", "/home/me/app", NULL }, NAME_MINE },
	{ { "(anonymous namespace)::load(std::string)", "/home/me/app", NULL }, NAME_MINE },
	{ { "main::{lambda(int)#1}::operator()(int) const", "/home/me/app", NULL }, NAME_MINE },
	{ { "main.(*Server).serve", "/home/me/app", NULL }, NAME_MINE },
	/* Rust: a crate's name is none of a namespace of C++. */
	{ { "core::iter::Iterator::collect", "/home/me/app", NULL }, NAME_LIBRARY },
	{ { "core::Engine::run(int)", "/home/me/app", NULL }, NAME_MINE },
	{ { "<alloc::vec::Vec<T> as core::iter::FromIterator<T>>::from_iter", "/home/me/app",
	    NULL },
	  NAME_LIBRARY },
	{ { "<[T] as core::slice::Join>::join", "/home/me/app", NULL }, NAME_LIBRARY },
	{ { "<app::Shop as core::fmt::Debug>::fmt", "/home/me/app", NULL }, NAME_MINE },
	{ { "<alloc::vec::Vec<T> as app::Stock>::fill", "/home/me/app", NULL }, NAME_MINE },
	{ { "alloc::str::<impl str>::repeat", "/home/me/app", NULL }, NAME_LIBRARY },
	{ { "shop::load", "/home/me/app", "/home/me/.cargo/registry/src/x/shop-1.0/src/lib.rs" },
	  NAME_LIBRARY },
	{ { "app::run::{{closure}}", "/home/me/app", "/home/me/app/src/main.rs" }, NAME_MINE },
	/* Sources and modules. */
	{ { "Eigen::run(int)", "/home/me/app", "/usr/include/eigen3/Eigen/x.h" }, NAME_LIBRARY },
	{ { "Page::Page(Page const&)", "/home/me/app", "<implicit>" }, NAME_LIBRARY },
	{ { "run(int)", "/home/me/app", "/usr/src/app/run.cpp" }, NAME_MINE },
	{ { "fopen", "/lib/x86_64-linux-gnu/libc.so.6", NULL }, NAME_LIBRARY },
	{ { "load", "/home/me/lib/libshop.so", NULL }, NAME_MINE },
	{ { "load", "/usr/bin/app", NULL }, NAME_MINE },
	{ { "new_object", "/usr/bin/python3.11", NULL }, NAME_LIBRARY },
	{ { "new_object", "/home/me/python/python", "Objects/object.c" }, NAME_MINE },
	{ { "load", "/usr/bin/pythonista", NULL }, NAME_MINE },
	{ { "load", "/usr/bin/node-exporter", NULL }, NAME_MINE },
	{ { "v8::Run()", "/usr/local/bin/node", NULL }, NAME_LIBRARY },
	{ { "0x7f947269a475", "", NULL }, NAME_LIBRARY }, /* generated code without a name */
	{ { "0x7f947269a475 [app+0x475]", "/opt/app", NULL }, NAME_MINE },
	{ { "load", "/home/me/env/lib/python3/site-packages/x.so", NULL }, NAME_LIBRARY },
	/* Code of runtimes, whose names have their source. */
	{ { "py::load:/home/me/app.py", "[jit]", NULL }, NAME_MINE },
	{ { "py::dumps:/usr/lib/python3.11/json/__init__.py", "[jit]", NULL }, NAME_LIBRARY },
	{ { "LazyCompile:*serve /home/me/app.js:3", "[jit]", NULL }, NAME_MINE },
	{ { "LazyCompile:*get /home/me/node_modules/x/y.js:3", "[jit]", NULL }, NAME_LIBRARY },
	{ { "LazyCompile:~emit node:events:465", "[jit]", NULL }, NAME_LIBRARY },
	{ { "Builtin:ArrayPush", "[jit]", NULL }, NAME_LIBRARY },
};

static void whose_a_function_is_follows_from_its_name_source_and_module(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(places); i++) {
		const enum name_role role = role_of(&places[i].subject, NULL);

		if (role != places[i].role)
			fail_msg("%s: %s", places[i].subject.function, role_word(role));
	}
}

static void users_have_the_last_word(void **state)
{
	const struct role_rule rules[] = {
		{ NAME_ALLOCATOR, "zm*alloc,_sdsnewlen" },
		{ NAME_LIBRARY, "third_party/,libshop.so*" },
		{ NAME_MINE, "src/*,std::vector*,third_party/own.c" },
	};
	const struct role_rules all = { rules, array_size(rules) };
	static const struct {
		struct role_subject subject;
		enum name_role role;
	} cases[] = {
		{ { "zmmalloc", "/home/me/app", NULL }, NAME_ALLOCATOR },
		{ { "_sdsnewlen", "/home/me/app", NULL }, NAME_ALLOCATOR },
		{ { "sdsnewlen", "/home/me/app", NULL }, NAME_MINE },
		{ { "f", "/home/me/app", "/home/me/third_party/deep/x.c" }, NAME_LIBRARY },
		{ { "f", "/home/me/app", "/home/me/no_third_party/x.c" }, NAME_MINE },
		{ { "f", "/home/me/app", "/home/me/third_party/own.c" }, NAME_MINE },
		{ { "f", "/home/me/libshop.so.1", NULL }, NAME_LIBRARY },
		{ { "f", "/usr/lib/libx.so", "src/x.c" }, NAME_MINE },
		{ { "f", "/home/me/bin/run", NULL, "/home/me/libshop.so.1" }, NAME_LIBRARY },
		{ { "f", "/home/me/bin/run", NULL, "/home/me/src/tool" }, NAME_MINE },
		{ { "f", "/home/me/bin/run", NULL, "/home/me/third_party/tool" }, NAME_LIBRARY },
		{ { "std::vector<int>::resize(int)", "/home/me/app", NULL }, NAME_MINE },
		{ { "void std::sort<int*>(int*, int*)", "/home/me/app", NULL }, NAME_LIBRARY },
	};

	(void)state;
	for (size_t i = 0; i < array_size(cases); i++) {
		const enum name_role role = role_of(&cases[i].subject, &all);

		if (role != cases[i].role)
			fail_msg("%s: %s", cases[i].subject.function, role_word(role));
	}
}

static void a_link_is_what_it_leads_to(void **state)
{
	const struct role_subject venv = { "f", "/home/me/venv/bin/run", NULL,
					   "/usr/bin/python3.11" };
	const struct role_subject built = { "f", "/usr/bin/python3", NULL, "/home/me/build/app" };

	(void)state;
	assert_int_equal(role_of(&venv, NULL), NAME_LIBRARY);
	assert_int_equal(role_of(&built, NULL), NAME_MINE);
}

static void the_recorder_is_no_part_of_the_program(void **state)
{
	(void)state;
	assert_int_equal(role_in("rec_thread_run", "/opt/libmemtape.so"), NAME_START);
	assert_int_equal(role_in("rec_thread_run", "/opt/libother.so"), NAME_MINE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machinery_is_known_by_name),
		cmocka_unit_test(whose_a_function_is_follows_from_its_name_source_and_module),
		cmocka_unit_test(users_have_the_last_word),
		cmocka_unit_test(a_link_is_what_it_leads_to),
		cmocka_unit_test(the_recorder_is_no_part_of_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
