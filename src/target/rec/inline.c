/*
 * inline: functions of the allocator whose first instructions lead to us, in a process that is attached
 * to. Who attaches does that from outside, while all threads stand still (collect/attach_inline.h). What
 * is here says which functions there are, and passes calls on to what it made of those instructions,
 * for the function itself leads to us from then on.
 */
#include "rec/attach.h"

#include "core/poison.h"

/* As in attach.c. */
#define HOOK_NAME(symbol) extern void attach_hook_##symbol(void) __asm__(#symbol);
#include "rec/hooks.def"

#define ROW(symbol) { #symbol, attach_hook_##symbol, offsetof(struct rec_real, symbol) },

/* Those that allocate and free; one that has several names gets the hook of the first. */
static const struct {
	const char *name;
	void (*hook)(void);
	size_t offset;
} rows[] = {
#define HOOK_ALLOC(symbol, fn)		 ROW(symbol)
#define HOOK_CALLOC(symbol, fn)		 ROW(symbol)
#define HOOK_ALIGNED(symbol, fn)	 ROW(symbol)
#define HOOK_POSIX(symbol, fn)		 ROW(symbol)
#define HOOK_REALLOC(symbol, fn)	 ROW(symbol)
#define HOOK_REALLOCARRAY(symbol, fn)	 ROW(symbol)
#define HOOK_FREE(symbol, fn)		 ROW(symbol)
#define HOOK_FREE_SIZED(symbol, fn)	 ROW(symbol)
#define HOOK_FREE_ALIGNED(symbol, fn)	 ROW(symbol)
#define HOOK_NEW(symbol, fn)		 ROW(symbol)
#define HOOK_NEW_TAG(symbol, fn)	 ROW(symbol)
#define HOOK_NEW_ALIGNED_TAG(symbol, fn) ROW(symbol)
#define HOOK_DELETE(symbol, fn)		 ROW(symbol)
#define HOOK_DELETE_2(symbol, fn)	 ROW(symbol)
#define HOOK_DELETE_3(symbol, fn)	 ROW(symbol)
#include "rec/hooks.def"
};

/* Written by who attaches, or on the thread that it makes call us; beside rows. */
static struct tape_attach_function functions[array_size(rows)];

static uint64_t member_get(const struct rec_real *real, size_t offset)
{
	arch_word address;

	memcpy(&address, (const uint8_t *)real + offset, sizeof(address));
	return address;
}

static void member_set(struct rec_real *real, size_t offset, uint64_t value)
{
	const arch_word address = (arch_word)value;

	memcpy((uint8_t *)real + offset, &address, sizeof(address));
}

static bool is_first(size_t index, uint64_t address)
{
	for (size_t i = 0; i < index; i++)
		if (functions[i].real == address)
			return false;
	return true;
}

static bool leads_to_us(const struct tape_attach_function *function)
{
	return function->way &&
	       rec_is_readable_word(
		       (const uint64_t *)(uintptr_t)(function->place & ~UINT64_C(7))) &&
	       memcmp((const void *)(uintptr_t)function->place, function->after,
		      TAPE_ATTACH_JUMP_BYTES) == 0;
}

/*
 * Of a forked child of a process that was attached to they lead to us from its beginning: where a real
 * function was found, there is the way to it then.
 */
void rec_inline_found(struct rec_real *found)
{
	for (size_t i = 0; rec_is_attach && i < array_size(rows); i++) {
		const uint64_t real = member_get(found, rows[i].offset);

		for (size_t k = 0; real && k < array_size(functions); k++)
			if (functions[k].real == real && leads_to_us(&functions[k]))
				member_set(found, rows[i].offset, functions[k].way);
	}
}

void rec_inline_tell(struct tape_attach *asked)
{
	asked->functions = (uintptr_t)functions;
	asked->function_count = array_size(functions);
}

/* What was filled in for another function is of no use. */
void rec_inline_begin(void)
{
	for (size_t i = 0; i < array_size(rows); i++) {
		const uint64_t real = rec_attach_real(rows[i].name);
		const uint64_t address = is_first(i, real) ? real : 0;

		if (functions[i].real != address)
			functions[i] = (struct tape_attach_function) { .real = address };
		functions[i].hook = (uintptr_t)rows[i].hook;
	}
}

void rec_inline(struct tape_attach *asked)
{
	for (size_t i = 0; i < array_size(functions); i++)
		if (functions[i].way)
			rec_real_divert(functions[i].real, functions[i].way);
	rec_inline_tell(asked);
	asked->result = TAPE_ATTACH_DONE;
}
