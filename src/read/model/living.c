#include "model/living.h"

#include <assert.h>

#include "base/sort.h"
#include "model/replay.h"

struct play {
	struct living *living;
	struct replay replay;
	uint64_t until_ticks;
};

static bool remove_range(struct mapped *mapped, uint64_t begin, uint64_t bytes)
{
	uint64_t removed;

	return mapped_remove(mapped, begin, bytes, &removed);
}

static bool see_mapping(struct living *living, uint32_t stack, enum tape_extended type,
			const struct tape_map *map)
{
	struct mapped *mapped = &living->mapped;

	if (map->address == UINT64_MAX)
		return true; /* the call failed */
	if (type == TAPE_EXT_MREMAP && !remove_range(mapped, map->old_address, map->old_bytes))
		return false;
	if (!remove_range(mapped, map->address, map->bytes))
		return false;
	if (type == TAPE_EXT_MUNMAP)
		return true;
	return mapped_add(mapped, map->address, map->bytes) &&
	       living_mappings_push(
		       &living->mappings,
		       (struct living_mapping) {
			       map->address,
			       map->address + u64_min(map->bytes, UINT64_MAX - map->address),
			       stack });
}

static bool see_clock(struct living *living, const struct tape_extended_record *record)
{
	struct tape_clock_pair pair;

	if (record->payload_bytes < sizeof(pair))
		return true;
	memcpy(&pair, record->payload, sizeof(pair));
	return living_clocks_push(&living->clocks, pair);
}

static void see_scan(struct living *living, const struct tape_extended_record *record)
{
	struct tape_scan_begin begin;

	if (record->type != TAPE_EXT_SCAN_BEGIN || record->payload_bytes < sizeof(begin))
		return;
	memcpy(&begin, record->payload, sizeof(begin));
	living->scan_id = begin.id > living->scan_id ? begin.id : living->scan_id;
}

/* What is of interest whenever it was. */
static bool see_any(struct living *living, const struct capture_event *event)
{
	struct tape_extended_record record;

	if (event->fn != TAPE_FN_EXTENDED)
		return true;
	record = capture_event_extended(event);
	if (record.type == TAPE_EXT_END && record.payload_bytes >= sizeof(living->end))
		memcpy(&living->end, record.payload, sizeof(living->end));
	see_scan(living, &record);
	return record.type != TAPE_EXT_CLOCK || see_clock(living, &record);
}

static bool see_extended(struct living *living, const struct capture_event *event)
{
	const struct tape_extended_record record = capture_event_extended(event);
	struct tape_map map;

	if ((record.type != TAPE_EXT_MMAP && record.type != TAPE_EXT_MUNMAP &&
	     record.type != TAPE_EXT_MREMAP) ||
	    record.payload_bytes < sizeof(map))
		return true;
	memcpy(&map, record.payload, sizeof(map));
	return see_mapping(living, event->stack, (enum tape_extended)record.type, &map);
}

static struct err *on_events(void *context, const struct capture_event *events, size_t count)
{
	struct play *play = context;
	struct err *err = NULL;
	size_t end = 0;

	for (size_t i = 0; i < count; i++)
		if (!see_any(play->living, &events[i]))
			return err_nomem();
	while (end < count && events[end].ticks <= play->until_ticks)
		end++;
	for (size_t i = 0; i < end; i++) /* the last is not always the latest */
		play->living->last_ticks = u64_max(play->living->last_ticks, events[i].ticks);
	if (!replay_reserve_stacks(&play->replay, play->living->stacks.nodes.count))
		return err_nomem();
	for (size_t i = 0; i < end && !err; i++) {
		size_t played;

		err = replay_events(&play->replay, events + i, end - i, &played);
		i += played;
		if (!err && i < end && !see_extended(play->living, &events[i]))
			err = err_nomem();
	}
	return err;
}

static struct err *take_blocks(struct living_blocks *living, const struct blocks *blocks)
{
	if (!living_blocks_reserve(living, blocks->live_count + 1))
		return err_nomem();
	for (size_t i = 1; i <= blocks->used_count; i++)
		if (block_is_live(&blocks->items[i]))
			living->items[living->count++] =
				(struct living_block) { blocks->items[i].address,
							blocks->items[i].size };
	return sort_by_u64(living->items, living->count, sizeof(*living->items),
			   offsetof(struct living_block, address))
		       ? NULL
		       : err_nomem();
}

struct err *living_read(const struct capture *capture, uint64_t until_ticks, struct living *living)
{
	CLEAN(living_deinit) struct living own = { 0 };
	struct play *play = calloc(1, sizeof(*play));
	const struct capture_player player = { .events = on_events, .context = play };
	struct capture_played played;
	struct err *err = NULL;

	if (!play)
		return err_nomem();
	own.until_ticks = until_ticks;
	*play = (struct play) { .living = &own, .until_ticks = until_ticks };
	if (!capture_stacks_init(&own.stacks) ||
	    !replay_init(&play->replay, capture_header(capture), NULL) ||
	    !replay_reserve_streams(&play->replay, capture_stream_count(capture)))
		err = err_nomem();
	if (!err)
		err = capture_play(capture, &own.stacks, &player, &played);
	if (!err)
		err = take_blocks(&own.blocks, &play->replay.blocks);
	replay_deinit(&play->replay);
	free(play);
	if (!err) {
		*living = own;
		own = (struct living) { 0 };
	}
	return err;
}

bool living_has(const struct living *living, const struct capture_module *module)
{
	return module->load_ticks <= living->until_ticks &&
	       (module->unload_ticks == UINT64_MAX || module->unload_ticks > living->until_ticks);
}

const struct capture_module *living_module(const struct living *living, uint64_t address)
{
	enum { PAGE = 4096 };
	const struct capture_module_vec *modules = &living->stacks.modules;

	for (size_t i = 0; i < modules->count; i++) {
		const struct capture_module *module = &modules->items[i];

		if (address >= module->begin && address < align_up(module->end, PAGE) &&
		    living_has(living, module))
			return module;
	}
	return NULL;
}

void living_deinit(struct living *living)
{
	living_clocks_deinit(&living->clocks);
	living_blocks_deinit(&living->blocks);
	mapped_deinit(&living->mapped);
	living_mappings_deinit(&living->mappings);
	capture_stacks_deinit(&living->stacks);
	*living = (struct living) { 0 };
}
