/*
 * operators: every form of operator new and delete, as the caller meant it, and pairs that do not
 * match. Nothing is counted twice although the operators of libstdc++ call malloc.
 *
 * Must be found:
 *	size 1301: 3 operator new in call_new, freed in call_delete
 *	size 1302: 2 operator new[] in call_new_array, freed in call_delete_array
 *	size 1303: 1 operator new(nothrow) in call_new_nothrow, freed in call_delete
 *	size 1304: 1 operator new[](nothrow) in call_new_nothrow, freed in call_delete_array
 *	size 1344: 3 operator new(align) in new_aligned, freed in delete_aligned
 *	size 1408: 3 operator new[](align) in new_aligned, freed in delete_aligned_array
 *	size 1472: 1 operator new(align, nothrow) in new_aligned, freed in delete_aligned
 *	size 1536: 1 operator new[](align, nothrow) in new_aligned, freed in delete_aligned_array
 *	size 1311: 1 operator new in call_mismatched, freed in call_mismatched
 *	size 1312: 1 malloc in call_mismatched, freed in call_mismatched
 *	size 1313: 1 operator new[] in call_mismatched, freed in call_mismatched
 *	size 1399: 1 operator new in call_new, leaked
 */
#include <initializer_list>
#include <new>

#include "target.h"

static const std::align_val_t ALIGN = std::align_val_t(64);

enum delete_form { PLAIN, SIZED, NOTHROW };

FRAME static void call_delete(void *block, delete_form form, size_t size)
{
	if (form == PLAIN)
		::operator delete(block);
	else if (form == SIZED)
		::operator delete(block, size);
	else
		::operator delete(block, std::nothrow);
	no_tail_call();
}

FRAME static void call_delete_array(void *block, delete_form form, size_t size)
{
	if (form == PLAIN)
		::operator delete[](block);
	else if (form == SIZED)
		::operator delete[](block, size);
	else
		::operator delete[](block, std::nothrow);
	no_tail_call();
}

FRAME static void delete_aligned(void *block, delete_form form, size_t size)
{
	if (form == PLAIN)
		::operator delete(block, ALIGN);
	else if (form == SIZED)
		::operator delete(block, size, ALIGN);
	else
		::operator delete(block, ALIGN, std::nothrow);
	no_tail_call();
}

FRAME static void delete_aligned_array(void *block, delete_form form, size_t size)
{
	if (form == PLAIN)
		::operator delete[](block, ALIGN);
	else if (form == SIZED)
		::operator delete[](block, size, ALIGN);
	else
		::operator delete[](block, ALIGN, std::nothrow);
	no_tail_call();
}

FRAME static void call_new()
{
	call_delete(need_block(::operator new(1301)), PLAIN, 1301);
	call_delete(need_block(::operator new(1301)), SIZED, 1301);
	call_delete(need_block(::operator new(1301)), NOTHROW, 1301);
	need_block(::operator new(1399));
}

FRAME static void call_new_array()
{
	call_delete_array(need_block(::operator new[](1302)), PLAIN, 1302);
	call_delete_array(need_block(::operator new[](1302)), SIZED, 1302);
}

FRAME static void call_new_nothrow()
{
	call_delete(need_block(::operator new(1303, std::nothrow)), PLAIN, 1303);
	call_delete_array(need_block(::operator new[](1304, std::nothrow)), NOTHROW, 1304);
}

FRAME static void new_aligned()
{
	for (delete_form form : { PLAIN, SIZED, NOTHROW }) {
		delete_aligned(need_block(::operator new(1344, ALIGN)), form, 1344);
		delete_aligned_array(need_block(::operator new[](1408, ALIGN)), form, 1408);
	}
	delete_aligned(need_block(::operator new(1472, ALIGN, std::nothrow)), PLAIN, 1472);
	delete_aligned_array(need_block(::operator new[](1536, ALIGN, std::nothrow)), PLAIN, 1536);
}

FRAME static void call_mismatched()
{
	free(need_block(::operator new(1311)));
	::operator delete(need_block(malloc(1312)));
	::operator delete(need_block(::operator new[](1313)));
	::operator delete(nullptr);
	no_tail_call();
}

int main()
{
	call_new();
	call_new_array();
	call_new_nothrow();
	new_aligned();
	call_mismatched();
	return 0;
}
