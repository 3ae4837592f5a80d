#include "space/mappings.h"

#include <assert.h>
#include <sys/mman.h>

#include "space/mappings_parts.h"

const char *const mapping_kind_words[] = {
	"heap",	  "blocks", "program", "unseen",  "file",     "shared",
	"module", "stack",  "kernel",  "memtape", "reserved", NULL,
};

static_assert(array_size(mapping_kind_words) == MAPPING_KINDS + 1, "a word for each kind");

void mappings_destroy(struct mappings *mappings)
{
	if (!mappings)
		return;
	mappings_pieces_deinit(&mappings->pieces);
	mappings_image_deinit(&mappings->image);
	mapping_vec_deinit(&mappings->all);
	mappings_snapshot_vec_deinit(&mappings->snapshots);
	free(mappings);
}

const struct mappings_snapshot_vec *mappings_snapshots(const struct mappings *mappings)
{
	return &mappings->snapshots;
}

const struct mapping_vec *mappings_all(const struct mappings *mappings)
{
	return &mappings->all;
}

const struct mappings_piece_vec *mappings_pieces(const struct mappings *mappings)
{
	return &mappings->pieces.all;
}

const struct mappings_image *mappings_image(const struct mappings *mappings)
{
	return &mappings->image;
}

void mappings_mark_blocks(struct mappings *mappings, uint32_t mapping)
{
	assert(mapping < mappings->all.count);
	mappings->all.items[mapping].holds_blocks = true;
}

/* --- kinds --------------------------------------------------------------------------------- */

static bool begins(const char *name, const char *word)
{
	return strncmp(name, word, strlen(word)) == 0;
}

static bool is_memtape(const struct mapping *mapping)
{
	const char *slash = strrchr(mapping->name, '/');
	const char *last = slash ? slash + 1 : mapping->name;

	if (mapping->name[0])
		return begins(mapping->name, "/memfd:memtape-spool") ||
		       begins(last, ".memtape-spool-") || begins(last, "libmemtape.so");
	return mapping->is_seen && mapping->marks & MAPPINGS_NO_DUMP &&
	       mapping->marks & MAPPINGS_NO_RESERVE;
}

static bool is_shared_memory(const struct mapping *mapping)
{
	return mapping->is_shared &&
	       (!mapping->name[0] || begins(mapping->name, "/memfd:") ||
		begins(mapping->name, "/dev/shm/") || begins(mapping->name, "/dev/zero") ||
		begins(mapping->name, "/SYSV"));
}

enum mapping_kind mapping_kind(const struct mapping *mapping)
{
	if (mapping->is_brk)
		return MAPPING_HEAP;
	if (is_memtape(mapping))
		return MAPPING_MEMTAPE;
	if (begins(mapping->name, "[stack"))
		return MAPPING_STACK;
	if (begins(mapping->name, "[v"))
		return MAPPING_KERNEL;
	if (mapping->is_module)
		return MAPPING_MODULE;
	if (mapping->holds_blocks)
		return MAPPING_BLOCKS;
	if (mapping->is_thread_stack)
		return MAPPING_STACK;
	if (is_shared_memory(mapping))
		return MAPPING_SHARED;
	if (mapping->name[0] == '/')
		return MAPPING_FILE;
	if (mapping->prot == PROT_NONE && mapping->resident_bytes_max == 0 &&
	    mapping->protect_count == 0)
		return MAPPING_RESERVED;
	return mapping->is_seen ? MAPPING_UNSEEN : MAPPING_PROGRAM;
}

/* Counts mappings that lose a part, but not all, of themselves to the range. */
static void count_cuts(struct mappings *mappings, uint64_t begin, uint64_t end)
{
	const struct mappings_piece_vec *pieces = &mappings->pieces.all;

	for (size_t i = mappings_pieces_find(&mappings->pieces, begin);
	     i < pieces->count && pieces->items[i].begin < end; i++) {
		const struct mappings_piece *piece = &pieces->items[i];
		struct mapping *mapping = &mappings->all.items[piece->mapping];

		mapping->cut_count += mapping->mapped_bytes >
				      u64_min(end, piece->end) - u64_max(begin, piece->begin);
	}
}

/* --- pieces come and go -------------------------------------------------------------------- */

static void piece_changed(void *context, uint32_t index, int64_t bytes)
{
	struct mappings *mappings = context;
	struct mapping *mapping = &mappings->all.items[index];

	mapping->mapped_bytes += (uint64_t)bytes;
	mapping->mapped_bytes_max = u64_max(mapping->mapped_bytes_max, mapping->mapped_bytes);
	mapping->end_ns = mapping->mapped_bytes > 0 ? MODEL_NEVER : mappings->now_ns;
}

uint32_t mappings_add(struct mappings *mappings, uint64_t begin, uint64_t end,
		      const struct mapping *mapping)
{
	const uint32_t index = (uint32_t)mappings->all.count;
	struct mapping *place = mapping_vec_add(&mappings->all);

	assert(begin < end);
	if (!place)
		return MAPPINGS_NOBODY;
	*place = *mapping;
	place->address = begin;
	place->bytes = end - begin;
	place->begin_ns = place->changed_ns = mappings->now_ns;
	place->end_ns = mappings->now_ns;
	if (!place->name)
		place->name = "";
	count_cuts(mappings, begin, end);
	if (!mappings_pieces_set(&mappings->pieces, begin, end, index, place->prot)) {
		mappings->all.count--;
		return MAPPINGS_NOBODY;
	}
	return index;
}

/* --- calls --------------------------------------------------------------------------------- */

/* Page range of a call; false: the kernel refused it, or it is empty. */
static bool range_of(const struct mappings *mappings, uint64_t address, uint64_t bytes,
		     uint64_t *end_ret)
{
	const uint64_t page_bytes = mappings->page_bytes;

	if (address % page_bytes || bytes == 0 || bytes > UINT64_MAX / 2 - page_bytes)
		return false;
	*end_ret = address + align_up(bytes, page_bytes);
	return *end_ret > address;
}

static bool take_mmap(struct mappings *mappings, const struct model_note *note)
{
	const struct tape_map *map = &note->map;
	const bool is_anonymous = map->flags & MAP_ANONYMOUS;
	uint64_t end;

	if (!range_of(mappings, map->address, map->bytes, &end))
		return true;
	return mappings_add(mappings, map->address, end,
			    &(struct mapping) {
				    .offset = is_anonymous ? 0 : map->offset,
				    .stack = note->stack,
				    .thread = note->thread,
				    .prot = (uint32_t)map->prot,
				    .flags = map->flags,
				    .fd = is_anonymous ? -1 : map->fd,
				    .is_shared = map->flags & MAP_SHARED,
			    }) != MAPPINGS_NOBODY;
}

static bool take_munmap(struct mappings *mappings, const struct model_note *note)
{
	uint64_t end;

	if (!range_of(mappings, note->map.address, note->map.bytes, &end))
		return true;
	mappings->recent[mappings->recent_count++ % MAPPINGS_RECENT] =
		(struct mappings_range) { .begin = note->map.address, .end = end, .ns = note->ns };
	count_cuts(mappings, note->map.address, end);
	return mappings_pieces_unmap(&mappings->pieces, note->map.address, end);
}

/* Records that a call affected the mappings in the range. */
static void touch(struct mappings *mappings, uint64_t begin, uint64_t end, uint32_t protect_count,
		  uint32_t move_count)
{
	const struct mappings_piece_vec *pieces = &mappings->pieces.all;

	for (size_t i = mappings_pieces_find(&mappings->pieces, begin);
	     i < pieces->count && pieces->items[i].begin < end; i++) {
		struct mapping *mapping = &mappings->all.items[pieces->items[i].mapping];

		mapping->changed_ns = mappings->now_ns;
		mapping->protect_count += protect_count;
		mapping->move_count += move_count;
	}
}

static bool take_mprotect(struct mappings *mappings, const struct model_note *note)
{
	uint64_t end;

	if (!range_of(mappings, note->map.address, note->map.bytes, &end))
		return true;
	touch(mappings, note->map.address, end, 1, 0);
	return mappings_pieces_protect(&mappings->pieces, note->map.address, end,
				       (uint32_t)note->map.prot);
}

static bool take_mremap(struct mappings *mappings, const struct model_note *note)
{
	const struct tape_map *map = &note->map;
	uint64_t old_end, end;

	/* An old size of 0 duplicates shared pages; the next snapshot will show that. */
	if (!range_of(mappings, map->address, map->bytes, &end) ||
	    !range_of(mappings, map->old_address, map->old_bytes, &old_end))
		return true;
	touch(mappings, map->old_address, old_end, 0, 1);
	return mappings_pieces_move(&mappings->pieces, map->old_address, old_end, map->address,
				    end - map->address, map->flags & MREMAP_DONTUNMAP);
}

static bool heap_set(struct mappings *mappings, uint64_t begin, uint64_t end, uint32_t stack,
		     uint32_t thread)
{
	if (mappings->heap != MAPPINGS_NOBODY) {
		mappings->all.items[mappings->heap].changed_ns = mappings->now_ns;
		return mappings_pieces_set(&mappings->pieces, begin, end, mappings->heap,
					   PROT_READ | PROT_WRITE);
	}
	mappings->heap = mappings_add(mappings, begin, end,
				      &(struct mapping) {
					      .name = "[heap]",
					      .stack = stack,
					      .thread = thread,
					      .prot = PROT_READ | PROT_WRITE,
					      .flags = -1,
					      .fd = -1,
					      .is_brk = true,
				      });
	return mappings->heap != MAPPINGS_NOBODY;
}

static bool take_brk(struct mappings *mappings, const struct model_note *note)
{
	const struct tape_map *map = &note->map;
	uint64_t old_end, end;

	if (map->address == UINT64_MAX || map->old_address == 0 || map->address > UINT64_MAX / 2 ||
	    map->old_address > UINT64_MAX / 2)
		return true;
	old_end = align_up(map->old_address, mappings->page_bytes);
	end = align_up(map->address, mappings->page_bytes);
	if (end > old_end)
		return heap_set(mappings, old_end, end, note->stack, note->thread);
	return end == old_end || mappings_pieces_unmap(&mappings->pieces, end, old_end);
}

/* --- snapshots ----------------------------------------------------------------------------- */

/* Snapshots have consecutive parts; after a missing one, waits for the next whole snapshot. */
static bool take_space(struct mappings *mappings, const struct model_note *note)
{
	const bool is_first = note->space.part == 0;
	const bool begins_anew = is_first && note->space.flags & TAPE_SPACE_WHOLE;

	if (begins_anew)
		mappings->image_is_whole = true;
	else if (!is_first && note->space.part != mappings->next_part)
		mappings->image_is_whole = false;
	mappings->next_part = note->space.part + 1;
	if (!mappings->image_is_whole)
		return true;
	if (!mappings_image_apply(&mappings->image, note->text, begins_anew))
		return false;
	if (!(note->space.flags & TAPE_SPACE_LAST))
		return true;
	mappings->next_part = 0;
	return mappings_reconcile(
		mappings, &(struct mappings_snapshot) {
				  .begin_ns = model_ns(mappings->model, note->space.begin_ticks),
				  .end_ns = note->ns });
}

static bool note_take(struct mappings *mappings, const struct model_note *note)
{
	mappings->now_ns = note->ns;
	if (note->type == TAPE_EXT_MMAP)
		return take_mmap(mappings, note);
	if (note->type == TAPE_EXT_MUNMAP)
		return take_munmap(mappings, note);
	if (note->type == TAPE_EXT_MPROTECT)
		return take_mprotect(mappings, note);
	if (note->type == TAPE_EXT_MREMAP)
		return take_mremap(mappings, note);
	if (note->type == TAPE_EXT_BRK)
		return take_brk(mappings, note);
	if (note->type == TAPE_EXT_SPACE)
		return take_space(mappings, note);
	return true;
}

static struct err *advance(struct mappings *mappings, size_t note_end)
{
	for (; mappings->next_note < note_end; mappings->next_note++)
		if (!note_take(mappings, &model_notes(mappings->model)[mappings->next_note]))
			return err_nomem();
	return NULL;
}

struct err *mappings_advance(struct mappings *mappings, uint64_t ns)
{
	const struct model_note *notes = model_notes(mappings->model);
	size_t end = mappings->next_note;

	assert(mappings->next_note <= model_note_count(mappings->model));
	while (end < model_note_count(mappings->model) && notes[end].ns <= ns)
		end++;
	return advance(mappings, end);
}

struct err *mappings_advance_snapshot(struct mappings *mappings, size_t snapshot)
{
	assert(snapshot < mappings->snapshots.count);
	return advance(mappings, mappings->snapshots.items[snapshot].last_note + 1);
}

/* Finds complete snapshots that build on a whole one. */
static bool find_snapshots(struct mappings *mappings)
{
	uint32_t next_part = 0;
	bool is_whole = false;

	for (size_t i = 0; i < model_note_count(mappings->model); i++) {
		const struct model_note *note = &model_notes(mappings->model)[i];

		if (note->type != TAPE_EXT_SPACE)
			continue;
		if (note->space.part == 0 && note->space.flags & TAPE_SPACE_WHOLE)
			is_whole = true;
		else if (note->space.part != 0 && note->space.part != next_part)
			is_whole = false;
		next_part = note->space.part + 1;
		if (!(note->space.flags & TAPE_SPACE_LAST))
			continue;
		next_part = 0;
		if (is_whole &&
		    !mappings_snapshot_vec_push(
			    &mappings->snapshots,
			    (struct mappings_snapshot) {
				    .begin_ns = model_ns(mappings->model, note->space.begin_ticks),
				    .end_ns = note->ns,
				    .last_note = i }))
			return false;
	}
	return true;
}

/* A tape says anything; of importers' it is not known. */
static uint64_t page_bytes_of(const struct model *model)
{
	enum { SMALLEST = 4096, LARGEST = 1 << 24 };
	const uint64_t bytes = model_process(model)->page_bytes;

	return bytes >= SMALLEST && bytes <= LARGEST && (bytes & (bytes - 1)) == 0 ? bytes
										   : SMALLEST;
}

struct err *mappings_create(const struct model *model, struct mappings **mappings_ret)
{
	CLEAN(mappings_destroy) struct mappings *mappings = calloc(1, sizeof(*mappings));

	assert(model);
	if (!mappings)
		return err_nomem();
	mappings->model = model;
	mappings->page_bytes = page_bytes_of(model);
	mappings->heap = MAPPINGS_NOBODY;
	mappings->pieces.changed = piece_changed;
	mappings->pieces.context = mappings;
	if (!find_snapshots(mappings))
		return err_nomem();
	*mappings_ret = steal(mappings);
	return NULL;
}

/* --- parts --------------------------------------------------------------------------------- */

struct mappings_parts mappings_parts_begin(const struct mappings *mappings)
{
	return (struct mappings_parts) { .mappings = mappings };
}

bool mappings_parts_next(struct mappings_parts *parts, struct mappings_part *part_ret)
{
	const struct mappings_extent_vec *extents = &parts->mappings->image.all;
	const struct mappings_piece_vec *pieces = &parts->mappings->pieces.all;
	const struct mappings_extent *extent;
	size_t at;

	assert(parts->extent <= extents->count);
	while (parts->extent < extents->count && parts->at >= extents->items[parts->extent].end)
		parts->extent++;
	if (parts->extent == extents->count)
		return false;
	extent = &extents->items[parts->extent];
	parts->at = u64_max(parts->at, extent->begin);
	at = mappings_pieces_find(&parts->mappings->pieces, parts->at);
	*part_ret = (struct mappings_part) {
		.extent = extent, .begin = parts->at, .end = extent->end, .mapping = MAPPINGS_NOBODY
	};
	if (at < pieces->count && pieces->items[at].begin <= parts->at) {
		part_ret->mapping = pieces->items[at].mapping;
		part_ret->end = u64_min(extent->end, pieces->items[at].end);
	} else if (at < pieces->count) {
		part_ret->end = u64_min(extent->end, pieces->items[at].begin);
	}
	parts->at = part_ret->end;
	return true;
}
