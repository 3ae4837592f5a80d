/*
 * Two allocators of the program's own, which count what they do, and print it at the end as JSON:
 *
 *	arenas, in blocks of malloc, which are reset, destroyed, and lie within each other: a child's
 *	first object has the address of its parent's;
 *	pools of objects of one size, in a mapping, used by several threads, whose addresses come
 *	again and again; and strings in an arena that grow in place or move.
 *
 * Some objects are never freed. With the argument `fork` a child goes on with a pool of its parent, and
 * one of its own; with `pause` there are only some objects, before a pause, in it and after it. C and C++.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memtape/memtape.h>

#define NOINLINE __attribute__((noinline))

enum { BLOCK = 16 << 10, OBJECT = 48, SLOTS = 4096, THREADS = 4, NAMES = 5 };

/* --- what the allocators know of themselves ------------------------------------------------- */

struct counts {
	const char *name;
	uint64_t created, destroyed, cleared;
	uint64_t allocated, allocated_bytes, freed, freed_bytes, emptied, emptied_bytes;
	uint64_t live, live_bytes, peak, peak_bytes;
};

static struct counts all[NAMES] = {
	{ "requests", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
	{ "child of a request", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
	{ "nodes", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
	{ "strings", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
	{ "\"kept\"\n", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
};

static void count_begin(struct counts *counts, size_t bytes)
{
	counts->allocated++;
	counts->allocated_bytes += bytes;
	counts->live++;
	counts->live_bytes += bytes;
	if (counts->live_bytes > counts->peak_bytes) {
		counts->peak_bytes = counts->live_bytes;
		counts->peak = counts->live;
	}
}

static void count_end(struct counts *counts, uint64_t count, uint64_t bytes, int is_emptied)
{
	*(is_emptied ? &counts->emptied : &counts->freed) += count;
	*(is_emptied ? &counts->emptied_bytes : &counts->freed_bytes) += bytes;
	counts->live -= count;
	counts->live_bytes -= bytes;
}

/* --- arenas --------------------------------------------------------------------------------- */

struct arena {
	struct counts *counts;
	char *block, *end, *at; /* at: the next object */
	struct arena *parent;	/* whose object the block is; NULL: malloc's */
	uint64_t live, live_bytes;
};

NOINLINE static void *arena_alloc(struct arena *arena, size_t bytes)
{
	const size_t room = (bytes + 15) & ~(size_t)15;
	char *object = arena->at;

	if (room > (size_t)(arena->end - arena->at))
		object = NULL;
	else
		arena->at += room;
	memtape_pool_alloc(arena, object, bytes);
	if (object) {
		count_begin(arena->counts, bytes);
		arena->live++;
		arena->live_bytes += bytes;
	}
	return object;
}

static void arena_create(struct arena *arena, struct counts *counts, struct arena *parent,
			 size_t bytes)
{
	memset(arena, 0, sizeof(*arena));
	arena->counts = counts;
	arena->parent = parent;
	arena->block = (char *)(parent ? arena_alloc(parent, bytes) : malloc(bytes));
	arena->at = arena->block;
	arena->end = arena->block + bytes;
	counts->created++;
	memtape_pool_create(arena, counts->name);
}

static void arena_empty(struct arena *arena)
{
	count_end(arena->counts, arena->live, arena->live_bytes, 1);
	arena->live = arena->live_bytes = 0;
	arena->at = arena->block;
}

static void arena_reset(struct arena *arena)
{
	memtape_pool_clear(arena);
	arena->counts->cleared++;
	arena_empty(arena);
}

static void arena_destroy(struct arena *arena)
{
	memtape_pool_destroy(arena);
	arena->counts->destroyed++;
	arena_empty(arena);
	if (!arena->parent)
		free(arena->block);
}

/* The last object grows where it is; any other moves. */
NOINLINE static char *arena_grow(struct arena *arena, char *old, size_t old_bytes, size_t bytes)
{
	const size_t old_room = (old_bytes + 15) & ~(size_t)15, room = (bytes + 15) & ~(size_t)15;
	char *object = old && old + old_room == arena->at ? old : arena->at;

	if (room > (size_t)(arena->end - object))
		object = NULL;
	memtape_pool_realloc(arena, old, object, bytes);
	if (!object)
		return NULL;
	arena->at = object + room;
	if (old && old != object)
		memcpy(object, old, old_bytes);
	if (old) {
		count_end(arena->counts, 1, old_bytes, 0);
		arena->live--;
		arena->live_bytes -= old_bytes;
	}
	count_begin(arena->counts, bytes);
	arena->live++;
	arena->live_bytes += bytes;
	return object;
}

/* --- objects of one size ---------------------------------------------------------------------- */

struct slot {
	struct slot *next;
};

static struct {
	pthread_mutex_t lock;
	struct slot *first;
	char *memory;
} nodes = { PTHREAD_MUTEX_INITIALIZER, NULL, NULL };

static void nodes_create(void)
{
	nodes.memory = (char *)mmap(NULL, SLOTS * OBJECT, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = SLOTS; i-- > 0;) {
		struct slot *slot = (struct slot *)(void *)(nodes.memory + i * OBJECT);

		slot->next = nodes.first;
		nodes.first = slot;
	}
	all[2].created++;
	memtape_pool_create(&nodes, all[2].name);
}

NOINLINE static void *node_alloc(void)
{
	struct slot *slot;

	pthread_mutex_lock(&nodes.lock);
	slot = nodes.first;
	nodes.first = slot->next;
	memtape_pool_alloc(&nodes, slot, OBJECT);
	count_begin(&all[2], OBJECT);
	pthread_mutex_unlock(&nodes.lock);
	return slot;
}

NOINLINE static void node_free(void *node)
{
	struct slot *slot = (struct slot *)node;

	pthread_mutex_lock(&nodes.lock);
	memtape_pool_free(&nodes, slot);
	slot->next = nodes.first;
	nodes.first = slot;
	count_end(&all[2], 1, OBJECT, 0);
	pthread_mutex_unlock(&nodes.lock);
}

/* --- what uses them -------------------------------------------------------------------------- */

static void *handed_on[SLOTS];
static pthread_mutex_t hand = PTHREAD_MUTEX_INITIALIZER;
static int handed_count;

/* Half of its nodes are freed by other threads. */
static void *work(void *number)
{
	unsigned random = (unsigned)(uintptr_t)number + 1;
	void *mine[32] = { NULL };

	for (int i = 0; i < 3000; i++) {
		void **place = &mine[(random = random * 1103515245 + 12345) >> 16 & 31];

		if (!*place) {
			*place = node_alloc();
			continue;
		}
		pthread_mutex_lock(&hand);
		if (random & 1 << 20 && handed_count < 256) {
			handed_on[handed_count++] = *place;
			*place = NULL;
		} else if (handed_count > 0) {
			void *other = handed_on[--handed_count];

			handed_on[handed_count++] = *place;
			*place = other;
		}
		pthread_mutex_unlock(&hand);
		if (*place)
			node_free(*place);
		*place = NULL;
	}
	for (int i = 0; i < 32; i++)
		if (mine[i])
			node_free(mine[i]);
	return NULL;
}

NOINLINE static void serve(int number)
{
	struct arena request, child;

	arena_create(&request, &all[0], NULL, BLOCK);
	for (int i = 0; i < 10 + number % 7; i++)
		arena_alloc(&request, 16 + (size_t)(i * number) % 100);
	if (number % 3 == 0) {
		arena_reset(&request);
		arena_alloc(&request, 1000);
	}
	arena_create(&child, &all[1], &request, 2048);
	while (arena_alloc(&child, 200)) /* until it is full: that one is not handed out */
		;
	arena_destroy(&child);
	arena_alloc(&request, 5);
	arena_destroy(&request);
}

static void strings(void)
{
	struct arena arena;
	char *first = NULL, *second = NULL;
	size_t sizes[2] = { 0, 0 };

	arena_create(&arena, &all[3], NULL, BLOCK);
	for (size_t i = 1; i < 100; i++) {
		char **string = i % 10 < 5 ? &first : &second;
		size_t *size = &sizes[string == &second];
		char *now = arena_grow(&arena, *string, *size, i * 9);

		if (!now) /* the string stays as it is */
			continue;
		*string = now;
		*size = i * 9;
	}
	arena_destroy(&arena);
}

static struct arena kept;

static void print_counts(void)
{
	printf("{");
	for (int i = 0; i < NAMES; i++) {
		const struct counts *counts = &all[i];

		printf("%s\n\"%d\": [%lu, %lu, %lu, %lu, %lu, %lu, %lu, %lu, %lu, %lu, %lu, %lu, "
		       "%lu]",
		       i ? "," : "", i, counts->created, counts->destroyed, counts->cleared,
		       counts->allocated, counts->allocated_bytes, counts->freed,
		       counts->freed_bytes, counts->emptied, counts->emptied_bytes, counts->live,
		       counts->live_bytes, counts->peak, counts->peak_bytes);
	}
	printf("\n}\n");
	fflush(stdout);
}

static void fork_and_go_on(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		struct arena own;

		node_alloc();
		arena_create(&own, &all[0], NULL, BLOCK);
		arena_alloc(&own, 77);
		_exit(0);
	}
	waitpid(pid, &status, 0);
}

/*
 * On the tape: 100 bytes that become 110 in the pause, 200 that are freed in it, 300; 400 from after it;
 * and of another pool 500, which is cleared in the pause.
 */
static int pauses(void)
{
	static char memory[4096], other[4096];

	memtape_pool_create(memory, "paused");
	memtape_pool_create(other, "cleared");
	memtape_pool_alloc(memory, memory, 100);
	memtape_pool_alloc(memory, memory + 100, 200);
	memtape_pool_alloc(memory, memory + 300, 300);
	memtape_pool_alloc(other, other, 500);
	memtape_pause();
	memtape_pool_alloc(memory, memory + 2000, 1);
	memtape_pool_realloc(memory, memory, memory + 1000, 110);
	memtape_pool_realloc(memory, memory + 2000, memory + 3000, 2);
	memtape_pool_free(memory, memory + 100);
	memtape_pool_clear(other);
	memtape_resume();
	memtape_pool_alloc(memory, memory + 100, 400);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	if (argc > 1 && strcmp(argv[1], "pause") == 0)
		return pauses();
	nodes_create();
	arena_create(&kept, &all[4], NULL, BLOCK);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < 200; i++)
		serve(i);
	strings();
	for (size_t i = 1; i <= 20; i++)
		arena_alloc(&kept, 100 + i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (argc > 1 && strcmp(argv[1], "fork") == 0)
		fork_and_go_on();
	print_counts();
	return 0;
}
