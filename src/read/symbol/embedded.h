/*
 * embedded: the names of many objects in one block of bytes, as a tape carries them. Layout:
 * "MTSYMBOL", then for each object u32 length of path, u32 length of build-id, u64 length of pack;
 * path; build-id; zeros up to a multiple of 8; the pack (symbol/pack.h); zeros again.
 *
 * A view borrows the bytes and is immutable and thread-safe.
 */
#ifndef MEMTAPE_SYMBOL_EMBEDDED_H
#define MEMTAPE_SYMBOL_EMBEDDED_H

#include "symbol/pack.h"

struct embedded_object {
	const char *path; /* path_len bytes, no NUL after them */
	size_t path_len;
	const uint8_t *build_id;
	size_t build_id_bytes;
	struct pack pack;
};

VEC_DEFINE(embedded_object_vec, struct embedded_object);

struct embedded {
	struct embedded_object_vec objects;
};

/* bytes are 8-aligned and outlive the view. ERR_FORMAT: they are damaged. */
struct err *embedded_view(const void *bytes, size_t size, struct embedded *embedded_ret);
void embedded_deinit(struct embedded *embedded);
CLEAN_DEFINE_DEINIT(embedded_deinit, struct embedded);

/* NULL: nothing is known of this object. */
const struct pack *embedded_find(const struct embedded *embedded, const char *path,
				 const uint8_t *build_id, size_t build_id_bytes);

/* Appends to out, which is empty at first and always aligned. False: out of memory. */
bool embedded_add(struct vec_u8 *out, const char *path, const uint8_t *build_id,
		  size_t build_id_bytes, uint32_t state, struct pack_builder *builder);

#endif
