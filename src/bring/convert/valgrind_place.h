/*
 * valgrind_place: a code location in the format of Valgrind's tools: "0x1091F8: take (sites.c:21)",
 * "0x48417B4: malloc (in /usr/lib/x.so)", "0x10: ???"; the address may be missing. Internal to
 * convert.
 */
#ifndef MEMTAPE_CONVERT_VALGRIND_PLACE_H
#define MEMTAPE_CONVERT_VALGRIND_PLACE_H

#include "base/str.h"
#include "convert/compose.h"

/* All zeros is an empty one. */
struct valgrind_place {
	struct str function; /* the address if the name is unknown */
	struct str file;     /* empty: unknown, */
	struct str object;   /* likewise */
	uint32_t line;
};

void valgrind_place_deinit(struct valgrind_place *place);
CLEAN_DEFINE_DEINIT(valgrind_place_deinit, struct valgrind_place);

/* Whether memory ran out while reading it. */
static inline bool valgrind_place_failed(const struct valgrind_place *place)
{
	return place->function.failed || place->file.failed || place->object.failed;
}

void valgrind_place_read(struct valgrind_place *place, const char *text);

/* The composer's frame for it. */
uint32_t valgrind_place_frame(const struct valgrind_place *place, struct composer *composer);

/* Whether it is in Valgrind's preloaded library, which replaces malloc. */
bool valgrind_place_is_own(const struct valgrind_place *place);

#endif
