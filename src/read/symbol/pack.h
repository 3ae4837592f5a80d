/*
 * pack: names at addresses of one object - functions, files, lines, inlined calls - as bytes, for
 * the cache and for tapes that go to another machine.
 *
 * Layout, little-endian: struct pack_header; places sorted by address, each address once; frames;
 * NUL-terminated strings. A view borrows the bytes. Bytes are untrusted: pack_view checks all of
 * them before any are used. A view is immutable and thread-safe.
 */
#ifndef MEMTAPE_SYMBOL_PACK_H
#define MEMTAPE_SYMBOL_PACK_H

#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

enum {
	PACK_VERSION = 1,
	PACK_FRAMES_MAX = 64 /* of one address: inlined into each other */
};

static const uint32_t PACK_NO_TEXT = UINT32_MAX;

ARCH_LITTLE_BEGIN

struct pack_header {
	char magic[8]; /* "MTNAMES\n" */
	uint32_t version;
	uint32_t state; /* enum symbol_state when it was written */
	uint32_t place_count;
	uint32_t frame_count;
	uint32_t string_bytes;
	uint32_t reserved;
	uint64_t identity; /* the cache's: of the files that the names came from */
	uint64_t checksum; /* hash_bytes of everything after the header */
};

struct pack_place {
	uint64_t address;
	uint32_t first; /* of its frames, innermost first */
	uint32_t count;
};

/* And from a bit on the column, from 1; 0 is also written if it was not requested. */
enum pack_frame_flag { PACK_FRAME_INLINED = 1, PACK_FRAME_KNOWN = 2, PACK_FRAME_COLUMN_SHIFT = 16 };

struct pack_frame {
	uint32_t function; /* offset in strings */
	uint32_t file;	   /* offset in strings; PACK_NO_TEXT */
	uint32_t line;
	uint32_t flags; /* enum pack_frame_flag */
};

ARCH_LITTLE_END

struct pack {
	const struct pack_header *header;
	const struct pack_place *places;
	const struct pack_frame *frames;
	const char *strings;
};

/* bytes are 8-aligned and outlive the view. ERR_FORMAT: they are not a pack. */
struct err *pack_view(const void *bytes, size_t size, struct pack *pack_ret);

/* NULL: nothing is known of this address. */
const struct pack_place *pack_find(const struct pack *pack, uint64_t address);

VEC_DEFINE(pack_place_vec, struct pack_place);
VEC_DEFINE(pack_frame_vec, struct pack_frame);

/* A pack under construction; all zeros is an empty one. */
struct pack_builder {
	struct pack_place_vec places;
	struct pack_frame_vec frames;
	struct interner texts;
	struct vec_u32 offsets; /* by number of the text */
	struct str strings;
	bool failed; /* out of memory, or too much; stays set */
};

void pack_builder_deinit(struct pack_builder *builder);
CLEAN_DEFINE_DEINIT(pack_builder_deinit, struct pack_builder);

/* Each address once; its frames follow, innermost first. */
void pack_add_place(struct pack_builder *builder, uint64_t address);
void pack_add_frame(struct pack_builder *builder, const char *function, const char *file,
		    uint32_t line, uint32_t flags);

/* All places of pack except those that `skip` (may be NULL) has as keys. */
void pack_add_pack(struct pack_builder *builder, const struct pack *pack, const struct map *skip);

/* Everything, appended to out. False: out of memory. */
bool pack_write(struct pack_builder *builder, uint32_t state, uint64_t identity,
		struct vec_u8 *out);

#endif
