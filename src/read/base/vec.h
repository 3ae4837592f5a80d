/*
 * vec: a typed growing array.
 *
 *	VEC_DEFINE(numbers, uint64_t);
 *	struct numbers v = { 0 };
 *	if (!numbers_push(&v, 42))
 *		return err_nomem();
 *	... v.items[0 .. v.count - 1] ...
 *	numbers_deinit(&v);
 *
 * All zeros is an empty vector. Items move when it grows: keep indices, not pointers.
 */
#ifndef MEMTAPE_BASE_VEC_H
#define MEMTAPE_BASE_VEC_H

#include "base/clean.h"

/* Room for at least `wanted` items; false and unchanged when out of memory. */
bool vec_grow(void **items, size_t *capacity, size_t wanted, size_t item_bytes);

#define VEC_DEFINE(name, type)                                                                     \
	struct name {                                                                              \
		type *items;                                                                       \
		size_t count;                                                                      \
		size_t capacity;                                                                   \
	};                                                                                         \
	static inline bool name##_reserve(struct name *vec, size_t capacity)                       \
	{                                                                                          \
		void *items = vec->items;                                                          \
		bool ok = vec_grow(&items, &vec->capacity, capacity, sizeof(type));                \
		vec->items = items;                                                                \
		return ok;                                                                         \
	}                                                                                          \
	/* A new item at the end, uninitialised; NULL when out of memory. */                       \
	__attribute__((unused)) static inline type *name##_add(struct name *vec)                   \
	{                                                                                          \
		if (unlikely(vec->count == vec->capacity) && !name##_reserve(vec, vec->count + 1)) \
			return NULL;                                                               \
		return &vec->items[vec->count++];                                                  \
	}                                                                                          \
	__attribute__((unused)) static inline bool name##_push(struct name *vec, type item)        \
	{                                                                                          \
		type *place = name##_add(vec);                                                     \
		if (place)                                                                         \
			*place = item;                                                             \
		return place != NULL;                                                              \
	}                                                                                          \
	__attribute__((unused)) static inline void name##_deinit(struct name *vec)                 \
	{                                                                                          \
		free(vec->items);                                                                  \
		*vec = (struct name) { 0 };                                                        \
	}                                                                                          \
	CLEAN_DEFINE_DEINIT(name##_deinit, struct name)

VEC_DEFINE(vec_u8, uint8_t);
VEC_DEFINE(vec_u32, uint32_t);
VEC_DEFINE(vec_u64, uint64_t);

#endif
