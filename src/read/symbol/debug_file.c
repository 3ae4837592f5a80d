#include "symbol/debug_file.h"

#include <assert.h>

#include "base/str.h"

enum { BUILD_ID_BYTES_MAX = 64 };

/* CRC-32 of ISO 3309, as used by .gnu_debuglink (GDB manual, "Separate Debug Files"). */
static uint32_t crc_of(const uint8_t *bytes, size_t size)
{
	uint32_t table[256], crc = UINT32_MAX;

	for (uint32_t i = 0; i < array_size(table); i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
	}
	for (size_t i = 0; i < size; i++)
		crc = table[(crc ^ bytes[i]) & 0xff] ^ crc >> 8;
	return ~crc;
}

static struct elf_file *file_open(const struct str *path)
{
	struct elf_file *file = NULL;

	if (path->failed || access(str_text(path), R_OK) != 0)
		return NULL;
	err_destroy(elf_file_open(str_text(path), &file));
	return file;
}

static bool is_right_file(const struct debug_file_query *query, const struct elf_file *file)
{
	if (query->build_id && file->build_id)
		return elf_file_has_build_id(file, query->build_id, query->build_id_bytes);
	return query->object && crc_of(file->bytes, file->size) == query->object->debug_link_crc;
}

/* Takes ownership of path on success. */
static struct elf_file *candidate_open(const struct debug_file_query *query, struct str *path,
				       char **path_ret)
{
	struct elf_file *file = file_open(path);

	if (!file)
		return NULL;
	if (!is_right_file(query, file)) {
		elf_file_close(file);
		return NULL;
	}
	*path_ret = path->ptr;
	*path = (struct str) { 0 };
	return file;
}

char *debug_file_by_build_id(const char *const *dirs, const uint8_t *build_id,
			     size_t build_id_bytes)
{
	CLEAN(str_deinit) struct str path = { 0 };

	assert(build_id || build_id_bytes == 0);
	if (build_id_bytes < 2 || build_id_bytes > BUILD_ID_BYTES_MAX)
		return NULL;
	for (size_t i = 0; dirs[i]; i++) {
		str_clear(&path);
		str_printf(&path, "%s/.build-id/%02x/", dirs[i], build_id[0]);
		for (size_t at = 1; at < build_id_bytes; at++)
			str_printf(&path, "%02x", build_id[at]);
		str_add(&path, ".debug");
		if (!path.failed && access(path.ptr, R_OK) == 0)
			return steal(path.ptr);
	}
	return NULL;
}

static struct elf_file *find_by_build_id(const struct debug_file_query *query, char **path_ret)
{
	CLEAN(free) char *path = NULL;
	struct elf_file *file = NULL;

	if (!query->build_id)
		return NULL;
	path = debug_file_by_build_id(query->dirs, query->build_id, query->build_id_bytes);
	if (!path)
		return NULL;
	err_destroy(elf_file_open(path, &file));
	/* A debug file without a build-id has it in its name. */
	if (file && file->build_id &&
	    !elf_file_has_build_id(file, query->build_id, query->build_id_bytes)) {
		elf_file_close(file);
		file = NULL;
	}
	if (file)
		*path_ret = steal(path);
	return file;
}

static int folder_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (int)(slash - path) : 0;
}

/* Beside the object as found, in .debug beside it, and under DIR in the folder as recorded. */
static struct elf_file *find_by_link(const struct debug_file_query *query, char **path_ret)
{
	const char *link = query->object ? query->object->debug_link : NULL;
	const char *found = query->found_path ? query->found_path : query->object_path;
	CLEAN(str_deinit) struct str path = { 0 };
	struct elf_file *file;

	if (!link || !*link || strchr(link, '/'))
		return NULL;
	str_printf(&path, "%.*s/.debug/%s", folder_len(found), found, link);
	file = candidate_open(query, &path, path_ret);
	for (size_t i = 0; query->dirs[i] && !file; i++) {
		str_clear(&path);
		str_printf(&path, "%s%.*s/%s", query->dirs[i], folder_len(query->object_path),
			   query->object_path, link);
		file = candidate_open(query, &path, path_ret);
	}
	for (size_t i = 0; query->dirs[i] && !file; i++) { /* as given with --debug-dir */
		str_clear(&path);
		str_printf(&path, "%s/%s", query->dirs[i], link);
		file = candidate_open(query, &path, path_ret);
	}
	if (file)
		return file;
	str_clear(&path);
	str_printf(&path, "%.*s/%s", folder_len(found), found, link);
	if (strcmp(str_text(&path), found) == 0)
		return NULL;
	return candidate_open(query, &path, path_ret);
}

struct elf_file *debug_file_find(const struct debug_file_query *query, char **path_ret)
{
	struct elf_file *file = find_by_build_id(query, path_ret);

	assert(query->dirs);
	assert(query->build_id || query->build_id_bytes == 0);
	return file ? file : find_by_link(query, path_ret);
}
