/*
 * cache: answers by request, with a limit on their bytes; the least recently used are dropped
 * first. Thread-safe.
 */
#ifndef MEMTAPE_HTTP_CACHE_H
#define MEMTAPE_HTTP_CACHE_H

#include "http/exchange.h"

struct cache;

/* bytes_max: of keys and answers together. NULL: out of memory. */
struct cache *cache_create(size_t bytes_max);
void cache_destroy(struct cache *cache); /* NULL is fine */
CLEAN_DEFINE(cache_destroy, struct cache *);

/* The blob (to be released with blob_put) and its type; NULL: not found. */
struct blob *cache_get(struct cache *cache, const char *key, const char **type_ret);

/* Keeps the blob (with its own reference) unless it is too large; type is a constant. */
void cache_put(struct cache *cache, const char *key, struct blob *blob, const char *type);

size_t cache_bytes(struct cache *cache);

#endif
