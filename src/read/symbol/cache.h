/*
 * cache: names already found, kept on disk between runs: one file per object and kind of debug
 * information, in $XDG_CACHE_HOME/memtape/symbols (or ~/.cache). A file's identity covers the
 * object and the debug file that its names came from (path, size, time of change), so debug
 * information installed later is noticed: it changes the identity.
 *
 * A file is replaced as a whole, never modified; a damaged one is ignored. Thread-safe.
 */
#ifndef MEMTAPE_SYMBOL_CACHE_H
#define MEMTAPE_SYMBOL_CACHE_H

#include "symbol/pack.h"

/* Above this size the least recently used files are removed. */
enum { CACHE_BYTES_MAX = 256 << 20 };

struct cache;

/* Creates no folder yet. ERR_NOT_FOUND: neither XDG_CACHE_HOME nor HOME gives a path. */
struct err *cache_open(struct cache **cache_ret);
void cache_close(struct cache *cache); /* accepts NULL */
CLEAN_DEFINE(cache_close, struct cache *);

const char *cache_folder(const struct cache *cache);

/* A file in use: its names are borrowed from the mapping. */
struct cache_file {
	void *bytes;
	size_t size;
	struct pack pack;
};

/* False: there is no valid one. build_id may be empty. */
bool cache_load(const struct cache *cache, const uint8_t *build_id, size_t build_id_bytes,
		uint64_t identity, struct cache_file *file_ret);
void cache_unload(struct cache_file *file);

/* Replaces the file of this identity, then enforces the size limit. */
struct err *cache_store(const struct cache *cache, const uint8_t *build_id, size_t build_id_bytes,
			uint64_t identity, const void *bytes, size_t size);

struct cache_facts {
	uint64_t file_count;
	uint64_t bytes;
};

/* A missing folder is an empty cache. */
struct err *cache_facts_get(const struct cache *cache, struct cache_facts *facts_ret);
struct err *cache_clear(const struct cache *cache, struct cache_facts *removed_ret);

#endif
