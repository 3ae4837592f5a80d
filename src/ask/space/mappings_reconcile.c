/*
 * mappings_reconcile: merges what the kernel shows with what the calls did. Calls tell who and
 * when; the kernel shows everything that is mapped.
 */
#include <sys/mman.h>

#include "space/mappings_parts.h"

static const uint64_t RACE_NS = 1000000; /* a call is noted a little before or after it happens */
static const uint64_t KEPT_NS = 1000000000; /* stacks stay mapped for the next thread */

static bool is_path(const char *name)
{
	return name[0] == '/' && strncmp(name, "/dev/zero", 9) != 0;
}

/* Whether it is the same file, even if deleted in between. */
static bool names_agree(const struct mapping *mapping, const char *name)
{
	static const char deleted[] = " (deleted)";
	const size_t len = strlen(mapping->name);

	if (!mapping->name[0]) /* calls have no file name; memory they mapped has no file */
		return mapping->is_seen ? !name[0] : mapping->fd >= 0 || !is_path(name);
	return strncmp(mapping->name, name, len) == 0 &&
	       (!name[len] || strcmp(name + len, deleted) == 0);
}

/* In all Linux libcs a thread's handle is in the mapping of its stack. */
static bool is_thread_stack(const struct model *model, const struct mappings_extent *extent,
			    uint64_t ns)
{
	const uint32_t main_tid = model_process(model)->pid;

	for (size_t i = 0; i < model_thread_count(model); i++) {
		const struct model_thread *thread = model_thread(model, i);

		if (thread->handle >= extent->begin && thread->handle < extent->end &&
		    thread->tid != main_tid &&
		    (thread->end_ns == MODEL_NEVER || thread->end_ns + KEPT_NS >= ns))
			return true;
	}
	return false;
}

static bool is_module(const struct mappings *mappings, const struct mappings_extent *extent,
		      uint64_t ns)
{
	const struct model *model = mappings->model;

	for (size_t i = 0; i < model_module_count(model); i++) {
		const struct capture_module *module = model_module(model, i);

		/* zero pages after a module's last page belong to it */
		if (extent->begin < align_up(module->end, mappings->page_bytes) &&
		    extent->end > module->begin &&
		    model_ns(model, module->load_ticks) <= ns + RACE_NS &&
		    (module->unload_ticks == UINT64_MAX ||
		     model_ns(model, module->unload_ticks) >= ns))
			return true;
	}
	return false;
}

static struct mapping seen_mapping(const struct mappings *mappings,
				   const struct mappings_extent *extent)
{
	return (struct mapping) {
		.name = mappings_image_name(&mappings->image, extent),
		.stack = CAPTURE_STACK_NONE,
		.thread = MODEL_NO_THREAD,
		.prot = extent->prot,
		.flags = -1,
		.fd = -1,
		.marks = extent->marks,
		.is_seen = true,
		.is_shared = extent->is_shared,
		.is_module = is_module(mappings, extent, mappings->now_ns),
		.is_thread_stack = is_thread_stack(mappings->model, extent, mappings->now_ns),
	};
}

/* The kernel still showed a range that a call was about to unmap. */
static bool was_just_unmapped(const struct mappings *mappings, uint64_t begin, uint64_t end,
			      const struct mappings_snapshot *snapshot)
{
	for (size_t i = 0; i < u64_min(mappings->recent_count, MAPPINGS_RECENT); i++) {
		const struct mappings_range *range = &mappings->recent[i];

		if (range->begin < end && range->end > begin &&
		    range->ns + RACE_NS >= snapshot->begin_ns)
			return true;
	}
	return false;
}

/* --- one extent ---------------------------------------------------------------------------- */

/*
 * Pages of one extent that no call explains are one mapping: several earlier ones have merged.
 * UINT32_MAX: none yet.
 */
static uint32_t owner_of(const struct mappings *mappings, const struct mappings_extent *extent)
{
	const struct mappings_piece_vec *pieces = &mappings->pieces.all;
	const char *name = mappings_image_name(&mappings->image, extent);
	uint32_t owner = MAPPINGS_NOBODY;

	for (size_t i = mappings_pieces_find(&mappings->pieces, extent->begin);
	     i < pieces->count && pieces->items[i].begin < extent->end; i++) {
		const struct mapping *mapping = &mappings->all.items[pieces->items[i].mapping];

		if (!mapping->is_seen || !names_agree(mapping, name))
			continue;
		if (pieces->items[i].prot == extent->prot)
			return pieces->items[i].mapping;
		if (owner == MAPPINGS_NOBODY)
			owner = pieces->items[i].mapping;
	}
	return owner;
}

static bool take_gap(struct mappings *mappings, const struct mappings_extent *extent,
		     uint64_t begin, uint64_t end, uint32_t *owner)
{
	const char *name = mappings_image_name(&mappings->image, extent);
	struct mapping mapping;

	if (strcmp(name, "[heap]") == 0 && mappings->heap != MAPPINGS_NOBODY)
		*owner = mappings->heap;
	if (*owner != MAPPINGS_NOBODY)
		return mappings_pieces_set(&mappings->pieces, begin, end, *owner, extent->prot);
	mapping = seen_mapping(mappings, extent);
	mapping.is_brk = strcmp(name, "[heap]") == 0;
	*owner = mappings_add(mappings, begin, end, &mapping);
	if (mapping.is_brk)
		mappings->heap = *owner;
	return *owner != MAPPINGS_NOBODY;
}

/* Checks a part with a known mapping: is it the same, with the same protection? */
static bool take_piece(struct mappings *mappings, const struct mappings_extent *extent,
		       const struct mappings_piece *piece, uint32_t *owner)
{
	const uint64_t begin = u64_max(piece->begin, extent->begin);
	const uint64_t end = u64_min(piece->end, extent->end);
	const char *name = mappings_image_name(&mappings->image, extent);
	struct mapping *mapping = &mappings->all.items[piece->mapping];

	if (!names_agree(mapping, name) && !mapping->is_brk)
		return take_gap(mappings, extent, begin, end, owner);
	if (mapping->is_seen && !mapping->is_brk && *owner != piece->mapping)
		return mappings_pieces_set(&mappings->pieces, begin, end, *owner, extent->prot);
	if (!mapping->name[0])
		mapping->name = name;
	mapping->marks |= extent->marks;
	mapping->is_shared |= extent->is_shared;
	if (!mapping->is_seen && !mapping->is_thread_stack)
		mapping->is_thread_stack =
			is_thread_stack(mappings->model, extent, mappings->now_ns);
	if (!mapping->is_seen && mapping->name[0] == '/' && !mapping->is_module)
		mapping->is_module = is_module(mappings, extent, mappings->now_ns);
	if (piece->prot != extent->prot)
		return mappings_pieces_protect(&mappings->pieces, begin, end, extent->prot);
	return true;
}

static bool take_extent(struct mappings *mappings, const struct mappings_extent *extent,
			const struct mappings_snapshot *snapshot)
{
	const struct mappings_piece_vec *pieces = &mappings->pieces.all;
	uint32_t owner = owner_of(mappings, extent);
	uint64_t at = extent->begin;

	while (at < extent->end) {
		const size_t i = mappings_pieces_find(&mappings->pieces, at);
		const bool is_in = i < pieces->count && pieces->items[i].begin <= at;
		const struct mappings_piece piece =
			i < pieces->count ? pieces->items[i] : (struct mappings_piece) { 0 };
		uint64_t end = extent->end;

		if (i < pieces->count)
			end = u64_min(end, is_in ? piece.end : piece.begin);
		if (is_in && !take_piece(mappings, extent, &piece, &owner))
			return false;
		if (!is_in && !was_just_unmapped(mappings, at, end, snapshot) &&
		    !take_gap(mappings, extent, at, end, &owner))
			return false;
		at = end;
	}
	return true;
}

/* --- all of them --------------------------------------------------------------------------- */

/* Removes pieces between extents, unless they were created while the kernel answered. */
static bool remove_between(struct mappings *mappings, uint64_t begin, uint64_t end,
			   const struct mappings_snapshot *snapshot)
{
	const struct mappings_piece_vec *pieces = &mappings->pieces.all;

	while (begin < end) {
		const size_t i = mappings_pieces_find(&mappings->pieces, begin);
		uint64_t to;

		if (i == pieces->count || pieces->items[i].begin >= end)
			return true;
		begin = u64_max(begin, pieces->items[i].begin);
		to = u64_min(end, pieces->items[i].end);
		if (mappings->all.items[pieces->items[i].mapping].changed_ns + RACE_NS <
			    snapshot->begin_ns &&
		    !mappings_pieces_unmap(&mappings->pieces, begin, to))
			return false;
		begin = to;
	}
	return true;
}

static void measure(struct mappings *mappings)
{
	struct mappings_parts parts = mappings_parts_begin(mappings);
	struct mappings_part part;

	for (size_t i = 0; i < mappings->pieces.all.count; i++)
		mappings->all.items[mappings->pieces.all.items[i].mapping].resident_bytes = 0;
	while (mappings_parts_next(&parts, &part))
		if (part.mapping != MAPPINGS_NOBODY)
			mappings->all.items[part.mapping].resident_bytes +=
				mappings_extent_resident(part.extent, part.begin, part.end);
	for (size_t i = 0; i < mappings->pieces.all.count; i++) {
		struct mapping *mapping =
			&mappings->all.items[mappings->pieces.all.items[i].mapping];

		mapping->resident_bytes_max =
			u64_max(mapping->resident_bytes_max, mapping->resident_bytes);
	}
}

bool mappings_reconcile(struct mappings *mappings, const struct mappings_snapshot *snapshot)
{
	const struct mappings_extent_vec *extents = &mappings->image.all;
	uint64_t end = 0;

	for (size_t i = 0; i < extents->count; i++) {
		if (!remove_between(mappings, end, extents->items[i].begin, snapshot) ||
		    !take_extent(mappings, &extents->items[i], snapshot))
			return false;
		end = extents->items[i].end;
	}
	if (!remove_between(mappings, end, UINT64_MAX, snapshot))
		return false;
	measure(mappings);
	return true;
}
