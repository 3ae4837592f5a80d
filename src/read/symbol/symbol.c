#include "symbol/symbol.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/sort.h"
#include "symbol/object.h"

enum { THREADS_MAX = 64, DEBUG_DIRS_MAX = 64 };

VEC_DEFINE(objects, struct object *);

struct symbolizer {
	struct object_env env;
	pthread_mutex_t debuginfod_lock;
	struct arena arena;
	struct interner object_keys; /* path and build-id; ids are those of objects */
	struct objects objects;
	unsigned thread_count;
};

static const struct symbol_frame out_of_memory = { .function = "(out of memory)", .module = "" };

static unsigned processor_count(void)
{
	const long count = sysconf(_SC_NPROCESSORS_ONLN);

	return count < 1 ? 1 : (unsigned)u64_min((uint64_t)count, THREADS_MAX);
}

/* Those given, /usr/lib/debug below the sysroot, and /usr/lib/debug. */
static const char *const *debug_dirs_make(struct arena *arena, const struct symbol_options *options)
{
	const char **dirs = arena_array(arena, DEBUG_DIRS_MAX + 3, sizeof(*dirs));
	size_t count = 0;

	if (!dirs)
		return NULL;
	for (;
	     options && options->debug_dirs && options->debug_dirs[count] && count < DEBUG_DIRS_MAX;
	     count++)
		dirs[count] = options->debug_dirs[count];
	if (options && options->paths && options->paths->sysroot) {
		dirs[count] = arena_printf(arena, "%s/usr/lib/debug", options->paths->sysroot);
		count += dirs[count] != NULL;
	}
	dirs[count] = "/usr/lib/debug";
	return dirs;
}

struct symbolizer *symbolizer_create(const struct symbol_options *options)
{
	CLEAN(symbolizer_destroy) struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));

	if (!symbolizer)
		return NULL;
	pthread_mutex_init(&symbolizer->debuginfod_lock, NULL);
	symbolizer->env.debuginfod_lock = &symbolizer->debuginfod_lock;
	symbolizer->env.debug_dirs = debug_dirs_make(&symbolizer->arena, options);
	symbolizer->thread_count = processor_count();
	if (!symbolizer->env.debug_dirs)
		return NULL;
	if (options) {
		symbolizer->env.paths = options->paths;
		symbolizer->env.debuginfod = options->debuginfod;
		symbolizer->env.cache = options->cache;
		symbolizer->env.embedded = options->embedded;
		if (options->thread_count)
			symbolizer->thread_count =
				(unsigned)u64_min(options->thread_count, THREADS_MAX);
	}
	return steal(symbolizer);
}

void symbolizer_destroy(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	for (size_t i = 0; i < symbolizer->objects.count; i++)
		object_destroy(symbolizer->objects.items[i]);
	objects_deinit(&symbolizer->objects);
	interner_deinit(&symbolizer->object_keys);
	arena_deinit(&symbolizer->arena);
	pthread_mutex_destroy(&symbolizer->debuginfod_lock);
	free(symbolizer);
}

uint32_t symbolizer_object(struct symbolizer *symbolizer, const char *path, const char *file,
			   const uint8_t *build_id, size_t build_id_bytes)
{
	CLEAN(str_deinit) struct str key = { 0 };
	struct object *object;
	uint32_t id;

	assert(build_id || build_id_bytes == 0);
	for (size_t i = 0; i < build_id_bytes; i++)
		str_printf(&key, "%02x", build_id[i]);
	str_printf(&key, ":%s", path);
	if (file)
		str_printf(&key, "\n%s", file);
	if (key.failed)
		return UINT32_MAX;
	id = interner_put(&symbolizer->object_keys, key.ptr, key.len);
	if (id < symbolizer->objects.count || id == UINT32_MAX)
		return id;
	object = object_create(&symbolizer->env, path, file, build_id, build_id_bytes);
	if (!object)
		return UINT32_MAX;
	if (!objects_push(&symbolizer->objects, object)) {
		object_destroy(object);
		return UINT32_MAX;
	}
	return id;
}

/* --- many at once ---------------------------------------------------------------------------- */

/* Requests of one object: work for one thread. */
struct batch {
	const struct symbol_request *requests;
	size_t count;
};

VEC_DEFINE(batches, struct batch);

struct crew {
	struct symbolizer *symbolizer;
	const struct batches *batches;
	atomic_size_t next;
};

static void *crew_work(void *context)
{
	struct crew *crew = context;
	size_t i;

	while ((i = atomic_fetch_add(&crew->next, 1)) < crew->batches->count) {
		const struct batch *batch = &crew->batches->items[i];
		struct object *object = crew->symbolizer->objects.items[batch->requests[0].object];

		for (size_t at = 0; at < batch->count; at++)
			object_frames(object, batch->requests[at].address);
		object_keep(object);
	}
	return NULL;
}

/* The caller works too; without more threads it does all. */
static void crew_run(struct symbolizer *symbolizer, const struct batches *batches)
{
	struct crew crew = { .symbolizer = symbolizer, .batches = batches };
	pthread_t threads[THREADS_MAX];
	const size_t wanted = u64_min(symbolizer->thread_count, batches->count);
	size_t count = 0;

	while (count + 1 < wanted && pthread_create(&threads[count], NULL, crew_work, &crew) == 0)
		count++;
	crew_work(&crew);
	while (count > 0)
		pthread_join(threads[--count], NULL);
}

int symbol_request_compare(const void *context, const void *a, const void *b)
{
	const struct symbol_request *left = a;
	const struct symbol_request *right = b;

	(void)context;
	if (left->object != right->object)
		return left->object < right->object ? -1 : 1;
	return sort_compare_u64(left->address, right->address);
}

/* Largest number of addresses first: the longest work must not start last. */
static int batch_compare(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(((const struct batch *)b)->count, ((const struct batch *)a)->count);
}

void symbolizer_resolve(struct symbolizer *symbolizer, struct symbol_request *requests,
			size_t count)
{
	CLEAN(batches_deinit) struct batches batches = { 0 };

	assert(requests || count == 0);
	/* If out of memory: whatever is not ready is looked up on demand. */
	if (!sort_stable(requests, count, sizeof(*requests), symbol_request_compare, NULL))
		return;
	for (size_t begin = 0, end; begin < count; begin = end) {
		for (end = begin + 1;
		     end < count && requests[end].object == requests[begin].object;)
			end++;
		if (requests[begin].object >= symbolizer->objects.count)
			break;
		if (!batches_push(&batches, (struct batch) { requests + begin, end - begin }))
			return;
	}
	if (sort_stable(batches.items, batches.count, sizeof(*batches.items), batch_compare, NULL))
		crew_run(symbolizer, &batches);
}

struct symbol_frames symbolizer_frames(struct symbolizer *symbolizer, uint32_t object,
				       uint64_t address)
{
	const struct symbol_frames none = { &out_of_memory, 1 };
	const struct symbol_frames *frames = NULL;

	if (object < symbolizer->objects.count)
		frames = object_frames(symbolizer->objects.items[object], address);
	return frames ? *frames : none;
}

struct symbol_variable symbolizer_variable(struct symbolizer *symbolizer, uint32_t object,
					   uint64_t address)
{
	struct debug_variable found;

	if (object >= symbolizer->objects.count ||
	    !object_variable(symbolizer->objects.items[object], address, &found))
		return (struct symbol_variable) { 0 };
	return (struct symbol_variable) { found.type, found.file, found.line };
}

enum symbol_state symbolizer_object_state(const struct symbolizer *symbolizer, uint32_t object)
{
	if (object >= symbolizer->objects.count)
		return SYMBOL_UNREAD;
	return symbolizer->objects.items[object]->state;
}

struct symbol_source symbolizer_source(struct symbolizer *symbolizer, uint32_t number)
{
	struct object *object;

	if (number >= symbolizer->objects.count)
		return (struct symbol_source) { 0 };
	object = symbolizer->objects.items[number];
	object_open(object);
	return (struct symbol_source) {
		.state = object->state,
		.object_path = object->file ? object->found_path : NULL,
		.debug_path = object->debug_path,
		.is_fetched = object->is_fetched,
		.is_embedded = object->embedded != NULL,
		.cached_count = object->cached.bytes ? object->cached.pack.header->place_count : 0,
	};
}

void symbol_frames_pack(const struct symbol_frames *frames, uint64_t address,
			struct pack_builder *builder)
{
	assert(frames->count > 0);
	pack_add_place(builder, address);
	for (size_t i = 0; i < frames->count; i++) {
		const struct symbol_frame *frame = &frames->frames[i];

		pack_add_frame(builder, frame->function, frame->file, frame->line,
			       (frame->is_inlined ? PACK_FRAME_INLINED : 0) |
				       (frame->is_known ? PACK_FRAME_KNOWN : 0) |
				       (uint32_t)frame->column << PACK_FRAME_COLUMN_SHIFT);
	}
}

const char *symbol_state_text(enum symbol_state state)
{
	assert(state <= SYMBOL_VIRTUAL);
	switch (state) {
	case SYMBOL_UNREAD:
		return "not needed";
	case SYMBOL_LINES:
		return "functions and lines";
	case SYMBOL_NAMES:
		return "functions, no lines: no debug information installed";
	case SYMBOL_EXPORTS:
		return "exported functions only: stripped, no debug information installed";
	case SYMBOL_NONE:
		return "no symbols at all";
	case SYMBOL_MISSING:
		return "file is gone";
	case SYMBOL_STALE:
		return "changed on disk since it was recorded";
	case SYMBOL_VIRTUAL:
		return "made by the kernel";
	}
	return "?";
}
