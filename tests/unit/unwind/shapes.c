#include "shapes.h"

#include <alloca.h>
#include <dlfcn.h>
#include <search.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

typedef double wide __attribute__((vector_size(32)));

/* Something the optimizer has to keep. */
static NOINLINE void keep(void *ptr)
{
	__asm__ volatile("" : : "r"(ptr) : "memory");
}

static NOINLINE long innermost(void (*callback)(void), int size)
{
	callback();
	return size;
}

static NOINLINE long recurse(void (*callback)(void), int size)
{
	if (size == 0)
		return innermost(callback, size);
	return recurse(callback, size - 1) + size;
}

static NOINLINE long many_registers(void (*callback)(void), int size)
{
	long a = size, b = size * 3, c = size ^ 5, d = size + 7, e = size - 9, f = size << 1;

	a += innermost(callback, (int)b);
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
	return a + b + c + d + e + f + innermost(callback, (int)a);
}

static NOINLINE long dynamic_stack(void (*callback)(void), int size)
{
	char *ptr = alloca((size_t)size * 37 + 1);

	memset(ptr, size, (size_t)size + 1);
	keep(ptr);
	return innermost(callback, size) + ptr[size / 2];
}

static NOINLINE long variable_array(void (*callback)(void), int size)
{
	long sum = 0;

	for (int i = 1; i < 4; i++) {
		long array[size * i + 1];

		array[size] = size;
		keep(array);
		sum += innermost(callback, i) + array[size];
	}
	return sum;
}

static NOINLINE long big_frame(void (*callback)(void), int size)
{
	char big[300000];

	big[size] = (char)size;
	keep(big);
	return innermost(callback, size) + big[size];
}

static NOINLINE long realigned(void (*callback)(void), int size)
{
	wide __attribute__((aligned(64))) value = { size, size + 1, size + 2, size + 3 };

	keep(&value);
	return innermost(callback, size) + (long)value[2];
}

/* Realigned, dynamic and with arguments on the stack: gcc needs another register for those. */
static NOINLINE long realigned_dynamic(void (*callback)(void), int a, int b, int c, int d, int e,
				       int f, int g)
{
	wide __attribute__((aligned(64))) value = { a, b, c, d };
	char *ptr = alloca((size_t)(e + f + g + 16));

	ptr[0] = (char)g;
	keep(ptr);
	keep(&value);
	return innermost(callback, g) + (long)value[1] + ptr[0] + f;
}

static NOINLINE long realigned_with_arguments(void (*callback)(void), int size)
{
	return realigned_dynamic(callback, size, 2, 3, 4, 5, 6, size) + size;
}

struct block {
	long words[40];
};

static NOINLINE long by_value(void (*callback)(void), struct block block, int size)
{
	return innermost(callback, size) + block.words[size % 40];
}

static NOINLINE long stack_arguments(void (*callback)(void), int size)
{
	struct block block = { { size, 2, 3 } };

	keep(&block);
	return by_value(callback, block, size) + size;
}

static NOINLINE long nested_function(void (*callback)(void), int size)
{
	struct block block = { { size } };

	block.words[1] = innermost(callback, size);
	keep(&block);
	return block.words[1] + block.words[0];
}

static NOINLINE long early_exits(void (*callback)(void), int size)
{
	long sum = size;

	if (size % 3 == 0)
		return innermost(callback, size);
	for (int i = 0; i < size; i++) {
		if (i == 5)
			return sum;
		sum += innermost(callback, i) * i;
	}
	keep(&sum);
	return sum;
}

static NOINLINE long tail_call(void (*callback)(void), int size)
{
	return recurse(callback, size % 3);
}

static jmp_buf jump_buffer;

/* The call is the function's last instruction: its return address lies in the next function. */
static NOINLINE __attribute__((noreturn)) void never_returns(void (*callback)(void), int size)
{
	innermost(callback, size);
	longjmp(jump_buffer, 1);
}

static NOINLINE __attribute__((noreturn)) void ends_with_a_call(void (*callback)(void), int size)
{
	never_returns(callback, size + 1);
}

static NOINLINE long no_return(void (*callback)(void), int size)
{
	if (setjmp(jump_buffer) == 0)
		ends_with_a_call(callback, size);
	return size;
}

static void (*compare_callback)(void);

static int compare_ints(const void *left, const void *right)
{
	compare_callback();
	return *(const int *)left - *(const int *)right;
}

static NOINLINE long through_qsort(void (*callback)(void), int size)
{
	int array[] = { 5, size, 3, 8, 1 };

	compare_callback = callback;
	qsort(array, 5, sizeof(array[0]), compare_ints);
	return array[2];
}

static NOINLINE long through_bsearch(void (*callback)(void), int size)
{
	int array[] = { 1, 2, 3, 4, size };

	compare_callback = callback;
	return bsearch(&array[4], array, 5, sizeof(array[0]), compare_ints) != NULL;
}

static NOINLINE long through_tree(void (*callback)(void), int size)
{
	int keys[] = { 4, 2, size, 1 };
	void *root = NULL;

	compare_callback = callback;
	for (int i = 0; i < 4; i++)
		tsearch(&keys[i], &root, compare_ints);
	for (int i = 0; i < 4; i++)
		tdelete(&keys[i], &root, compare_ints);
	return keys[1];
}

static _Unwind_Reason_Code unwound(struct _Unwind_Context *context, void *callback)
{
	(void)context;
	((void (*)(void))callback)();
	return _URC_END_OF_STACK;
}

/* The compiler's own: libunwind, which the program is linked with, has functions of that name. */
static _Unwind_Reason_Code (*unwind_backtrace)(_Unwind_Trace_Fn, void *);

__attribute__((constructor)) static void find_unwinder(void)
{
	void *library = dlopen("libgcc_s.so.1", RTLD_NOW);

	if (library)
		unwind_backtrace = dlsym(library, "_Unwind_Backtrace");
}

/* The frames of the unwinder that C++ exceptions run in. */
static NOINLINE long through_unwinder(void (*callback)(void), int size)
{
	return (long)unwind_backtrace(unwound, (void *)callback) + size;
}

static NOINLINE long in_the_library(void (*callback)(void), int size)
{
	char text[64], copy[64];
	void *ptr = malloc((size_t)size * 100 + 1);

	snprintf(text, sizeof(text), "%d %s %.3f", size, "text", (double)size / 3);
	memcpy(copy, text, sizeof(text));
	ptr = realloc(ptr, (size_t)size * 1000);
	keep(ptr);
	free(ptr);
	return innermost(callback, size) + strtol(copy, NULL, 10) + (long)strlen(text);
}

const struct shape SHAPES_NAME[SHAPES_MAX] = {
	{ "innermost", innermost },
	{ "recurse", recurse },
	{ "many registers", many_registers },
	{ "dynamic stack", dynamic_stack },
	{ "variable array", variable_array },
	{ "big frame", big_frame },
	{ "realigned", realigned },
	{ "realigned with arguments", realigned_with_arguments },
	{ "stack arguments", stack_arguments },
	{ "nested function", nested_function },
	{ "early exits", early_exits },
	{ "tail call", tail_call },
	{ "no return", no_return },
	{ "through qsort", through_qsort },
	{ "through bsearch", through_bsearch },
	{ "through tsearch", through_tree },
	{ "through the unwinder", through_unwinder },
	{ "in the library", in_the_library },
};
