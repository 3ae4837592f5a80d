#include "base/arena.h"

#include <assert.h>
#include <stdarg.h>

#include "base/big.h"

enum { BLOCK_BYTES_MIN = 16 << 10, BLOCK_BYTES_MAX = 16 << 20, ALIGN_BYTES = 16 };

struct arena_block {
	struct arena_block *next;
	_Alignas(ALIGN_BYTES) uint8_t bytes[];
};

static_assert(sizeof(struct arena_block) % ALIGN_BYTES == 0, "blocks keep the alignment");

static bool budget_take(struct arena_budget *budget, size_t bytes)
{
	if (!budget)
		return true;
	if (bytes > budget->max_bytes - budget->used_bytes) {
		budget->is_over = true;
		return false;
	}
	budget->used_bytes += bytes;
	return true;
}

void arena_release_budget(struct arena *arena)
{
	assert(!arena->budget || arena->budget->used_bytes >= arena->total_bytes);
	if (arena->budget)
		arena->budget->used_bytes -= arena->total_bytes;
	arena->budget = NULL;
}

/* Blocks grow with the arena, so that neither ten bytes nor ten gigabytes are wasteful. */
static bool arena_grow(struct arena *arena, size_t bytes)
{
	size_t block_bytes = u64_min(u64_max(arena->total_bytes, BLOCK_BYTES_MIN), BLOCK_BYTES_MAX);
	struct arena_block *block;
	size_t heap_bytes;

	if (block_bytes < bytes)
		block_bytes = bytes;
	if (size_add_overflows(block_bytes, sizeof(*block), &heap_bytes) ||
	    !budget_take(arena->budget, heap_bytes))
		return false;
	block = big_calloc(1, heap_bytes);
	if (!block)
		return false;
	block->next = arena->blocks;
	arena->blocks = block;
	arena->ptr = block->bytes;
	arena->rest = block_bytes;
	arena->total_bytes += heap_bytes;
	return true;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
	void *ptr;

	assert(arena->blocks || arena->rest == 0);
	if (bytes > SIZE_MAX - ALIGN_BYTES)
		return NULL;
	bytes = align_up(bytes ? bytes : 1, ALIGN_BYTES);
	if (bytes > arena->rest && !arena_grow(arena, bytes))
		return NULL;
	ptr = arena->ptr;
	arena->ptr += bytes;
	arena->rest -= bytes;
	return ptr;
}

void *arena_array(struct arena *arena, size_t count, size_t item_bytes)
{
	size_t bytes;

	assert(item_bytes > 0);
	return size_mul_overflows(count, item_bytes, &bytes) ? NULL : arena_alloc(arena, bytes);
}

char *arena_text(struct arena *arena, const char *text, size_t len)
{
	char *copy = len < SIZE_MAX ? arena_alloc(arena, len + 1) : NULL;

	assert(text || len == 0);
	if (copy && len > 0)
		memcpy(copy, text, len);
	return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return arena_text(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
	va_list args, again;
	char *text = NULL;
	int len;

	va_start(args, fmt);
	va_copy(again, args);
	len = vsnprintf(NULL, 0, fmt, args);
	if (len >= 0)
		text = arena_alloc(arena, (size_t)len + 1);
	if (text)
		vsnprintf(text, (size_t)len + 1, fmt, again);
	va_end(again);
	va_end(args);
	return text;
}

void arena_deinit(struct arena *arena)
{
	arena_release_budget(arena);
	while (arena->blocks) {
		struct arena_block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
	*arena = (struct arena) { 0 };
}
