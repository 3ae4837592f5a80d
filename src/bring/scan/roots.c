#include "scan/roots.h"

#include <assert.h>

#include "scan/globals.h"
#include "scan/objects.h"
#include "scan/stacks.h"

enum {
	PAGE = 4096,
	ARENA_BYTES = 64 << 20, /* glibc's arenas but the first begin at multiples of this */
	STACK_BYTES_MIN = 16 << 10
};

struct finder {
	const struct roots_request *request;
	struct roots *roots;
	struct frame_tables *tables;
	uint64_t tls_bytes; /* of all modules together, in each thread */
	uint32_t allocator; /* the library with the allocator; UINT32_MAX: libc or the program */
	bool failed;	    /* out of memory */
};

void roots_deinit(struct roots *roots)
{
	graph_roots_deinit(&roots->ranges);
	scan_image_holders_deinit(&roots->holders);
	scan_image_frames_deinit(&roots->frames);
	str_deinit(&roots->texts);
}

static uint32_t add_holder(struct finder *finder, enum tape_scan_holder kind, pid_t tid,
			   uint64_t begin, uint64_t end, const char *name)
{
	struct roots *roots = finder->roots;
	const struct scan_image_holder holder = {
		.kind = kind,
		.tid = (uint32_t)tid,
		.begin = begin,
		.end = end,
		.name = *name ? (uint32_t)roots->texts.len : 0,
	};

	if (*name) {
		str_add(&roots->texts, name);
		str_add_char(&roots->texts, '\0');
	}
	finder->failed |= !scan_image_holders_push(&roots->holders, holder);
	return (uint32_t)roots->holders.count - 1;
}

static void add_range(struct finder *finder, uint32_t holder, uint64_t begin, uint64_t end,
		      bool starts_only)
{
	const struct graph_root root = {
		.begin = begin, .end = end, .holder = holder, .starts_only = starts_only
	};

	if (begin < end)
		finder->failed |= !graph_roots_push(&finder->roots->ranges, root);
}

static void add_held(struct finder *finder, enum tape_scan_holder kind, pid_t tid, uint64_t begin,
		     uint64_t end, const char *name)
{
	if (begin < end)
		add_range(finder, add_holder(finder, kind, tid, begin, end, name), begin, end,
			  false);
}

/* --- variables of loaded objects ------------------------------------------------------------- */

/* What lies between variables is held by all of the range. */
static void add_variables(struct finder *finder, const struct capture_module *module,
			  const struct globals *globals, uint64_t begin, uint64_t end)
{
	/* Its malloc keeps lists of free chunks there: addresses inside the block before. */
	const bool starts_only = objects_is_libc(module->path);
	const uint32_t rest = add_holder(finder, TAPE_SCAN_GLOBAL, 0, begin, end, "");
	uint64_t at = begin;

	for (size_t i = 0; i < globals->variables.count; i++) {
		const struct globals_variable *variable = &globals->variables.items[i];
		const uint64_t from = u64_max(variable->begin + module->bias, at);
		const uint64_t to = u64_min(variable->end + module->bias, end);

		if (variable->begin > UINT64_MAX - module->bias || from >= to)
			continue;
		add_range(finder, rest, at, from, starts_only);
		add_range(finder,
			  add_holder(finder, TAPE_SCAN_GLOBAL, 0, from, to,
				     globals->texts.ptr + variable->name),
			  from, to, starts_only);
		at = to;
	}
	add_range(finder, rest, at, end, starts_only);
}

/* What it maps has its lists, which point to every block. The program itself maps more. */
static uint32_t allocator_find(const struct capture_stacks *stacks)
{
	const struct capture_module *module = objects_allocators(stacks, "").instead;
	const size_t index = module ? (size_t)(module - stacks->modules.items) : 0;

	return index == 0 || objects_is_libc(module->path) ? UINT32_MAX : (uint32_t)index;
}

static struct err *add_module(struct finder *finder, const struct capture_module *module)
{
	const struct maps *maps = finder->request->maps;
	CLEAN(globals_deinit) struct globals globals = { 0 };
	struct err *err = globals_read(module->path, &globals);

	if (err)
		return err;
	finder->tls_bytes += globals.tls_bytes;
	for (size_t i = 0; i < maps->entries.count; i++) {
		const struct maps_entry *entry = &maps->entries.items[i];
		const uint64_t begin = u64_max(entry->begin, module->begin);
		const uint64_t end = u64_min(entry->end, align_up(module->end, PAGE));

		if (entry->is_readable && entry->is_writable && !entry->is_shared && begin < end)
			add_variables(finder, module, &globals, begin, end);
	}
	return NULL;
}

static struct err *add_modules(struct finder *finder)
{
	const struct capture_module_vec *modules = &finder->request->living->stacks.modules;
	struct err *err = NULL;

	for (size_t i = 0; i < modules->count && !err; i++)
		if (living_has(finder->request->living, &modules->items[i]) &&
		    !objects_is_recorder(modules->items[i].path))
			err = add_module(finder, &modules->items[i]);
	return err;
}

/* --- stacks and registers -------------------------------------------------------------------- */

static const struct stack_place *place_of(const struct roots_request *request, pid_t tid)
{
	for (size_t i = 0; i < request->place_count; i++)
		if (request->places[i].tid == (uint32_t)tid && request->places[i].top > 0)
			return &request->places[i];
	return NULL;
}

static bool is_on(const struct stack_place *place, uint64_t sp)
{
	return place && sp >= place->limit && sp < place->top;
}

/* How many blocks begin before the address. */
static size_t blocks_before(const struct living *living, uint64_t address)
{
	size_t low = 0, high = living->blocks.count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (living->blocks.items[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The block that contains the address; NULL: none. */
static const struct living_block *block_at(const struct living *living, uint64_t address)
{
	const size_t count = blocks_before(living, address + 1);
	const struct living_block *last = living->blocks.items + count - 1;

	return count > 0 && address - last->address < last->size_bytes ? last : NULL;
}

static bool is_in_call(const struct stop_thread *thread)
{
	return (int64_t)thread->registers[ARCH_REGSET_NUMBER] >= 0;
}

static uint64_t stack_pointer(const struct roots_request *request, const struct stop_thread *thread)
{
	const uint64_t sp = thread->registers[ARCH_REGSET_SP];

	if (thread->tid == request->exit_tid && request->exit_sp)
		return request->exit_sp;
	return is_in_call(thread) ? sp : sp - ARCH_RED_ZONE_BYTES;
}

/* The stack's end: libc's thread-local memory and control block of the thread are at the top. */
static void add_stack_range(struct finder *finder, const struct stop_thread *thread, uint64_t begin,
			    uint64_t end)
{
	const uint64_t control = thread->registers[ARCH_REGSET_THREAD];
	uint64_t tls = end;

	uint32_t holder;

	begin = align_up(begin, sizeof(uint64_t));
	if (control >= begin && control < end)
		tls = u64_max(begin, control - u64_min(finder->tls_bytes, control - begin)) &
		      ~UINT64_C(7);
	if (begin < tls) {
		holder = add_holder(finder, TAPE_SCAN_STACK, thread->tid, begin, tls, "");
		add_range(finder, holder, begin, tls, false);
		finder->failed |=
			thread->is_stopped &&
			!stack_frames_find(finder->tables, &finder->request->memory, thread, begin,
					   tls, holder, &finder->roots->frames);
	}
	add_held(finder, TAPE_SCAN_TLS, thread->tid, tls, end, "");
}

static void add_stack(struct finder *finder, const struct stop_thread *thread)
{
	const struct roots_request *request = finder->request;
	const struct stack_place *place = place_of(request, thread->tid);
	const uint64_t sp = stack_pointer(request, thread);
	const struct living_block *block = block_at(request->living, sp);
	const struct maps_entry *entry = maps_find(request->maps, sp);

	if (thread->is_stopped && is_on(place, sp)) {
		add_stack_range(finder, thread, sp, place->top);
		return;
	}
	if (thread->is_stopped && block)
		add_stack_range(finder, thread, sp, block->address + block->size_bytes);
	else if (thread->is_stopped && entry)
		add_stack_range(finder, thread, sp, entry->end);
	/* It runs on another stack, or does not stand still: then all of its own counts. */
	if (place) {
		entry = maps_find(request->maps, place->top - 1);
		if (entry)
			add_stack_range(finder, thread, u64_max(place->limit, entry->begin),
					place->top);
	}
}

static void add_register_range(struct finder *finder, uint32_t holder, uint64_t begin,
			       const void *bytes, uint64_t size)
{
	const struct graph_root root = {
		.begin = begin,
		.end = begin + size,
		.holder = holder,
		.bytes = bytes,
	};

	if (size > 0)
		finder->failed |= !graph_roots_push(&finder->roots->ranges, root);
}

static void add_registers(struct finder *finder, const struct stop_thread *thread)
{
	const uint64_t size = sizeof(thread->registers);
	const uint64_t vector_bytes =
		thread->tid == finder->request->exit_tid ? 0 : thread->vector_bytes & ~UINT64_C(7);
	uint32_t holder;

	if (!thread->is_stopped)
		return;
	holder = add_holder(finder, TAPE_SCAN_REGISTERS, thread->tid, 0, size + vector_bytes, "");
	add_register_range(finder, holder, 0, thread->registers, size);
	add_register_range(finder, holder, size, thread->vectors, vector_bytes);
}

/* --- other mappings -------------------------------------------------------------------------- */

static bool has_blocks(const struct living *living, uint64_t begin, uint64_t end)
{
	const size_t first = blocks_before(living, begin);

	return first < living->blocks.count && living->blocks.items[first].address < end;
}

static bool holds_stack(const struct finder *finder, const struct maps_entry *entry)
{
	const struct roots_request *request = finder->request;
	const struct stop_threads *threads = &request->stop->threads;

	for (size_t i = 0; i < threads->count; i++) {
		const struct stack_place *place = place_of(request, threads->items[i].tid);
		const uint64_t sp = stack_pointer(request, &threads->items[i]);

		if ((sp >= entry->begin && sp < entry->end) ||
		    (place && place->top > entry->begin && place->top <= entry->end))
			return true;
	}
	return false;
}

/* heap_info of glibc's malloc: the arena's address, the heap before it, two sizes. */
static bool is_arena(const struct finder *finder, const struct maps_entry *entry)
{
	const uint64_t bytes = entry->end - entry->begin;
	uint64_t words[4];

	return entry->begin % ARENA_BYTES == 0 && bytes <= ARENA_BYTES &&
	       memory_read(&finder->request->memory, entry->begin, words, sizeof(words)) &&
	       words[0] != 0 && words[2] <= ARENA_BYTES && words[3] <= ARENA_BYTES &&
	       words[2] <= words[3];
}

/* The pid of the thread whose thread-local memory is in there; 0: none. */
static pid_t tls_owner(const struct finder *finder, const struct maps_entry *entry)
{
	const struct stop_threads *threads = &finder->request->stop->threads;

	for (size_t i = 0; i < threads->count; i++) {
		const uint64_t control = threads->items[i].registers[ARCH_REGSET_THREAD];

		if (control >= entry->begin && control < entry->end)
			return threads->items[i].tid;
	}
	return 0;
}

/* Whether the call that mapped the address came from the library with the allocator. */
static bool is_allocators(const struct finder *finder, uint64_t address)
{
	const struct living *living = finder->request->living;

	for (size_t i = living->mappings.count; i-- > 0;) {
		const struct living_mapping *mapping = &living->mappings.items[i];

		if (address >= mapping->begin && address < mapping->end)
			return mapping->stack >= CAPTURE_STACK_FIRST &&
			       living->stacks.nodes.items[mapping->stack].module ==
				       finder->allocator;
	}
	return false;
}

/* Of a range with an allocator's memory: only what the program has mapped itself. */
static void add_own_mappings(struct finder *finder, const struct maps_entry *entry)
{
	const struct mapped_ranges *ranges = &finder->request->living->mapped.ranges;

	for (size_t i = 0; i < ranges->count; i++) {
		const uint64_t begin = u64_max(ranges->items[i].begin, entry->begin);
		const uint64_t end = u64_min(ranges->items[i].end, entry->end);

		if (begin < end && !has_blocks(finder->request->living, begin, end) &&
		    !is_allocators(finder, begin))
			add_held(finder, TAPE_SCAN_MAPPING, 0, begin, end, "");
	}
}

static bool is_own_mapping(const struct finder *finder, const struct maps_entry *entry)
{
	const struct mapped_ranges *ranges = &finder->request->living->mapped.ranges;

	for (size_t i = 0; i < ranges->count; i++)
		if (ranges->items[i].begin < entry->end && ranges->items[i].end > entry->begin)
			return true;
	return false;
}

static void add_anonymous(struct finder *finder, const struct maps_entry *entry)
{
	const struct roots_request *request = finder->request;
	const struct stacks left = { request->stop, request->maps, &request->memory };
	const pid_t owner = tls_owner(finder, entry);
	uint64_t begin, end;

	if (holds_stack(finder, entry))
		return;
	if (has_blocks(request->living, entry->begin, entry->end) || is_arena(finder, entry) ||
	    is_allocators(finder, entry->begin))
		add_own_mappings(finder, entry);
	else if (owner)
		add_held(finder, TAPE_SCAN_TLS, owner, entry->begin, entry->end, "");
	else if (is_own_mapping(finder, entry) || !stacks_is_left(&left, entry))
		add_held(finder, TAPE_SCAN_MAPPING, 0, entry->begin, entry->end,
			 maps_name(request->maps, entry));
	else if (stacks_unjoined(&left, entry, &begin, &end))
		add_held(finder, TAPE_SCAN_TLS, 0, begin, end, "");
}

static bool begins(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

/* Memory of devices may do anything when it is read. */
static bool is_device(const char *name)
{
	return begins(name, "/dev/") && !begins(name, "/dev/shm/") && !begins(name, "/dev/zero");
}

static void add_mapping(struct finder *finder, const struct maps_entry *entry)
{
	const struct roots_request *request = finder->request;
	const char *name = maps_name(request->maps, entry);

	if (!entry->is_readable || !entry->is_writable || entry->is_undumped || is_device(name) ||
	    begins(name, "[v") || (entry->is_shared && entry->inode == request->spool_inode) ||
	    living_module(request->living, entry->begin))
		return;
	if (begins(name, "[heap"))
		add_own_mappings(finder, entry);
	else if (entry->is_shared || entry->is_file)
		add_held(finder, TAPE_SCAN_MAPPING, 0, entry->begin, entry->end, name);
	else
		add_anonymous(finder, entry);
}

struct err *roots_find(const struct roots_request *request, struct roots *roots)
{
	CLEAN(roots_deinit) struct roots own = { 0 };
	CLEAN(frame_tables_destroy)
	struct frame_tables *tables = frame_tables_create(request->living);
	struct finder finder = { .request = request,
				 .roots = &own,
				 .tables = tables,
				 .allocator = allocator_find(&request->living->stacks) };
	const struct stop_threads *threads = &request->stop->threads;
	struct err *err;

	assert(request->memory.read);
	if (!tables)
		return err_nomem();
	str_add_char(&own.texts, '\0');
	err = add_modules(&finder);
	for (size_t i = 0; i < threads->count && !err; i++) {
		add_stack(&finder, &threads->items[i]);
		add_registers(&finder, &threads->items[i]);
	}
	for (size_t i = 0; i < request->maps->entries.count && !err; i++)
		add_mapping(&finder, &request->maps->entries.items[i]);
	if (!err && (finder.failed || own.texts.failed))
		err = err_nomem();
	if (err)
		return err;
	*roots = own;
	own = (struct roots) { 0 };
	return NULL;
}
