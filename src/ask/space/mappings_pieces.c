#include "space/mappings_pieces.h"

#include <assert.h>

void mappings_pieces_deinit(struct mappings_pieces *pieces)
{
	mappings_piece_vec_deinit(&pieces->all);
}

size_t mappings_pieces_find(const struct mappings_pieces *pieces, uint64_t address)
{
	size_t low = 0, high = pieces->all.count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (pieces->all.items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void pieces_changed(const struct mappings_pieces *pieces, uint32_t mapping, int64_t bytes)
{
	if (pieces->changed)
		pieces->changed(pieces->context, mapping, bytes);
}

/* Inserts a piece at `at`, or removes count pieces; room was reserved. */
static void insert(struct mappings_pieces *pieces, size_t at, struct mappings_piece piece)
{
	struct mappings_piece *items = pieces->all.items;

	assert(pieces->all.count < pieces->all.capacity);
	memmove(&items[at + 1], &items[at], (pieces->all.count - at) * sizeof(*items));
	items[at] = piece;
	pieces->all.count++;
}

static void erase(struct mappings_pieces *pieces, size_t at, size_t count)
{
	struct mappings_piece *items = pieces->all.items;

	memmove(&items[at], &items[at + count], (pieces->all.count - at - count) * sizeof(*items));
	pieces->all.count -= count;
}

/* Splits a piece that spans the address. Returns the first piece at or after it. */
static size_t cut(struct mappings_pieces *pieces, uint64_t address)
{
	const size_t at = mappings_pieces_find(pieces, address);
	struct mappings_piece right;

	if (at == pieces->all.count || pieces->all.items[at].begin >= address)
		return at;
	right = pieces->all.items[at];
	right.begin = address;
	pieces->all.items[at].end = address;
	insert(pieces, at + 1, right);
	return at + 1;
}

static bool are_alike(const struct mappings_piece *left, const struct mappings_piece *right)
{
	return left->end == right->begin && left->mapping == right->mapping &&
	       left->prot == right->prot;
}

/* Joins equal neighbours in first - 1 .. last. */
static void join(struct mappings_pieces *pieces, size_t first, size_t last)
{
	struct mappings_piece *items = pieces->all.items;

	for (size_t i = u64_min(last, pieces->all.count - 1); i > 0 && i + 1 > first; i--) {
		if (are_alike(&items[i - 1], &items[i])) {
			items[i - 1].end = items[i].end;
			erase(pieces, i, 1);
		}
	}
}

/* Room for two splits and an insertion. */
static bool make_room(struct mappings_pieces *pieces)
{
	return mappings_piece_vec_reserve(&pieces->all, pieces->all.count + 3);
}

/* Removes pieces in the range; room was reserved. Returns their position. */
static size_t clear(struct mappings_pieces *pieces, uint64_t begin, uint64_t end)
{
	const size_t first = cut(pieces, begin);
	const size_t last = cut(pieces, end);

	for (size_t i = first; i < last; i++) {
		const struct mappings_piece *piece = &pieces->all.items[i];

		pieces_changed(pieces, piece->mapping, -(int64_t)(piece->end - piece->begin));
	}
	erase(pieces, first, last - first);
	return first;
}

bool mappings_pieces_set(struct mappings_pieces *pieces, uint64_t begin, uint64_t end,
			 uint32_t mapping, uint32_t prot)
{
	size_t at;

	assert(mapping != UINT32_MAX);
	assert(begin < end);
	if (!make_room(pieces))
		return false;
	at = clear(pieces, begin, end);
	pieces_changed(pieces, mapping, (int64_t)(end - begin));
	insert(pieces, at,
	       (struct mappings_piece) {
		       .begin = begin, .end = end, .mapping = mapping, .prot = prot });
	join(pieces, at, at + 1);
	return true;
}

bool mappings_pieces_unmap(struct mappings_pieces *pieces, uint64_t begin, uint64_t end)
{
	assert(begin < end);
	if (!make_room(pieces))
		return false;
	clear(pieces, begin, end);
	return true;
}

bool mappings_pieces_protect(struct mappings_pieces *pieces, uint64_t begin, uint64_t end,
			     uint32_t prot)
{
	size_t first, last;

	assert(begin < end);
	if (!make_room(pieces))
		return false;
	first = cut(pieces, begin);
	last = cut(pieces, end);
	for (size_t i = first; i < last; i++)
		pieces->all.items[i].prot = prot;
	if (pieces->all.count > 0)
		join(pieces, first, last);
	return true;
}

/* Copies of the pieces in the range, relocated to `to`. */
static bool copy(const struct mappings_pieces *pieces, uint64_t begin, uint64_t end, uint64_t to,
		 struct mappings_piece_vec *copies)
{
	for (size_t i = mappings_pieces_find(pieces, begin);
	     i < pieces->all.count && pieces->all.items[i].begin < end; i++) {
		struct mappings_piece piece = pieces->all.items[i];

		piece.begin = u64_max(piece.begin, begin) - begin + to;
		piece.end = u64_min(piece.end, end) - begin + to;
		if (!mappings_piece_vec_push(copies, piece))
			return false;
	}
	return true;
}

bool mappings_pieces_move(struct mappings_pieces *pieces, uint64_t begin, uint64_t end, uint64_t to,
			  uint64_t bytes, bool keeps_old)
{
	CLEAN(mappings_piece_vec_deinit) struct mappings_piece_vec copies = { 0 };
	const uint64_t kept = u64_min(end - begin, bytes);

	assert(begin < end);
	assert(bytes > 0);
	if (!copy(pieces, begin, begin + kept, to, &copies))
		return false;
	if (copies.count == 0)
		return true;
	if (bytes > kept && copies.items[copies.count - 1].end == to + kept)
		copies.items[copies.count - 1].end = to + bytes;
	/* splits at both ends of both ranges, and the copies: nothing can fail after this */
	if (!mappings_piece_vec_reserve(&pieces->all, pieces->all.count + copies.count * 3 + 8))
		return false;
	if (!keeps_old)
		clear(pieces, begin, end);
	clear(pieces, to, to + bytes);
	for (size_t i = 0; i < copies.count; i++) {
		const size_t at = mappings_pieces_find(pieces, copies.items[i].begin);

		pieces_changed(pieces, copies.items[i].mapping,
			       (int64_t)(copies.items[i].end - copies.items[i].begin));
		insert(pieces, at, copies.items[i]);
		join(pieces, at, at + 1);
	}
	return true;
}
