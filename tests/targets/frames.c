/*
 * frames: functions whose frames are hard to walk: alloca and variable-length arrays, stacks
 * realigned for vectors, sibling calls, calls that never return, a nested call in an argument.
 *
 * Must be found:
 *	size 2901: 300 malloc in with_alloca, freed in with_alloca
 *	size 2902: 300 malloc in with_vla, freed in with_vla
 *	size 2903: 300 malloc in realigned, freed in realigned
 *	size 2904: 300 malloc in realigned_with_alloca, freed in realigned_with_alloca
 *	size 2905: 300 malloc in many_arguments, freed in many_arguments
 *	size 2906: 300 malloc in after_tail_call, freed in after_tail_call
 *	size 2907: 300 malloc in huge_frame, freed in huge_frame
 *	size 2908: 300 malloc in compare, freed in compare
 *	size 2909: 1 malloc in never_returns, leaked
 */
#include <alloca.h>
#include <string.h>

#include "target.h"

FRAME static void leaf(size_t size)
{
	free(need_block(malloc(size)));
	no_tail_call();
}

FRAME static void with_alloca(size_t n)
{
	char *area = alloca(n * 8 + 1);

	area[n] = 1;
	keep(area);
	leaf(2901);
	no_tail_call();
}

FRAME static void with_vla(size_t n)
{
	long area[n + 1];

	area[n] = 1;
	keep(area);
	for (size_t i = 0; i < 1; i++) {
		char inner[n * 3 + 1];

		keep(inner);
		leaf(2902);
	}
	no_tail_call();
}

FRAME static void realigned(size_t n)
{
	_Alignas(64) volatile double vector[16];

	vector[n % 16] = 1.0;
	NEED((uintptr_t)&vector[0] % 64 == 0);
	leaf(2903);
	no_tail_call();
}

FRAME static void realigned_with_alloca(size_t n)
{
	_Alignas(128) volatile double vector[16];
	char *area = alloca(n + 1);

	vector[n % 16] = 1.0;
	area[n] = 1;
	keep(area);
	NEED((uintptr_t)&vector[0] % 128 == 0);
	leaf(2904);
	no_tail_call();
}

FRAME static size_t many_arguments(size_t a, size_t b, size_t c, size_t d, size_t e, size_t f,
				   size_t g, size_t h, size_t i)
{
	leaf(2905);
	no_tail_call();
	return a + b + c + d + e + f + g + h + i;
}

FRAME static void after_tail_call(size_t n)
{
	leaf(2906);
	if (n == 1234567)
		puts("never");
	no_tail_call();
}

FRAME static void tail_caller(size_t n)
{
	volatile char area[100];

	area[n % 100] = 1;
	after_tail_call(n + (size_t)area[n % 100]);
}

FRAME static void huge_frame(size_t n)
{
	volatile char area[600000];

	area[n] = area[599999 - n] = 1;
	leaf(2907);
	no_tail_call();
}

FRAME static int compare(const void *a, const void *b)
{
	static int count;

	if (count++ < 300)
		leaf(2908);
	return *(const int *)a - *(const int *)b;
}

__attribute__((noreturn)) FRAME static void never_returns(int code)
{
	need_block(malloc(2909));
	exit(code);
}

int main(void)
{
	int numbers[200];

	for (size_t n = 0; n < 300; n++) {
		with_alloca(n);
		with_vla(n);
		realigned(n);
		realigned_with_alloca(n);
		NEED(many_arguments(n, 1, 2, 3, 4, 5, 6, 7, 8));
		tail_caller(n);
		huge_frame(n);
	}
	for (int i = 0; i < 200; i++)
		numbers[i] = i * 7919 % 200;
	qsort(numbers, 200, sizeof(numbers[0]), compare);
	puts("frames 300");
	fflush(stdout);
	never_returns(0);
}
