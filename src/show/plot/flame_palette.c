#include "plot/flame_palette.h"

#include <assert.h>

#include "core/hash.h"

const char *const flame_palette_words[] = {
	"module", "hot",    "mem",  "io", "red",  "green", "blue",   "aqua", "yellow",
	"purple", "orange", "java", "js", "perl", "chain", "wakeup", NULL,
};
static_assert(array_size(flame_palette_words) == FLAME_WAKEUP + 2, "the words of the enum");

/* A base colour, and the range by name: all channels change together. */
static const struct ramp {
	uint8_t from[3];
	uint8_t room[3];
} ramps[] = {
	[FLAME_HOT] = { { 205, 0, 0 }, { 50, 230, 55 } },
	[FLAME_MEM] = { { 0, 190, 0 }, { 0, 50, 210 } },
	[FLAME_IO] = { { 80, 80, 190 }, { 60, 60, 55 } },
	[FLAME_RED] = { { 200, 50, 50 }, { 55, 80, 80 } },
	[FLAME_GREEN] = { { 50, 200, 50 }, { 60, 55, 60 } },
	[FLAME_BLUE] = { { 80, 80, 205 }, { 60, 60, 50 } },
	[FLAME_AQUA] = { { 50, 165, 165 }, { 60, 55, 55 } },
	[FLAME_YELLOW] = { { 175, 175, 50 }, { 55, 55, 20 } },
	[FLAME_PURPLE] = { { 190, 80, 190 }, { 65, 60, 65 } },
	[FLAME_ORANGE] = { { 190, 90, 0 }, { 65, 65, 0 } },
};

/* How kinds of names are recognized; "_[j]" and such are added by perf's scripts. */
enum where { BEGINS, ENDS, CONTAINS };

static const struct kind {
	enum flame_palette palette;
	enum where where;
	const char *text;
	enum flame_palette is;
} kinds[] = {
	/* The first match counts. */
	{ FLAME_JAVA, ENDS, "_[j]", FLAME_GREEN },    { FLAME_JAVA, ENDS, "_[i]", FLAME_AQUA },
	{ FLAME_JAVA, BEGINS, "java/", FLAME_GREEN }, { FLAME_JAVA, BEGINS, "javax/", FLAME_GREEN },
	{ FLAME_JAVA, BEGINS, "jdk/", FLAME_GREEN },  { FLAME_JAVA, BEGINS, "net/", FLAME_GREEN },
	{ FLAME_JAVA, BEGINS, "org/", FLAME_GREEN },  { FLAME_JAVA, BEGINS, "com/", FLAME_GREEN },
	{ FLAME_JAVA, BEGINS, "io/", FLAME_GREEN },   { FLAME_JAVA, BEGINS, "sun/", FLAME_GREEN },
	{ FLAME_JAVA, CONTAINS, ":::", FLAME_GREEN }, { FLAME_JAVA, CONTAINS, "::", FLAME_YELLOW },
	{ FLAME_JAVA, ENDS, "_[k]", FLAME_ORANGE },   { FLAME_JS, ENDS, "_[j]", FLAME_AQUA },
	{ FLAME_JS, CONTAINS, "::", FLAME_YELLOW },   { FLAME_JS, CONTAINS, ".js", FLAME_GREEN },
	{ FLAME_JS, CONTAINS, ":", FLAME_AQUA },      { FLAME_JS, ENDS, "_[k]", FLAME_ORANGE },
	{ FLAME_PERL, CONTAINS, "::", FLAME_YELLOW }, { FLAME_PERL, CONTAINS, "Perl", FLAME_GREEN },
	{ FLAME_PERL, CONTAINS, ".pl", FLAME_GREEN }, { FLAME_PERL, ENDS, "_[k]", FLAME_ORANGE },
	{ FLAME_CHAIN, ENDS, "_[w]", FLAME_AQUA },
};

static bool fits(const struct kind *kind, const char *name)
{
	const size_t len = strlen(name), text_len = strlen(kind->text);

	switch (kind->where) {
	case BEGINS:
		return strncmp(name, kind->text, text_len) == 0;
	case ENDS:
		return len >= text_len && strcmp(name + len - text_len, kind->text) == 0;
	case CONTAINS:
		break;
	}
	return strstr(name, kind->text) != NULL;
}

static enum flame_palette ramp_of(enum flame_palette palette, const char *name)
{
	for (size_t i = 0; i < array_size(kinds); i++) {
		if (kinds[i].palette == palette && fits(&kinds[i], name))
			return kinds[i].is;
	}
	if (palette == FLAME_WAKEUP)
		return FLAME_AQUA;
	if (palette == FLAME_CHAIN)
		return FLAME_BLUE;
	return palette >= FLAME_JAVA ? FLAME_RED : palette;
}

uint32_t flame_palette_rgb(enum flame_palette palette, const struct name *name)
{
	enum { STEPS = 1024 };
	const struct ramp *ramp = &ramps[ramp_of(palette, name->function)];
	const uint32_t step =
		(uint32_t)(hash_bytes(name->function, strlen(name->function), 0) % STEPS);
	uint32_t rgb = 0;

	assert(palette != FLAME_BY_MODULE);
	for (size_t i = 0; i < array_size(ramp->from); i++)
		rgb = rgb << 8 | (ramp->from[i] + ramp->room[i] * step / STEPS);
	return rgb;
}
