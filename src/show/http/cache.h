/*
 * cache: answers that were given, by what was asked, within so many bytes; those that nobody asked
 * for longest go first. Any number of threads may use it.
 */
#ifndef MEMTAPE_HTTP_CACHE_H
#define MEMTAPE_HTTP_CACHE_H

#include "http/exchange.h"

struct cache;

/* bytes_max: of keys and answers together. NULL: no memory. */
struct cache *cache_create(size_t bytes_max);
void cache_destroy(struct cache *cache); /* NULL is fine */
CLEAN_DEFINE(cache_destroy, struct cache *);

/* The blob (to be put) and its type; NULL: it is not there. */
struct blob *cache_get(struct cache *cache, const char *key, const char **type_ret);

/* Keeps the blob (a reference of its own) if it is not too large; type is a constant. */
void cache_put(struct cache *cache, const char *key, struct blob *blob, const char *type);

size_t cache_bytes(struct cache *cache);

#endif
