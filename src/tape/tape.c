#include "tape/tape.h"

#include "core/poison.h"

struct fn_row {
	const char *name;
	enum tape_event_class class;
};

static const struct fn_row FN_ROWS[TAPE_FN_COUNT] = {
	[TAPE_FN_MALLOC] = { "malloc", TAPE_CLASS_ALLOC },
	[TAPE_FN_FREE] = { "free", TAPE_CLASS_FREE },
	[TAPE_FN_CALLOC] = { "calloc", TAPE_CLASS_ALLOC },
	[TAPE_FN_REALLOC_OUT] = { "realloc", TAPE_CLASS_REALLOC_OUT },
	[TAPE_FN_REALLOC] = { "realloc", TAPE_CLASS_ALLOC },
	[TAPE_FN_REALLOC_IN] = { "realloc", TAPE_CLASS_REALLOC_IN },
	[TAPE_FN_REALLOC_FAIL] = { "realloc", TAPE_CLASS_REALLOC_FAIL },
	[TAPE_FN_REALLOCARRAY] = { "reallocarray", TAPE_CLASS_ALLOC },
	[TAPE_FN_REALLOCARRAY_OUT] = { "reallocarray", TAPE_CLASS_REALLOC_OUT },
	[TAPE_FN_REALLOCARRAY_IN] = { "reallocarray", TAPE_CLASS_REALLOC_IN },
	[TAPE_FN_REALLOCARRAY_FAIL] = { "reallocarray", TAPE_CLASS_REALLOC_FAIL },
	[TAPE_FN_REALLOC_FREE] = { "realloc", TAPE_CLASS_FREE },
	[TAPE_FN_POSIX_MEMALIGN] = { "posix_memalign", TAPE_CLASS_ALLOC },
	[TAPE_FN_ALIGNED_ALLOC] = { "aligned_alloc", TAPE_CLASS_ALLOC },
	[TAPE_FN_MEMALIGN] = { "memalign", TAPE_CLASS_ALLOC },
	[TAPE_FN_VALLOC] = { "valloc", TAPE_CLASS_ALLOC },
	[TAPE_FN_PVALLOC] = { "pvalloc", TAPE_CLASS_ALLOC },
	[TAPE_FN_FREE_SIZED] = { "free_sized", TAPE_CLASS_FREE },
	[TAPE_FN_FREE_ALIGNED_SIZED] = { "free_aligned_sized", TAPE_CLASS_FREE },
	[TAPE_FN_NEW] = { "operator new", TAPE_CLASS_ALLOC },
	[TAPE_FN_NEW_ARRAY] = { "operator new[]", TAPE_CLASS_ALLOC },
	[TAPE_FN_NEW_NOTHROW] = { "operator new(nothrow)", TAPE_CLASS_ALLOC },
	[TAPE_FN_NEW_ARRAY_NOTHROW] = { "operator new[](nothrow)", TAPE_CLASS_ALLOC },
	[TAPE_FN_NEW_ALIGNED] = { "operator new(align)", TAPE_CLASS_ALLOC },
	[TAPE_FN_NEW_ARRAY_ALIGNED] = { "operator new[](align)", TAPE_CLASS_ALLOC },
	[TAPE_FN_NEW_ALIGNED_NOTHROW] = { "operator new(align, nothrow)", TAPE_CLASS_ALLOC },
	[TAPE_FN_NEW_ARRAY_ALIGNED_NOTHROW] = { "operator new[](align, nothrow)",
						TAPE_CLASS_ALLOC },
	[TAPE_FN_DELETE] = { "operator delete", TAPE_CLASS_FREE },
	[TAPE_FN_DELETE_ARRAY] = { "operator delete[]", TAPE_CLASS_FREE },
	[TAPE_FN_DELETE_NOTHROW] = { "operator delete(nothrow)", TAPE_CLASS_FREE },
	[TAPE_FN_DELETE_ARRAY_NOTHROW] = { "operator delete[](nothrow)", TAPE_CLASS_FREE },
	[TAPE_FN_DELETE_SIZED] = { "operator delete(size)", TAPE_CLASS_FREE },
	[TAPE_FN_DELETE_ARRAY_SIZED] = { "operator delete[](size)", TAPE_CLASS_FREE },
	[TAPE_FN_DELETE_ALIGNED] = { "operator delete(align)", TAPE_CLASS_FREE },
	[TAPE_FN_DELETE_ARRAY_ALIGNED] = { "operator delete[](align)", TAPE_CLASS_FREE },
	[TAPE_FN_DELETE_ALIGNED_NOTHROW] = { "operator delete(align, nothrow)", TAPE_CLASS_FREE },
	[TAPE_FN_DELETE_ARRAY_ALIGNED_NOTHROW] = { "operator delete[](align, nothrow)",
						   TAPE_CLASS_FREE },
	[TAPE_FN_DELETE_SIZED_ALIGNED] = { "operator delete(size, align)", TAPE_CLASS_FREE },
	[TAPE_FN_DELETE_ARRAY_SIZED_ALIGNED] = { "operator delete[](size, align)",
						 TAPE_CLASS_FREE },
	[TAPE_FN_CFREE] = { "cfree", TAPE_CLASS_FREE },
};

const char *tape_fn_name(enum tape_fn fn)
{
	return fn < TAPE_FN_COUNT ? FN_ROWS[fn].name : NULL;
}

enum tape_event_class tape_fn_class(enum tape_fn fn)
{
	if (fn == TAPE_FN_EXTENDED)
		return TAPE_CLASS_EXTENDED;
	if (fn == TAPE_FN_LATENCY)
		return TAPE_CLASS_LATENCY;
	return fn < TAPE_FN_COUNT ? FN_ROWS[fn].class : TAPE_CLASS_INVALID;
}
