#include "scan/maps.h"

#include <assert.h>
#include <stdio.h>

enum { LINE_BYTES = 4096 + 256, BUFFER_BYTES = 64 << 10 };

void maps_deinit(struct maps *maps)
{
	maps_entries_deinit(&maps->entries);
	str_deinit(&maps->texts);
}

/* "7f01-7f02 rw-p 00000000 fe:00 18500      /usr/lib/name" */
static bool add_mapping(struct maps *maps, const char *line)
{
	unsigned long long begin, end, inode;
	struct maps_entry entry = { 0 };
	char perms[5] = "";
	int name_at = 0;

	if (sscanf(line, "%llx-%llx %4s %*x %*x:%*x %llu %n", &begin, &end, perms, &inode,
		   &name_at) < 4)
		return true;
	entry.begin = begin;
	entry.end = end;
	entry.inode = inode;
	entry.is_readable = perms[0] == 'r';
	entry.is_writable = perms[1] == 'w';
	entry.is_executable = perms[2] == 'x';
	entry.is_shared = perms[3] == 's';
	entry.is_file = line[name_at] == '/';
	entry.name = (uint32_t)maps->texts.len;
	str_add_bytes(&maps->texts, line + name_at, strcspn(line + name_at, "\n"));
	str_add_char(&maps->texts, '\0');
	return maps_entries_push(&maps->entries, entry);
}

/* Detail lines begin with a capital letter, mappings with a hexadecimal digit. */
static bool read_lines(struct maps *maps, FILE *file)
{
	static const char flags[] = "VmFlags:";
	char line[LINE_BYTES];

	while (fgets(line, sizeof(line), file)) {
		if (line[0] < 'A' || line[0] > 'Z') {
			if (!add_mapping(maps, line))
				return false;
		} else if (strncmp(line, flags, strlen(flags)) == 0 && maps->entries.count > 0) {
			maps->entries.items[maps->entries.count - 1].is_undumped =
				strstr(line, " dd") != NULL;
		}
	}
	return !maps->texts.failed;
}

static struct err *read_file(pid_t pid, const char *name, struct maps *maps)
{
	CLEAN(maps_deinit) struct maps own = { 0 };
	char path[64];
	CLEAN(fclose)
	FILE *file = fopen(str_format(path, sizeof(path), "/proc/%d/%s", (int)pid, name), "re");

	if (!file)
		return err_errno("%s", path);
	setvbuf(file, NULL, _IOFBF, BUFFER_BYTES);
	if (!read_lines(&own, file))
		return err_nomem();
	if (own.entries.count == 0)
		return err_new(ERR_NOT_FOUND, "%s is empty: the process has ended", path);
	*maps = own;
	own = (struct maps) { 0 };
	return NULL;
}

struct err *maps_read(pid_t pid, struct maps *maps)
{
	return read_file(pid, "smaps", maps);
}

struct err *maps_read_briefly(pid_t pid, struct maps *maps)
{
	return read_file(pid, "maps", maps);
}

const char *maps_name(const struct maps *maps, const struct maps_entry *entry)
{
	return maps->texts.ptr + entry->name;
}

const struct maps_entry *maps_find(const struct maps *maps, uint64_t address)
{
	size_t low = 0, high = maps->entries.count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (maps->entries.items[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low < maps->entries.count && maps->entries.items[low].begin <= address
		       ? &maps->entries.items[low]
		       : NULL;
}

bool maps_cover(const struct maps *maps, uint64_t begin, uint64_t end, bool is_writable)
{
	while (begin < end) {
		const struct maps_entry *entry = maps_find(maps, begin);

		if (!entry || (is_writable && !entry->is_writable))
			return false;
		begin = entry->end;
	}
	return true;
}

bool maps_is_named(const struct maps *maps, const struct maps_entry *entry, const char *name)
{
	const char *path = maps_name(maps, entry);
	const char *slash = strrchr(path, '/');

	return strcmp(slash ? slash + 1 : path, name) == 0;
}

const struct maps_entry *maps_find_file(const struct maps *maps, const char *name)
{
	for (size_t i = 0; i < maps->entries.count; i++)
		if (maps_is_named(maps, &maps->entries.items[i], name))
			return &maps->entries.items[i];
	return NULL;
}
