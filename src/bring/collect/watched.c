#include "collect/watched.h"

#include <string.h>

bool watched_is(const struct maps *first, const struct maps *maps, const struct maps_entry *entry)
{
	const struct maps_entry *before = maps_find(first, entry->begin);
	const char *name = maps_name(maps, entry);

	return entry->is_writable && !entry->is_shared && entry->inode == 0 && !entry->is_file &&
	       (!*name || strcmp(name, "[heap]") == 0 || strncmp(name, "[anon", 5) == 0) &&
	       !(before && before->is_undumped);
}
