#include "../test.h"

#include "model/roles.h"

static const struct {
	const char *function;
	enum name_role role;
} rows[] = {
	{ "main", NAME_PROGRAM },
	{ "free_list_push", NAME_PROGRAM },
	{ "malloc", NAME_ALLOCATOR },
	{ "malloc_stats_print", NAME_PROGRAM },
	{ "_int_malloc", NAME_ALLOCATOR },
	{ "operator new(unsigned long)", NAME_ALLOCATOR },
	{ "app::operator new_thing(int)", NAME_PROGRAM },
	{ "xmalloc", NAME_ALLOCATOR },
	{ "xmalloc_tree", NAME_PROGRAM },
	{ "_PyMem_RawMalloc", NAME_ALLOCATOR },
	{ "std::allocator_traits<std::allocator<int> >::allocate(std::allocator<int>&, "
	  "unsigned long)",
	  NAME_ALLOCATOR },
	{ "std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&)", NAME_ALLOCATOR },
	{ "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&)",
	  NAME_ALLOCATOR },
	{ "std::vector<int, std::allocator<int> >::push_back(int const&)", NAME_PROGRAM },
	{ "std::_Rb_tree<int, int>::_Auto_node::_Auto_node(int)", NAME_ALLOCATOR },
	{ "std::_Rb_tree_node<int>* std::_Rb_tree<int>::_M_create_node<int>(int)", NAME_ALLOCATOR },
	{ "std::map<int, int>::operator[](int&&)", NAME_PROGRAM },
	{ "std::__cxx11::basic_string<char>::basic_string(char const*)", NAME_PROGRAM },
	{ "std::__cxx11::basic_string<char>::_M_create(unsigned long&, unsigned long)",
	  NAME_ALLOCATOR },
	{ "std::__1::vector<int>::push_back(int)", NAME_PROGRAM },
	{ "std::__1::__split_buffer<int>::__split_buffer()", NAME_ALLOCATOR },
	{ "std::__invoke_impl<void, app::run>(app::run&&)", NAME_ALLOCATOR },
	/* Library types among arguments do not make a program's function a library's. */
	{ "app::insert(std::_Rb_tree<int>&)", NAME_PROGRAM },
	{ "app::Cache<std::_Rb_tree<int> >::insert(int)", NAME_PROGRAM },
	{ "std::_Rb_tree_iterator<int> app::find<int>(int)", NAME_PROGRAM },
	{ "__rust_alloc", NAME_ALLOCATOR },
	{ "alloc::raw_vec::RawVec<T,A>::reserve_for_push", NAME_ALLOCATOR },
	{ "<alloc::alloc::Global>::alloc_impl_runtime", NAME_ALLOCATOR }, /* rustc 1.95 */
	{ "<alloc::alloc::Global>::grow_impl", NAME_ALLOCATOR },
	{ "<alloc::alloc::Global as core::alloc::Allocator>::allocate", NAME_ALLOCATOR },
	{ "<alloc::raw_vec::RawVecInner<_>>::try_allocate_in", NAME_ALLOCATOR },
	{ "<<alloc::raw_vec::RawVec<T> as core::clone::Clone>::clone", NAME_ALLOCATOR },
	{ "__rustc::__rust_alloc", NAME_ALLOCATOR },
	{ "__rustc::__rdl_realloc", NAME_ALLOCATOR },
	{ "__rustc::rust_panic", NAME_PROGRAM },
	{ "hashbrown::raw::alloc::inner::do_alloc", NAME_ALLOCATOR },
	{ "hashbrown::raw::RawTableInner::resize_inner", NAME_PROGRAM },
	{ "<app::Pool as core::alloc::global::GlobalAlloc>::alloc", NAME_PROGRAM },
	{ "alloc::vec::Vec<T,A>::push", NAME_PROGRAM },
	{ "_start", NAME_START },
	{ "_start_engine", NAME_PROGRAM },
	{ "__libc_start_main_impl", NAME_START },
	{ "clone3", NAME_START },
	{ "cloned", NAME_PROGRAM },
	{ "std::rt::lang_start::{{closure}}", NAME_START },
	{ "", NAME_PROGRAM },
	{ "std::", NAME_PROGRAM },
	{ "std::vector<", NAME_PROGRAM },
};

static void machinery_is_known_by_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_size(rows); i++) {
		if (role_of(rows[i].function, "app") != rows[i].role)
			fail_msg("%s", rows[i].function);
	}
}

static void the_recorder_is_no_part_of_the_program(void **state)
{
	(void)state;
	assert_int_equal(role_of("rec_thread_run", "libmemtape.so"), NAME_START);
	assert_int_equal(role_of("rec_thread_run", "libother.so"), NAME_PROGRAM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machinery_is_known_by_name),
		cmocka_unit_test(the_recorder_is_no_part_of_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
