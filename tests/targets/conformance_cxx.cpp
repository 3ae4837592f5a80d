/*
 * conformance_cxx: the same for operator new and delete: sizes that must throw, nothrow that must
 * not, what the new handler sees, alignment, new(0). Compared line by line, see conformance.c.
 */
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <malloc.h>
#include <new>

#include "target.h"

static const volatile size_t SIZES[] = { 0,   1,    8,	  16,	24,   25,    32,     100,    128,
					 512, 1000, 1024, 4096, 8192, 65536, 131072, 1048576 };
static const volatile size_t TOO_BIG[] = { SIZE_MAX,	     SIZE_MAX - 16, SIZE_MAX - 4096,
					   SIZE_MAX / 2 + 1, SIZE_MAX / 2,  (size_t)1 << 50 };
static const size_t ALIGNS[] = { 16, 32, 64, 128, 4096, 65536 };

static unsigned handler_calls;

static void say_block(const char *what, size_t size, void *block, size_t align)
{
	int error = errno;

	if (block) {
		if (malloc_usable_size(block) < 16)
			align = 8; /* enough for so small a block, say some */
		printf("%s(%zx) aligned %d usable %zu errno %d\n", what, size,
		       (uintptr_t)block % align == 0, malloc_usable_size(block), error);
		memset(block, 0x5a, malloc_usable_size(block));
	} else {
		printf("%s(%zx) = NULL errno %d\n", what, size, error);
	}
	errno = 71;
}

static void handler()
{
	if (++handler_calls % 3 == 0)
		std::set_new_handler(nullptr);
}

static void throwing_handler()
{
	handler_calls++;
	throw std::bad_alloc();
}

template <typename Call> static void say_throw(const char *what, size_t size, Call call)
{
	errno = 0;
	try {
		void *block = keep(call());

		printf("%s(%zx) did not throw, NULL %d\n", what, size, block == nullptr);
	} catch (const std::bad_alloc &error) {
		printf("%s(%zx) threw %s errno %d handler %u\n", what, size, error.what(), errno,
		       handler_calls);
	} catch (...) {
		printf("%s(%zx) threw something else\n", what, size);
	}
}

static void check_plain()
{
	for (size_t size : SIZES) {
		void *block = keep(::operator new(size));

		say_block("new", size, block, 16);
		::operator delete(block);
		block = keep(::operator new[](size));
		say_block("new[]", size, block, 16);
		::operator delete[](block, size);
		block = keep(::operator new(size, std::nothrow));
		say_block("new nothrow", size, block, 16);
		::operator delete(block, std::nothrow);
		block = keep(::operator new[](size, std::nothrow));
		say_block("new[] nothrow", size, block, 16);
		::operator delete[](block);
		printf("errno after delete %d\n", errno);
	}
}

static void check_aligned()
{
	for (size_t bytes : ALIGNS) {
		for (size_t size : SIZES) {
			std::align_val_t align = std::align_val_t(bytes);
			void *block = keep(::operator new(size, align));

			say_block("new aligned", size, block, bytes);
			::operator delete(block, align);
			block = keep(::operator new[](size, align, std::nothrow));
			say_block("new[] aligned nothrow", size, block, bytes);
			::operator delete[](block, size, align);
		}
	}
}

static void check_too_big()
{
	std::align_val_t align = std::align_val_t(64);

	for (size_t size : TOO_BIG) {
		say_throw("new", size, [=] { return ::operator new(size); });
		say_throw("new[]", size, [=] { return ::operator new[](size); });
		say_throw("new aligned", size, [=] { return ::operator new(size, align); });
		say_throw("new[] aligned", size, [=] { return ::operator new[](size, align); });
		say_throw("nothrow", size, [=] { return ::operator new(size, std::nothrow); });
		say_throw("[] nothrow", size, [=] { return ::operator new[](size, std::nothrow); });
		say_throw("aligned nothrow", size,
			  [=] { return ::operator new(size, align, std::nothrow); });
	}
}

struct constructor_throws {
	char bytes[100];
	constructor_throws()
	{
		throw 5;
	}
};

static void check_constructor()
{
	for (int i = 0; i < 100; i++) {
		try {
			keep(new constructor_throws);
		} catch (int five) {
			if (i % 10 == 0)
				printf("constructor threw %d\n", five);
		}
	}
	delete (int *)keep(nullptr);
	delete[](int *) keep(nullptr);
}

int main()
{
	setvbuf(stdout, nullptr, _IOLBF, 0);
	check_plain();
	check_aligned();
	check_too_big();
	std::set_new_handler(handler);
	check_too_big();
	std::set_new_handler(throwing_handler);
	check_too_big();
	std::set_new_handler(nullptr);
	check_constructor();
	check_plain();
	return 0;
}
