#include "rec/attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

#include "rec/log.h"
#include "rec/other.h"
#include "rec/symbols.h"
#include "tape/tape_allocator.h"

#include "core/poison.h"

enum { NO = ALLOCATOR_NO };

static const struct allocator_call calls[] = {
#define CALL(suffix, group, kind, fn, ptr, size, count)                                            \
	{ suffix, ALLOCATOR_##group, ALLOCATOR_##kind, fn, ptr, size, count },
#include "rec/allocators.def"
#undef CALL
};

static const char *const any_proof[] = { "malloc",	  "calloc",  "realloc",
					 "aligned_alloc", "mallocx", "12___rust_alloc" };

/* Of the C library; the caller frees the results. */
static const char *const gifts[] = {
	"strdup",
	"__strdup",
	"strndup",
	"__strndup",
	"wcsdup",
	"getline",
	"getdelim",
	"__getdelim",
	"asprintf",
	"__asprintf_chk",
	"vasprintf",
	"__vasprintf_chk",
	"realpath",
	"scandir",
	"open_memstream",
	"__realpath_chk",
	"canonicalize_file_name",
};

/* Everything below: under the lock, except what bindings point to. */
static _Atomic uint64_t scan_lock;
static struct allocator allocators[ALLOCATORS_MAX];
static size_t allocator_count;
static uint64_t scan_number;
static uint64_t scanned_adds, scanned_subs; /* the loader's counts of objects at the last scan */
static _Atomic bool is_in_doubt;	    /* an object may prefer its own definitions */
static bool is_incomplete;		    /* an object was being loaded then */
static bool is_first;			    /* this scan is the first */

/* "PREFIXsuffix"; false: the name is too long. */
static bool name_make(char out[2 * ALLOCATOR_NAME_BYTES], const char *prefix, const char *suffix)
{
	const size_t prefix_len = strlen(prefix);
	const size_t suffix_len = strlen(suffix);

	if (prefix_len >= ALLOCATOR_NAME_BYTES || suffix_len >= ALLOCATOR_NAME_BYTES)
		return false;
	memcpy(out, prefix, prefix_len);
	memcpy(out + prefix_len, suffix, suffix_len + 1);
	return true;
}

/* 0: the object does not export it, or selects it when loaded (IFUNC). */
static uint64_t function_find(const struct link_map *map, const char *prefix, const char *suffix)
{
	char name[2 * ALLOCATOR_NAME_BYTES];
	struct rec_symbol symbol;

	if (!name_make(name, prefix, suffix) || !rec_symbol_in(map, name, &symbol) ||
	    symbol.is_resolver)
		return 0;
	return symbol.address;
}

static bool exports(const struct link_map *map, const struct allocator_wanted *want)
{
	if (want->proofs)
		return function_find(map, want->prefix, want->proofs[0]) &&
		       function_find(map, want->prefix, want->proofs[1]);
	for (size_t i = 0; i < array_size(any_proof); i++)
		if (function_find(map, want->prefix, any_proof[i]))
			return true;
	return false;
}

static struct allocator *allocator_place(void)
{
	if (allocator_count < ALLOCATORS_MAX)
		return &allocators[allocator_count++];
	for (size_t i = 0; i < ALLOCATORS_MAX; i++)
		if (!allocators[i].is_alive)
			return &allocators[i];
	return NULL;
}

static void allocator_add(const struct dl_phdr_info *info, const struct link_map *map,
			  const struct allocator_wanted *want)
{
	static const char *const sizes[] = { "malloc_usable_size", "usable_size", "malloc_size",
					     "msize" };
	struct allocator *allocator = allocator_place();

	if (!allocator)
		return;
	*allocator =
		(struct allocator) { .groups = want->groups,
				     .asked = want->asked,
				     .is_known = want->proofs != NULL,
				     .is_programs = want->is_programs,
				     .frees_unseen = want->is_programs &&
						     rec_slots_call(info, gifts, array_size(gifts)),
				     .is_alive = true,
				     .is_told = !want->asked,
				     .is_first = is_first,
				     .seen = scan_number,
				     .map = *map };
	memcpy(allocator->name, want->name, sizeof(allocator->name));
	memcpy(allocator->prefix, want->prefix, sizeof(allocator->prefix));
	for (size_t i = 0;
	     i < (want->is_programs ? 1 : array_size(sizes)) && !allocator->usable_size; i++)
		allocator->usable_size = (size_t(*)(const void *))(uintptr_t)function_find(
			map, want->prefix, sizes[i]);
}

/* True: it is listed, under this or another name. */
static bool allocator_meet(const struct link_map *map, const struct allocator_wanted *want)
{
	for (size_t i = 0; i < allocator_count; i++) {
		struct allocator *allocator = &allocators[i];

		if (!allocator->is_alive || allocator->map.l_addr != map->l_addr ||
		    allocator->map.l_ld != map->l_ld ||
		    strcmp(allocator->prefix, want->prefix) != 0)
			continue;
		allocator->seen = scan_number;
		return true;
	}
	return false;
}

static ElfW(Dyn) * dynamic_of(const struct dl_phdr_info *info)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			return (ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	return NULL;
}

static int find_in_object(struct dl_phdr_info *info, size_t bytes, void *context)
{
	const struct link_map map = { .l_addr = info->dlpi_addr, .l_ld = dynamic_of(info) };
	bool *is_program = context;
	const bool is_programs = *is_program;

	(void)bytes;
	*is_program = false;
	if (!map.l_ld || rec_object_is_own(map.l_ld))
		return 0;
	for (size_t i = 0; i < rec_allocators_wanted_count; i++) {
		if ((rec_allocators_wanted[i].is_programs && !is_programs) ||
		    !exports(&map, &rec_allocators_wanted[i]))
			continue;
		if (!allocator_meet(&map, &rec_allocators_wanted[i]))
			allocator_add(info, &map, &rec_allocators_wanted[i]);
		rec_allocators_wanted[i].is_found = true;
	}
	return 0;
}

static int patch_object(struct dl_phdr_info *info, size_t bytes, void *context)
{
	const struct link_map map = { .l_addr = info->dlpi_addr, .l_ld = dynamic_of(info) };
	const struct allocator_slot like = {
		.bias = info->dlpi_addr,
		.is_first = is_first,
		.has_malloc = map.l_ld && function_find(&map, "", "malloc"),
		.is_c_library = map.l_ld && function_find(&map, "", "__libc_start_main"),
	};

	(void)bytes;
	(void)context;
	if (map.l_ld && !rec_object_is_own(map.l_ld) && !rec_slots_patch(info, &like))
		is_incomplete = true;
	return 0;
}

/* Its functions cannot be called any more: they were unloaded. */
static void allocator_end(struct allocator *allocator)
{
	allocator->is_alive = false;
	for (size_t i = 0; i < ALLOCATOR_BINDINGS_MAX; i++)
		if (rec_allocator_bindings[i].allocator == allocator)
			rec_allocator_bindings[i].allocator = NULL;
}

static struct allocator_binding *binding_get(struct allocator *allocator,
					     const struct allocator_call *call, uint64_t real)
{
	struct allocator_binding *unused = NULL;

	for (size_t i = 0; i < ALLOCATOR_BINDINGS_MAX; i++) {
		struct allocator_binding *binding = &rec_allocator_bindings[i];

		if (binding->allocator == allocator && binding->call == call)
			return binding;
		if (!binding->allocator && !unused)
			unused = binding;
	}
	if (!unused)
		return NULL;
	*unused = (struct allocator_binding) { allocator, call,
					       (allocator_function *)(uintptr_t)real };
	allocator->functions++;
	return unused;
}

static const struct allocator_call *call_of(const struct allocator *allocator, const char *name)
{
	const size_t len = strlen(allocator->prefix);

	if (strncmp(name, allocator->prefix, len) != 0)
		return NULL;
	for (size_t i = 0; i < array_size(calls); i++)
		if (calls[i].groups & allocator->groups && strcmp(calls[i].suffix, name + len) == 0)
			return &calls[i];
	return NULL;
}

/*
 * Whether the place must not be redirected to this allocator. A known allocator's calls within
 * itself stay as they are. An object that has a malloc uses that one, except for the C library,
 * whose blocks would look leaked if the program frees them itself, unseen. A lazy place of an
 * object loaded later is bound to the program's, too, unless a library was loaded to be preferred.
 */
static bool is_out(const struct allocator *allocator, const struct allocator_slot *slot)
{
	if (allocator->is_programs && slot->has_malloc &&
	    (!slot->is_c_library || allocator->frees_unseen))
		return true;
	if (allocator->is_programs && slot->may_be_lazy && !slot->is_first && is_in_doubt)
		return true;
	return allocator->is_known && allocator->map.l_addr == slot->bias;
}

/*
 * A lazy place is bound to the first object that has the name, of those present at the start; with
 * several others the target is unknown.
 */
struct allocator_binding *rec_allocator_for(const struct allocator_slot *slot)
{
	const struct allocator_call *lazy_call = NULL;
	struct allocator *lazy = NULL;
	uint64_t lazy_real = 0;
	size_t lazy_count = 0;

	CHECK(slot->name);
	for (size_t i = 0; i < allocator_count; i++) {
		struct allocator *allocator = &allocators[i];
		const struct allocator_call *call =
			allocator->is_alive ? call_of(allocator, slot->name) : NULL;
		uint64_t real;

		if (!call || is_out(allocator, slot))
			continue;
		real = function_find(&allocator->map, allocator->prefix, call->suffix);
		if (real && slot->bound == real)
			return binding_get(allocator, call, real);
		if (!real || !slot->may_be_lazy || lazy_count++ > 0)
			continue;
		lazy = allocator;
		lazy_call = call;
		lazy_real = real;
	}
	if (lazy_count == 0 || (lazy_count > 1 && !slot->is_first && !lazy->is_first))
		return NULL;
	return binding_get(lazy, lazy_call, lazy_real);
}

static void note(struct rec_lane *lane, const struct tape_allocator *record, const char *name,
		 const char *prefix)
{
	char text[2 * ALLOCATOR_NAME_BYTES];
	const size_t name_len = strlen(name);

	memcpy(text, name, name_len);
	text[name_len] = '\n';
	memcpy(text + name_len + 1, prefix, strlen(prefix) + 1);
	rec_note(lane, TAPE_EXT_ALLOCATOR, record, sizeof(*record), text, strlen(text));
}

/* A requested allocator was not found; reported once for those with several prefixes. */
static bool is_missing(size_t index)
{
	const struct allocator_wanted *want = &rec_allocators_wanted[index];

	if (!want->asked || want->is_found)
		return false;
	for (size_t i = 0; i < rec_allocators_wanted_count; i++) {
		const struct allocator_wanted *other = &rec_allocators_wanted[i];

		if ((other->is_found || i < index) && strcmp(other->name, want->name) == 0)
			return false;
	}
	return true;
}

static uint32_t flags_of(const struct allocator *allocator)
{
	return (allocator->asked ? TAPE_ALLOCATOR_ASKED : 0u) |
	       (allocator->is_programs ? TAPE_ALLOCATOR_PROGRAMS : 0u);
}

/* Those that are called, or were requested; `all`: also those already reported. */
static void note_some(struct rec_lane *lane, bool all)
{
	for (size_t i = 0; i < allocator_count; i++) {
		struct allocator *allocator = &allocators[i];

		if ((!all && allocator->is_told) || !allocator->is_alive ||
		    (!allocator->asked && !allocator->places))
			continue;
		note(lane,
		     &(struct tape_allocator) { .address = (uintptr_t)allocator->map.l_ld,
						.functions = allocator->functions,
						.objects = allocator->objects,
						.places = allocator->places,
						.flags = flags_of(allocator) },
		     allocator->name, allocator->prefix);
		allocator->is_told = true;
		REC_LOG(REC_LOG_INFO, "an allocator: %s (%s...), called at %u places",
			allocator->name, allocator->prefix, allocator->places);
	}
	for (size_t i = 0; i < rec_allocators_wanted_count && (all || is_first); i++)
		if (is_missing(i))
			note(lane, &(struct tape_allocator) { .flags = TAPE_ALLOCATOR_ASKED },
			     rec_allocators_wanted[i].name, rec_allocators_wanted[i].prefix);
}

void rec_allocators_doubt(void)
{
	is_in_doubt = true;
}

/* The thread that held the lock may not exist in the child. */
void rec_allocators_child(void)
{
	scan_lock = 0;
}

void rec_allocators_note_all(struct rec_lane *lane)
{
	note_some(lane, true);
}

/* The loader's counts; our own, where it has none. */
static int counts_take(struct dl_phdr_info *info, size_t bytes, void *context)
{
	uint64_t *counts = context;

	if (bytes >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs)) {
		counts[0] = info->dlpi_adds;
		counts[1] = info->dlpi_subs;
	}
	return 1;
}

static bool is_any_alive(void)
{
	for (size_t i = 0; i < allocator_count; i++)
		if (allocators[i].is_alive)
			return true;
	return false;
}

/* A requested allocator may come with an object loaded later. */
static bool is_any_asked(void)
{
	for (size_t i = 0; i < rec_allocators_wanted_count; i++)
		if (rec_allocators_wanted[i].asked)
			return true;
	return false;
}

/* Under the lock; counts are the loader's, from before. */
static void scan(const uint64_t counts[2])
{
	const struct rec_frame caller = REC_CALLER();
	bool is_program = true; /* it is listed first */
	struct other other;

	scanned_adds = counts[0];
	scanned_subs = counts[1];
	scan_number++;
	rec_objects_each(find_in_object, &is_program);
	for (size_t i = 0; i < allocator_count; i++)
		if (allocators[i].is_alive && allocators[i].seen != scan_number)
			allocator_end(&allocators[i]);
	if (!is_any_alive() && !is_any_asked() && !rec_is_attach)
		return;
	is_incomplete = false;
	rec_objects_each(patch_object, NULL);
	other = other_begin(&caller);
	if (other.lane)
		note_some(other.lane, false);
	other_end(&other);
}

/* Not in a child of fork, either: the lock's holder may be a thread that does not exist there. */
static bool is_recording(void)
{
	return atomic_load(&rec.state) == REC_ON && atomic_load(&rec.shared->epoch) != 0;
}

/* Takes the loader's lock: not where the program holds one that it could wait for. */
static __attribute__((noinline)) void follow(void)
{
	uint64_t counts[2] = { scanned_adds, scanned_subs };
	const int saved_errno = errno;

	if (!is_recording() || !rec_may_call())
		return;
	rec_objects_each(counts_take, counts);
	if ((is_incomplete || counts[0] != scanned_adds || counts[1] != scanned_subs) &&
	    rec_lock(&scan_lock)) {
		scan(counts);
		rec_unlock(&scan_lock);
	}
	errno = saved_errno;
}

/* The real function is replaced by ours also when looked up by name. */
static __attribute__((noinline)) void *symbol_of(void *handle, const char *name)
{
	void *found = rec_dlsym(handle, name);
	const struct allocator_slot slot = { .name = name, .bound = (uintptr_t)found };
	struct allocator_binding *binding = NULL;

	if (found && is_recording() && rec_lock(&scan_lock)) {
		binding = rec_allocator_for(&slot);
		rec_unlock(&scan_lock);
	}
	return binding ? (void *)rec_allocator_stub((size_t)(binding - rec_allocator_bindings))
		       : rec_attach_symbol(found);
}

/*
 * After loading an object a program looks up its symbols, so the object's calls are redirected
 * before they are made. With these handles the real dlsym() inspects its caller: it is jumped to.
 */
void *rec_allocator_dlsym(void *handle, const char *name)
{
	follow();
	if (handle != RTLD_DEFAULT && handle != RTLD_NEXT)
		return symbol_of(handle, name);
	return rec_dlsym(handle, name);
}

void rec_allocators_begin(void)
{
	uint64_t counts[2] = { 0 };

	if (atomic_load(&rec.state) != REC_ON || rec.options.table || !rec_may_call())
		return;
	rec_allocators_want();
	if ((rec_allocators_wanted_count == 0 && !rec_is_attach) || !rec_lock(&scan_lock))
		return;
	is_first = true;
	rec_objects_each(counts_take, counts);
	scan(counts);
	is_first = false;
	rec_unlock(&scan_lock);
}
