/* allocators_wanted: which allocators with their own names are searched for. */
#include "rec/allocators.h"

#include "core/poison.h"

enum {
	LIKE_JEMALLOC = ALLOCATOR_STANDARD | ALLOCATOR_JEMALLOC,
	LIKE_MIMALLOC = ALLOCATOR_STANDARD | ALLOCATOR_MIMALLOC,
	LIKE_TCMALLOC = ALLOCATOR_STANDARD | ALLOCATOR_TCMALLOC,
	LIKE_TBB = ALLOCATOR_STANDARD | ALLOCATOR_TBB
};

/*
 * Known allocators. An object that exports both proofs with the prefix has it: then its functions
 * are what their names say. A malloc is searched for in the program itself, which precedes us in
 * lookup order. Rust's is searched for only on request: usually it is malloc by another name.
 */
static const struct known {
	const char *name;
	const char *prefix;
	const char *proofs[2];
	uint8_t groups;
	bool is_automatic;
	bool is_programs;
} known[] = {
	{ "jemalloc", "je_", { "mallctl", "malloc" }, LIKE_JEMALLOC, true },
	{ "jemalloc", "_rjem_", { "mallctl", "malloc" }, LIKE_JEMALLOC, true },
	{ "jemalloc", "", { "mallctl", "mallocx" }, ALLOCATOR_JEMALLOC, true }, /* beside malloc */
	{ "mimalloc", "mi_", { "version", "malloc" }, LIKE_MIMALLOC, true },
	{ "tcmalloc", "tc_", { "version", "malloc" }, LIKE_TCMALLOC, true },
	{ "mozjemalloc", "moz_", { "xmalloc", "arena_malloc" }, ALLOCATOR_MOZILLA, true },
	{ "tbbmalloc", "scalable_", { "msize", "malloc" }, LIKE_TBB, true },
	{ "malloc", "", { "malloc", "free" }, ALLOCATOR_STANDARD, true, .is_programs = true },
	{ "rust", "__rust_", { "alloc", "dealloc" }, ALLOCATOR_RUST, false },
};

struct allocator_wanted rec_allocators_wanted[ALLOCATORS_WANTED_MAX];
size_t rec_allocators_wanted_count;

static bool is_asked[array_size(known)];
static bool is_nothing_automatic;

static void text_copy(char out[ALLOCATOR_NAME_BYTES], const char *text, size_t len)
{
	len = (size_t)u64_min(len, ALLOCATOR_NAME_BYTES - 1);
	memcpy(out, text, len);
	out[len] = '\0';
}

static void ask_known(const char *name, size_t len)
{
	if (len == 4 && memcmp(name, "none", 4) == 0)
		is_nothing_automatic = true;
	for (size_t i = 0; i < array_size(known); i++)
		if (strlen(known[i].name) == len && memcmp(known[i].name, name, len) == 0)
			is_asked[i] = true;
}

/* NAME or NAME=PREFIX; without a prefix, or with an empty one, NAME must be known. */
void rec_allocators_ask(const char *text, size_t len)
{
	const char *equals = memchr(text, '=', len);
	const size_t name_len = equals ? (size_t)(equals - text) : len;
	struct allocator_wanted *want = &rec_allocators_wanted[rec_allocators_wanted_count];

	CHECK(rec_allocators_wanted_count <= ALLOCATORS_WANTED_MAX);
	if (!equals || name_len + 1 == len) {
		ask_known(text, name_len);
		return;
	}
	if (rec_allocators_wanted_count >= ALLOCATORS_WANTED_MAX - array_size(known))
		return;
	*want = (struct allocator_wanted) { .groups = LIKE_JEMALLOC, .asked = true };
	text_copy(want->name, text, name_len);
	text_copy(want->prefix, equals + 1, len - name_len - 1);
	for (size_t i = array_size(known); i-- > 0;) /* the first of a name has all */
		if (strcmp(known[i].name, want->name) == 0)
			want->groups = known[i].groups;
	rec_allocators_wanted_count++;
}

/* If calls are only counted, only malloc and the like matter. */
void rec_allocators_want(void)
{
	CHECK(rec_allocators_wanted_count <= ALLOCATORS_WANTED_MAX);
	if (rec.options.calls)
		rec_allocators_wanted_count = 0;
	for (size_t i = 0; i < array_size(known) && !rec.options.calls; i++) {
		struct allocator_wanted *want = &rec_allocators_wanted[rec_allocators_wanted_count];

		if (!is_asked[i] && (is_nothing_automatic || !known[i].is_automatic))
			continue;
		*want = (struct allocator_wanted) { .proofs = known[i].proofs,
						    .groups = known[i].groups,
						    .asked = is_asked[i],
						    .is_programs = known[i].is_programs };
		text_copy(want->name, known[i].name, strlen(known[i].name));
		text_copy(want->prefix, known[i].prefix, strlen(known[i].prefix));
		rec_allocators_wanted_count++;
	}
}
