#include "capture/stacks.h"

#include <assert.h>

#include "base/big.h"
#include "core/hash.h"

/*
 * Programs with millions of stacks spend their reading time here, waiting for memory. A stack is
 * mostly defined in one go, so a node just made has no children to search for, and a node whose
 * parent is the one before it needs no slot: its parent leads to it. The table has the others. A
 * slot holds enough of the hash to avoid reading its node.
 */
enum { SLOTS_FIRST = 1 << 10, NODES_FIRST = 1 << 8, AHEAD = 32 };

/* Room for one more. */
static bool nodes_grow(struct capture_stack_vec *nodes)
{
	const size_t capacity = nodes->capacity ? nodes->capacity * 2 : NODES_FIRST;
	void *items = big_resize(nodes->items, nodes->capacity * sizeof(*nodes->items),
				 capacity * sizeof(*nodes->items));

	if (!items)
		return false;
	nodes->items = items;
	nodes->capacity = capacity;
	return true;
}

bool capture_stacks_init(struct capture_stacks *stacks)
{
	*stacks = (struct capture_stacks) { .slot_count = SLOTS_FIRST };
	stacks->slots = big_alloc(SLOTS_FIRST * sizeof(*stacks->slots));
	if (!stacks->slots || !nodes_grow(&stacks->nodes))
		return false;
	for (uint32_t id = 0; id < CAPTURE_STACK_FIRST; id++)
		stacks->nodes.items[stacks->nodes.count++] =
			(struct capture_stack) { .module = CAPTURE_MODULE_NONE };
	return true;
}

void capture_stacks_deinit(struct capture_stacks *stacks)
{
	big_free(stacks->nodes.items, stacks->nodes.capacity * sizeof(*stacks->nodes.items));
	big_free(stacks->slots, stacks->slot_count * sizeof(*stacks->slots));
	capture_module_vec_deinit(&stacks->modules);
	capture_sighting_vec_deinit(&stacks->sightings);
	arena_deinit(&stacks->arena);
	vec_u32_deinit(&stacks->live);
	vec_u32_deinit(&stacks->unresolved);
	vec_u32_deinit(&stacks->ended);
	vec_u32_deinit(&stacks->epochs);
	*stacks = (struct capture_stacks) { 0 };
}

static const struct capture_module *module_get(const struct capture_stacks *stacks, uint32_t index)
{
	return &stacks->modules.items[index];
}

static bool module_holds(const struct capture_module *module, uint64_t pc)
{
	return pc >= module->begin && pc < module->end;
}

/* Index in `live` of the first module that begins after pc. */
static size_t live_place(const struct capture_stacks *stacks, uint64_t pc)
{
	size_t low = 0, high = stacks->live.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (module_get(stacks, stacks->live.items[middle])->begin <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * A return address after a call that never returns may be the first byte past its module; the byte
 * before it is in the function, so that one is looked up.
 */
static uint64_t code_address(uint64_t pc, bool exact)
{
	return pc - !exact;
}

static uint32_t live_module(const struct capture_stacks *stacks, uint64_t address)
{
	size_t place = live_place(stacks, address);

	if (place == 0 || !module_holds(module_get(stacks, stacks->live.items[place - 1]), address))
		return CAPTURE_MODULE_NONE;
	return stacks->live.items[place - 1];
}

/* Modules loaded and unloaded around this address: pcs of different epochs are different. */
static uint32_t epoch_of(const struct capture_stacks *stacks, uint64_t address)
{
	uint32_t epoch = 0;

	for (size_t i = 0; i < stacks->ended.count; i++)
		epoch += module_holds(module_get(stacks, stacks->ended.items[i]), address);
	return epoch;
}

static uint32_t node_epoch(const struct capture_stacks *stacks, uint32_t id)
{
	return id < stacks->epochs.count ? stacks->epochs.items[id] : 0;
}

static bool node_set_epoch(struct capture_stacks *stacks, uint32_t id, uint32_t epoch)
{
	while (stacks->epochs.count < id)
		if (!vec_u32_push(&stacks->epochs, 0))
			return false;
	return vec_u32_push(&stacks->epochs, epoch);
}

static uint64_t node_hash(uint32_t parent, uint64_t pc, bool exact)
{
	return hash_mix(pc ^ (uint64_t)exact << 63 ^ (uint64_t)parent * 0x9e3779b97f4a7c15);
}

static uint64_t hash_of(const struct capture_stacks *stacks, size_t id)
{
	const struct capture_stack *node = &stacks->nodes.items[id];

	return node_hash(node->parent, node->pc, node->exact);
}

static uint64_t slot_tag(uint64_t hash)
{
	return hash & ~(uint64_t)UINT32_MAX;
}

/* Whether it is found by its parent, without a slot. */
static bool is_next(const struct capture_stacks *stacks, size_t id)
{
	const uint32_t parent = stacks->nodes.items[id].parent;

	return parent >= CAPTURE_STACK_FIRST && parent == id - 1;
}

static void slot_take(uint64_t *slots, size_t mask, uint64_t hash, size_t id)
{
	size_t place = hash & mask;

	while (slots[place])
		place = (place + 1) & mask;
	slots[place] = slot_tag(hash) | id;
}

static bool slots_grow(struct capture_stacks *stacks)
{
	const size_t slot_count = stacks->slot_count * 2, mask = slot_count - 1;
	const size_t count = stacks->nodes.count;
	uint64_t *slots = big_alloc(slot_count * sizeof(*slots));

	if (!slots)
		return false;
	for (size_t id = CAPTURE_STACK_FIRST; id < count; id++) {
		if (id + AHEAD < count && !is_next(stacks, id + AHEAD))
			__builtin_prefetch(&slots[hash_of(stacks, id + AHEAD) & mask], 1);
		if (!is_next(stacks, id))
			slot_take(slots, mask, hash_of(stacks, id), id);
	}
	big_free(stacks->slots, stacks->slot_count * sizeof(*stacks->slots));
	stacks->slots = slots;
	stacks->slot_count = slot_count;
	return true;
}

/* The node's id; UINT32_MAX: out of memory. */
static uint32_t node_add(struct capture_stacks *stacks, uint32_t parent, uint64_t pc, bool exact,
			 uint32_t epoch)
{
	const uint32_t id = (uint32_t)stacks->nodes.count;
	const uint32_t module = live_module(stacks, code_address(pc, exact));
	const struct capture_sighting sighting = { stacks->now_ticks, id };

	if (id >= UINT32_MAX - 1 ||
	    (unlikely(id == stacks->nodes.capacity) && !nodes_grow(&stacks->nodes)) ||
	    (unlikely(epoch > 0) && !node_set_epoch(stacks, id, epoch)))
		return UINT32_MAX;
	if (module == CAPTURE_MODULE_NONE &&
	    (!vec_u32_push(&stacks->unresolved, id) ||
	     !capture_sighting_vec_push(&stacks->sightings, sighting)))
		return UINT32_MAX;
	stacks->nodes.items[stacks->nodes.count++] = (struct capture_stack) {
		.pc = pc, .parent = parent, .module = module & CAPTURE_MODULE_NONE, .exact = exact
	};
	return id;
}

static bool node_is(const struct capture_stacks *stacks, uint32_t id,
		    const struct capture_stack *wanted, uint32_t epoch)
{
	const struct capture_stack *node = &stacks->nodes.items[id];

	return node->pc == wanted->pc && node->parent == wanted->parent &&
	       node->exact == wanted->exact && node_epoch(stacks, id) == epoch;
}

uint32_t capture_stacks_intern(struct capture_stacks *stacks, uint32_t parent, uint64_t pc,
			       bool exact)
{
	const uint32_t epoch = stacks->ended.count ? epoch_of(stacks, code_address(pc, exact)) : 0;
	const struct capture_stack wanted = { .pc = pc, .parent = parent, .exact = exact };
	uint64_t hash;
	size_t place;
	uint32_t id;

	assert(parent < stacks->nodes.count);
	if (parent >= CAPTURE_STACK_FIRST) {
		if (parent == stacks->nodes.count - 1) /* it cannot have children yet */
			return node_add(stacks, parent, pc, exact, epoch);
		if (node_is(stacks, parent + 1, &wanted, epoch))
			return parent + 1;
	}
	if (unlikely(stacks->slotted_count >= stacks->slot_count / 8 * 5) && !slots_grow(stacks))
		return UINT32_MAX;
	hash = node_hash(parent, pc, exact);
	for (place = hash & (stacks->slot_count - 1); stacks->slots[place];
	     place = (place + 1) & (stacks->slot_count - 1)) {
		id = (uint32_t)stacks->slots[place];
		if (slot_tag(stacks->slots[place]) == slot_tag(hash) &&
		    node_is(stacks, id, &wanted, epoch))
			return id;
	}
	id = node_add(stacks, parent, pc, exact, epoch);
	if (id != UINT32_MAX) {
		stacks->slots[place] = slot_tag(hash) | id;
		stacks->slotted_count++;
	}
	return id;
}

static bool live_insert(struct capture_stacks *stacks, uint32_t index)
{
	size_t place = live_place(stacks, module_get(stacks, index)->begin);

	if (!vec_u32_push(&stacks->live, index))
		return false;
	memmove(stacks->live.items + place + 1, stacks->live.items + place,
		(stacks->live.count - 1 - place) * sizeof(*stacks->live.items));
	stacks->live.items[place] = index;
	return true;
}

/* Constructors allocate before dlopen returns and the module is recorded. */
static void resolve(struct capture_stacks *stacks, uint32_t index)
{
	const struct capture_module *module = module_get(stacks, index);
	struct vec_u32 *unresolved = &stacks->unresolved;
	size_t kept = 0;

	for (size_t i = 0; i < unresolved->count; i++) {
		uint32_t id = unresolved->items[i];
		struct capture_stack *node = &stacks->nodes.items[id];
		uint64_t address = code_address(node->pc, node->exact);

		if (module_holds(module, address) &&
		    node_epoch(stacks, id) == epoch_of(stacks, address))
			node->module = index & CAPTURE_MODULE_NONE;
		else
			unresolved->items[kept++] = id;
	}
	unresolved->count = kept;
}

static bool is_live(const struct capture_stacks *stacks, const struct tape_module *module)
{
	for (size_t i = 0; i < stacks->live.count; i++) {
		const struct capture_module *known = module_get(stacks, stacks->live.items[i]);

		if (known->id == module->id && known->begin == module->begin)
			return true;
	}
	return false;
}

bool capture_stacks_load(struct capture_stacks *stacks, const struct tape_module *module,
			 const uint8_t *build_id, const char *path, size_t path_len, uint64_t ticks)
{
	const size_t own_len = strnlen(path, path_len);
	const size_t file_at = own_len + (own_len < path_len);
	struct capture_module known = {
		.id = module->id,
		.path = arena_text(&stacks->arena, path, own_len),
		.file = arena_text(&stacks->arena, path + file_at,
				   strnlen(path + file_at, path_len - file_at)),
		.build_id = (const uint8_t *)arena_text(&stacks->arena, (const char *)build_id,
							module->build_id_bytes),
		.build_id_bytes = module->build_id_bytes,
		.bias = module->bias,
		.begin = module->begin,
		.end = module->end,
		.load_ticks = ticks,
		.unload_ticks = UINT64_MAX,
	};
	uint32_t index = (uint32_t)stacks->modules.count;

	assert(path || path_len == 0);
	assert(build_id || module->build_id_bytes == 0);
	if (is_live(stacks, module))
		return true;
	if (!known.path || !known.file || !known.build_id || index >= CAPTURE_MODULE_NONE ||
	    !capture_module_vec_push(&stacks->modules, known) || !live_insert(stacks, index))
		return false;
	resolve(stacks, index);
	return true;
}

void capture_stacks_unload(struct capture_stacks *stacks, uint32_t module_id, uint64_t ticks)
{
	for (size_t i = 0; i < stacks->live.count; i++) {
		uint32_t index = stacks->live.items[i];
		struct capture_module *module = &stacks->modules.items[index];

		if (module->id != module_id)
			continue;
		module->unload_ticks = ticks;
		memmove(stacks->live.items + i, stacks->live.items + i + 1,
			(stacks->live.count - 1 - i) * sizeof(*stacks->live.items));
		stacks->live.count--;
		/* If out of memory here, two modules may become one: names are then unreliable. */
		(void)!vec_u32_push(&stacks->ended, index);
		return;
	}
}
