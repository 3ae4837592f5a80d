#include "symbol/cache.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file.h"
#include "base/sort.h"

enum { BUILD_ID_BYTES_SHOWN = 20, USED_AGAIN_S = 3600 };

static const char SUFFIX[] = ".names";

struct cache {
	struct str folder;
};

struct err *cache_open(struct cache **cache_ret)
{
	CLEAN(cache_close) struct cache *cache = calloc(1, sizeof(*cache));
	const char *home = getenv("XDG_CACHE_HOME");
	const bool is_xdg = home && home[0] == '/'; /* relative ones are to be ignored */

	if (!cache)
		return err_nomem();
	if (!is_xdg)
		home = getenv("HOME");
	if (!home || home[0] != '/')
		return err_new(ERR_NOT_FOUND, "neither XDG_CACHE_HOME nor HOME is set");
	str_printf(&cache->folder, "%s%s/memtape/symbols", home, is_xdg ? "" : "/.cache");
	if (cache->folder.failed)
		return err_nomem();
	*cache_ret = steal(cache);
	return NULL;
}

void cache_close(struct cache *cache)
{
	if (!cache)
		return;
	str_deinit(&cache->folder);
	free(cache);
}

const char *cache_folder(const struct cache *cache)
{
	return str_text(&cache->folder);
}

static void add_file_path(const struct cache *cache, const uint8_t *build_id, size_t build_id_bytes,
			  uint64_t identity, struct str *path)
{
	str_printf(path, "%s/", str_text(&cache->folder));
	for (size_t i = 0; i < u64_min(build_id_bytes, BUILD_ID_BYTES_SHOWN); i++)
		str_printf(path, "%02x", build_id[i]);
	str_printf(path, "%s%016llx%s", build_id_bytes ? "-" : "", (unsigned long long)identity,
		   SUFFIX);
}

/* Other users' files are not read: their claims about our programs are not trusted. */
static bool file_is_ours(int fd, struct stat *status)
{
	return fstat(fd, status) == 0 && S_ISREG(status->st_mode) && status->st_uid == geteuid() &&
	       status->st_size > 0;
}

bool cache_load(const struct cache *cache, const uint8_t *build_id, size_t build_id_bytes,
		uint64_t identity, struct cache_file *file_ret)
{
	CLEAN(str_deinit) struct str path = { 0 };
	CLEAN(close) int fd = -1;
	struct cache_file file = { 0 };
	struct stat status;
	struct timespec now;

	assert(build_id || build_id_bytes == 0);
	add_file_path(cache, build_id, build_id_bytes, identity, &path);
	if (path.failed)
		return false;
	fd = open(str_text(&path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || !file_is_ours(fd, &status))
		return false;
	file.bytes = file_map(fd, (uint64_t)status.st_size, MAP_PRIVATE);
	if (file.bytes == MAP_FAILED)
		return false;
	file.size = (size_t)status.st_size;
	CLEAN(err_destroy) struct err *err = pack_view(file.bytes, file.size, &file.pack);
	if (err || file.pack.header->identity != identity) {
		cache_unload(&file);
		return false;
	}
	if (clock_gettime(CLOCK_REALTIME, &now) == 0 &&
	    now.tv_sec - status.st_mtim.tv_sec > USED_AGAIN_S)
		futimens(fd, NULL);
	*file_ret = file;
	return true;
}

void cache_unload(struct cache_file *file)
{
	assert(file->bytes || file->size == 0);
	if (file->bytes)
		munmap(file->bytes, file->size);
	*file = (struct cache_file) { 0 };
}

/* --- all files ------------------------------------------------------------------------------- */

struct cache_entry {
	char *name;
	uint64_t bytes;
	uint64_t used_ns;
};

VEC_DEFINE(cache_entries, struct cache_entry);

static void entries_free(struct cache_entries *entries)
{
	for (size_t i = 0; i < entries->count; i++)
		free(entries->items[i].name);
	cache_entries_deinit(entries);
}

static bool is_cache_name(const char *name)
{
	const size_t len = strlen(name), suffix = strlen(SUFFIX);

	/* "x.names" and "x.names.ABCDEF", which may be left half-written. */
	return (len > suffix && strcmp(name + len - suffix, SUFFIX) == 0) ||
	       strstr(name, ".names.");
}

static void close_folder(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

static struct err *entries_read(const struct cache *cache, struct cache_entries *entries)
{
	__attribute__((cleanup(close_folder))) DIR *folder = opendir(cache_folder(cache));
	const struct dirent *dirent;

	if (!folder)
		return errno == ENOENT ? NULL : err_errno("open %s", cache_folder(cache));
	while ((dirent = readdir(folder))) {
		struct cache_entry entry = { 0 };
		struct stat status;

		if (!is_cache_name(dirent->d_name) ||
		    fstatat(dirfd(folder), dirent->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISREG(status.st_mode))
			continue;
		entry.bytes = (uint64_t)status.st_size;
		entry.used_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000 +
				(uint64_t)status.st_mtim.tv_nsec;
		entry.name = strdup(dirent->d_name);
		if (!entry.name || !cache_entries_push(entries, entry)) {
			free(entry.name);
			return err_nomem();
		}
	}
	return NULL;
}

static bool entry_remove(const struct cache *cache, const struct cache_entry *entry)
{
	CLEAN(str_deinit) struct str path = { 0 };

	str_printf(&path, "%s/%s", cache_folder(cache), entry->name);
	return !path.failed && unlink(str_text(&path)) == 0;
}

static int entry_compare(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(((const struct cache_entry *)a)->used_ns,
				((const struct cache_entry *)b)->used_ns);
}

/* Removes the least recently used files until `bytes_max` are left. */
static struct err *cache_trim(const struct cache *cache, uint64_t bytes_max,
			      struct cache_facts *removed_ret)
{
	struct cache_entries entries = { 0 };
	struct err *err = entries_read(cache, &entries);
	uint64_t total = 0;

	for (size_t i = 0; i < entries.count; i++)
		total += entries.items[i].bytes;
	if (!err && total > bytes_max &&
	    !sort_stable(entries.items, entries.count, sizeof(*entries.items), entry_compare, NULL))
		err = err_nomem();
	for (size_t i = 0; i < entries.count && total > bytes_max && !err; i++) {
		total -= entries.items[i].bytes;
		if (entry_remove(cache, &entries.items[i])) {
			removed_ret->file_count++;
			removed_ret->bytes += entries.items[i].bytes;
		}
	}
	entries_free(&entries);
	return err;
}

/* Creates the folder and its missing parents. */
static bool folders_make(const char *path)
{
	CLEAN(str_deinit) struct str folder = { 0 };

	str_add(&folder, path);
	if (folder.failed)
		return false;
	for (char *at = folder.ptr + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(folder.ptr, 0700);
		*at = '/';
	}
	return mkdir(folder.ptr, 0700) == 0 || errno == EEXIST;
}

static bool write_all(int fd, const void *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		const ssize_t got = write(fd, (const uint8_t *)bytes + done, size - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

struct err *cache_store(const struct cache *cache, const uint8_t *build_id, size_t build_id_bytes,
			uint64_t identity, const void *bytes, size_t size)
{
	CLEAN(str_deinit) struct str path = { 0 };
	CLEAN(free) char *temporary = NULL;
	struct cache_facts removed = { 0 };
	struct err *err;
	int fd;

	assert(build_id || build_id_bytes == 0);
	assert(bytes && size > 0);
	add_file_path(cache, build_id, build_id_bytes, identity, &path);
	if (path.failed)
		return err_nomem();
	if (!folders_make(cache_folder(cache)))
		return err_errno("create %s", cache_folder(cache));
	err = file_create_temporary(path.ptr, &temporary, &fd);
	if (err)
		return err;
	if (!write_all(fd, bytes, size) || rename(temporary, path.ptr) != 0) {
		err = err_errno("write %s", path.ptr);
		unlink(temporary);
		close(fd);
		return err;
	}
	close(fd);
	return cache_trim(cache, CACHE_BYTES_MAX, &removed);
}

struct err *cache_facts_get(const struct cache *cache, struct cache_facts *facts_ret)
{
	struct cache_entries entries = { 0 };
	struct err *err = entries_read(cache, &entries);
	struct cache_facts facts = { .file_count = entries.count };

	for (size_t i = 0; i < entries.count; i++)
		facts.bytes += entries.items[i].bytes;
	entries_free(&entries);
	if (!err)
		*facts_ret = facts;
	return err;
}

struct err *cache_clear(const struct cache *cache, struct cache_facts *removed_ret)
{
	struct cache_facts removed = { 0 };
	struct err *err = cache_trim(cache, 0, &removed);

	if (!err)
		*removed_ret = removed;
	return err;
}
