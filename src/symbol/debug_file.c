#include "symbol/debug_file.h"

#include "base/str.h"

enum { BUILD_ID_BYTES_MAX = 64 };

/* Takes path_text's memory on success. */
static struct elf_file *candidate_open(const struct debug_file_query *query, struct str *path,
				       char **path_ret)
{
	struct elf_file *file = NULL;

	if (path->failed || access(str_text(path), R_OK) != 0)
		return NULL;
	CLEAN(err_destroy) struct err *err = elf_file_open(str_text(path), &file);
	if (err)
		return NULL;
	if (query->build_id && file->build_id &&
	    !elf_file_has_build_id(file, query->build_id, query->build_id_bytes)) {
		elf_file_close(file);
		return NULL;
	}
	*path_ret = path->ptr;
	*path = (struct str) { 0 };
	return file;
}

/* DIR/.build-id/ab/cdef.debug */
static struct elf_file *find_by_build_id(const struct debug_file_query *query, char **path_ret)
{
	CLEAN(str_deinit) struct str path = { 0 };
	struct elf_file *file = NULL;

	if (query->build_id_bytes < 2 || query->build_id_bytes > BUILD_ID_BYTES_MAX)
		return NULL;
	for (size_t i = 0; query->dirs[i] && !file; i++) {
		str_clear(&path);
		str_printf(&path, "%s/.build-id/%02x/", query->dirs[i], query->build_id[0]);
		for (size_t at = 1; at < query->build_id_bytes; at++)
			str_printf(&path, "%02x", query->build_id[at]);
		str_add(&path, ".debug");
		file = candidate_open(query, &path, path_ret);
	}
	return file;
}

/* Beside the object, in .debug beside it, and under DIR in a folder of the same name. */
static struct elf_file *find_by_link(const struct debug_file_query *query, char **path_ret)
{
	CLEAN(str_deinit) struct str path = { 0 };
	const char *slash = strrchr(query->object_path, '/');
	const int folder_len = slash ? (int)(slash - query->object_path) : 0;
	const char *link = query->object ? query->object->debug_link : NULL;
	struct elf_file *file;

	if (!link || !slash || strchr(link, '/'))
		return NULL;
	str_printf(&path, "%.*s/.debug/%s", folder_len, query->object_path, link);
	file = candidate_open(query, &path, path_ret);
	for (size_t i = 0; query->dirs[i] && !file; i++) {
		str_clear(&path);
		str_printf(&path, "%s%.*s/%s", query->dirs[i], folder_len, query->object_path,
			   link);
		file = candidate_open(query, &path, path_ret);
	}
	if (file)
		return file;
	str_clear(&path);
	str_printf(&path, "%.*s/%s", folder_len, query->object_path, link);
	if (strcmp(str_text(&path), query->object_path) == 0)
		return NULL;
	return candidate_open(query, &path, path_ret);
}

struct elf_file *debug_file_find(const struct debug_file_query *query, char **path_ret)
{
	struct elf_file *file = find_by_build_id(query, path_ret);

	return file ? file : find_by_link(query, path_ret);
}
