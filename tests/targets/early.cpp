/*
 * early: allocations before main - in a preinit function, which comes before every constructor, in
 * those of a library, in an ifunc resolver's caller, in static initialisers - and after main.
 *
 * Must be found:
 *	size 3301: 1 malloc in library_constructor, freed in library_constructor
 *	size 3302: 1 calloc in library_constructor, leaked
 *	size 3303: 1 malloc in library_destructor, freed in library_destructor
 *	size 3304: 1 malloc in preinit, leaked
 *	size 3305: 1 operator new in make_static, freed in destroy_static
 *	size 3306: 1 malloc in constructor, freed in destructor
 *	size 3307: 1 malloc in chosen_by_ifunc, freed in main
 */
#include "target.h"

extern "C" void early_lib_use(void);

FRAME static void preinit(int, char **, char **)
{
	need_block(malloc(3304));
	no_tail_call();
}

__attribute__((section(".preinit_array"),
	       used)) static void (*const preinit_entry)(int, char **, char **) = preinit;

FRAME static void *make_static()
{
	return need_block(::operator new(3305));
}

FRAME static void destroy_static(void *block)
{
	::operator delete(block);
	no_tail_call();
}

static struct static_object {
	void *block = make_static();
	~static_object()
	{
		destroy_static(block);
	}
} object;

static void *constructor_block;

FRAME __attribute__((constructor)) static void constructor()
{
	constructor_block = need_block(malloc(3306));
}

FRAME __attribute__((destructor)) static void destructor()
{
	free(constructor_block);
	no_tail_call();
}

typedef void *chosen_fn();

extern "C" FRAME void *chosen_by_ifunc()
{
	return need_block(malloc(3307));
}

extern "C" chosen_fn *choose()
{
	return chosen_by_ifunc;
}

extern "C" void *by_ifunc() __attribute__((ifunc("choose")));

int main()
{
	early_lib_use();
	free(by_ifunc());
	puts("early");
	return 0;
}
