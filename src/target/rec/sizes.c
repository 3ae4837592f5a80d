#include "rec/sizes.h"

#include <sys/mman.h>

#include "core/poison.h"

enum { LONG_GRAINS = 4, GRAIN_BITS = 16 };

uint16_t *_Atomic *rec_sizes_root;

static void *map(size_t bytes)
{
	void *memory = rec_map(bytes);

	if (memory && rec_may_call())
		sys_madvise(memory, bytes, REC_MADV_WIPEONFORK);
	return memory;
}

bool rec_sizes_init(void)
{
	if (!rec_sizes_root)
		rec_sizes_root = map(SIZES_ROOT_COUNT * sizeof(*rec_sizes_root));
	return rec_sizes_root != NULL;
}

/* Private memory that the kernel takes away comes back as zeros. */
void rec_sizes_wipe(void)
{
	if (rec_sizes_root)
		sys_madvise(rec_sizes_root, SIZES_ROOT_COUNT * sizeof(*rec_sizes_root),
			    MADV_DONTNEED);
}

/* The entry for an address, creating its leaf if needed; NULL: no memory for one. */
static uint16_t *grain_make(uint64_t address)
{
	const size_t bytes = SIZES_LEAF_COUNT * sizeof(uint16_t);
	uint16_t *_Atomic *place;
	uint16_t *leaf, *none = NULL;

	if (address >> SIZES_ADDRESS_BITS)
		return NULL;
	place = &rec_sizes_root[address >> SIZES_LEAF_SHIFT];
	leaf = atomic_load(place) ? NULL : map(bytes);
	if (leaf && !atomic_compare_exchange_strong(place, &none, leaf))
		rec_unmap(leaf, bytes); /* another thread was faster */
	return rec_sizes_grain(address);
}

/* Two blocks, perhaps of two threads, share the entry. Returns the old value. */
static unsigned half_swap(uint16_t *grain, uint64_t address, unsigned code)
{
	const unsigned shift = address & SIZES_HALF_BYTES ? 4 : 0;
	uint16_t old = __atomic_load_n(grain, __ATOMIC_SEQ_CST);
	unsigned halves;

	do {
		halves =
			old < SIZES_HALVES ? 0 : old & 0xff; /* else a block whose free is unseen */
		halves = (halves & ~(15u << shift)) | code << shift;
	} while (!arch_exchange_u16(grain, &old, (uint16_t)(halves ? SIZES_HALVES | halves : 0)));
	return old < SIZES_HALVES ? 0 : old >> shift & 15;
}

static void long_put(uint64_t address, uint64_t size)
{
	for (unsigned i = 0; i < LONG_GRAINS; i++) { /* they may lie in the next leaf */
		uint16_t *grain = grain_make(address + ((i + 1) << SIZES_GRAIN_SHIFT));

		if (grain)
			*grain = (uint16_t)(size >> i * GRAIN_BITS);
	}
}

static uint64_t long_take(uint64_t address)
{
	uint64_t size = 0;

	for (unsigned i = 0; i < LONG_GRAINS; i++) {
		uint16_t *grain = grain_make(address + ((i + 1) << SIZES_GRAIN_SHIFT));

		if (!grain)
			continue;
		size |= (uint64_t)*grain << i * GRAIN_BITS;
		*grain = 0;
	}
	return size;
}

/* Whether another block may begin eight bytes further on. */
static bool is_half(uint64_t address, uint64_t size)
{
	return (address & 15) ||
	       (size <= SIZES_HALF_BYTES &&
		rec_real.usable_size((void *)(uintptr_t)address) < (size_t)2 * SIZES_HALF_BYTES);
}

REC_COLD void rec_sizes_put_rare(uint64_t address, uint64_t size)
{
	uint16_t *grain = grain_make(address);

	CHECK(rec_sizes_root);
	if (!grain)
		return;
	if (is_half(address, size)) {
		half_swap(grain, address, size <= SIZES_HALF_MAX ? (unsigned)size + 1 : 0);
	} else if (size <= SIZES_PLAIN_MAX) {
		*grain = (uint16_t)(size + 1);
	} else {
		*grain = SIZES_LONG;
		long_put(address, size);
	}
}

REC_COLD uint64_t rec_sizes_take_rare(uint64_t address)
{
	uint16_t *grain = rec_sizes_grain(address);
	unsigned code, half;

	CHECK(rec_sizes_root);
	if (!grain) /* wiped since it was looked up: a handler has forked */
		return SIZES_UNKNOWN;
	code = *(_Atomic uint16_t *)grain;
	if (code == SIZES_LONG) {
		*grain = 0;
		return long_take(address);
	}
	half = code >= SIZES_HALVES ? half_swap(grain, address, 0) : 0;
	return half ? half - 1 : SIZES_UNKNOWN;
}
