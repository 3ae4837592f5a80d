#include "http/cache.h"

#include <assert.h>
#include <pthread.h>

#include "core/hash.h"

enum { BUCKETS = 1024, LARGEST_SHARE = 4 /* an answer takes at most one in this many of all */ };

struct entry {
	struct entry *next; /* in its bucket */
	struct entry *newer, *older;
	struct blob *blob;
	const char *type;
	size_t bytes;
	uint64_t hash;
	char key[];
};

struct cache {
	pthread_mutex_t lock;
	struct entry *buckets[BUCKETS];
	struct entry *newest, *oldest;
	size_t bytes;
	size_t bytes_max;
};

struct cache *cache_create(size_t bytes_max)
{
	struct cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	pthread_mutex_init(&cache->lock, NULL);
	cache->bytes_max = bytes_max;
	return cache;
}

static struct entry **place_of(struct cache *cache, const char *key, uint64_t hash)
{
	struct entry **at = &cache->buckets[hash % BUCKETS];

	while (*at && ((*at)->hash != hash || strcmp((*at)->key, key) != 0))
		at = &(*at)->next;
	return at;
}

static void unlink_entry(struct cache *cache, struct entry *entry)
{
	*(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
	*(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
}

static void link_newest(struct cache *cache, struct entry *entry)
{
	entry->newer = NULL;
	entry->older = cache->newest;
	*(cache->newest ? &cache->newest->newer : &cache->oldest) = entry;
	cache->newest = entry;
}

static void drop(struct cache *cache, struct entry *entry)
{
	assert(cache->bytes >= entry->bytes);
	*place_of(cache, entry->key, entry->hash) = entry->next;
	unlink_entry(cache, entry);
	cache->bytes -= entry->bytes;
	blob_put(entry->blob);
	free(entry);
}

void cache_destroy(struct cache *cache)
{
	if (!cache)
		return;
	while (cache->oldest)
		drop(cache, cache->oldest);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

struct blob *cache_get(struct cache *cache, const char *key, const char **type_ret)
{
	const uint64_t hash = hash_bytes(key, strlen(key), 0);
	struct blob *blob = NULL;
	struct entry *entry;

	assert(key && *key);
	pthread_mutex_lock(&cache->lock);
	entry = *place_of(cache, key, hash);
	if (entry) {
		unlink_entry(cache, entry);
		link_newest(cache, entry);
		blob = blob_get(entry->blob);
		*type_ret = entry->type;
	}
	pthread_mutex_unlock(&cache->lock);
	return blob;
}

static void insert(struct cache *cache, struct entry *entry)
{
	struct entry **place = place_of(cache, entry->key, entry->hash);

	if (*place) { /* two simultaneous requests; the answers are equal */
		blob_put(entry->blob);
		free(entry);
		return;
	}
	*place = entry;
	link_newest(cache, entry);
	cache->bytes += entry->bytes;
	while (cache->bytes > cache->bytes_max)
		drop(cache, cache->oldest);
}

void cache_put(struct cache *cache, const char *key, struct blob *blob, const char *type)
{
	const size_t len = strlen(key) + 1;
	const size_t bytes = sizeof(struct entry) + len + blob->size;
	struct entry *entry;

	assert(key && *key);
	if (bytes > cache->bytes_max / LARGEST_SHARE)
		return;
	entry = malloc(sizeof(*entry) + len);
	if (!entry)
		return;
	*entry = (struct entry) { .blob = blob_get(blob), .type = type, .bytes = bytes };
	entry->hash = hash_bytes(key, len - 1, 0);
	memcpy(entry->key, key, len);
	pthread_mutex_lock(&cache->lock);
	insert(cache, entry);
	pthread_mutex_unlock(&cache->lock);
}

size_t cache_bytes(struct cache *cache)
{
	size_t bytes;

	pthread_mutex_lock(&cache->lock);
	bytes = cache->bytes;
	pthread_mutex_unlock(&cache->lock);
	return bytes;
}
