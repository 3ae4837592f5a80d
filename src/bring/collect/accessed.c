#include "collect/accessed.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "scan/inject.h"

/*
 * The kernel forgets a range of so many pages by forgetting everything: it does so from 34 on
 * (tlb_single_page_flush_ceiling).
 */
enum { PAGE = 4096, TAKEN_PAGES = 64, TAKEN_BYTES = TAKEN_PAGES * PAGE };

static const char anonymous_only[] = "2";

struct err *accessed_open(struct accessed *accessed, pid_t pid)
{
	char path[64];
	struct err *err;

	*accessed = (struct accessed) { .pid = pid, .clear = -1, .memory = -1 };
	err = page_tables_open(pid, &accessed->tables);
	if (err)
		return err;
	accessed->clear = open(str_format(path, sizeof(path), "/proc/%d/clear_refs", (int)pid),
			       O_WRONLY | O_CLOEXEC);
	return accessed->clear < 0 ? err_errno("%s", path) : NULL;
}

static struct err *make_call(struct stop *stop, const struct maps *maps, struct inject_call *call,
			     const char *name)
{
	struct err *err = inject_call(stop, maps, call);

	if (!err && call->result < 0 && call->result > -PAGE)
		err = err_errno_new((int)-call->result, "%s", name);
	return err;
}

/* Pages that are there when they are asked for, and that we can take away by the file behind them. */
static struct err *map_pages(struct accessed *accessed, struct stop *stop)
{
	struct inject_call map = { .number = SYS_mmap,
				   .arguments = { 0, TAKEN_BYTES, PROT_READ,
						  MAP_SHARED | MAP_ANONYMOUS, (uint64_t)-1 } };
	struct inject_call advice = { .number = SYS_madvise };
	struct stat status;
	char path[96];
	struct err *err = make_call(stop, &accessed->maps, &map, "mmap()");

	if (err)
		return err;
	accessed->memory_at = (uint64_t)map.result;
	advice.arguments[0] = accessed->memory_at;
	advice.arguments[1] = TAKEN_BYTES;
	advice.arguments[2] = MADV_DONTDUMP;
	err = make_call(stop, &accessed->maps, &advice, "madvise()");
	if (err)
		return err;
	str_format(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)stop_living(stop),
		   (unsigned long long)accessed->memory_at,
		   (unsigned long long)accessed->memory_at + TAKEN_BYTES);
	accessed->memory = open(path, O_RDWR | O_CLOEXEC);
	if (accessed->memory < 0 || fstat(accessed->memory, &status) < 0)
		return err_errno("%s", path);
	accessed->memory_file = status.st_ino;
	return NULL;
}

struct err *accessed_begin(struct accessed *accessed, struct stop *stop)
{
	struct err *err = maps_read(stop_living(stop), &accessed->maps);

	return err ? err : map_pages(accessed, stop);
}

void accessed_close(struct accessed *accessed)
{
	if (accessed->tables && accessed->clear >= 0)
		close(accessed->clear);
	if (accessed->tables && accessed->memory >= 0)
		close(accessed->memory);
	page_tables_close(accessed->tables);
	maps_deinit(&accessed->maps);
	*accessed = (struct accessed) { 0 };
}

/* --- looking ----------------------------------------------------------------------------------- */

/* It is in the process at least by its first and its last page. */
static bool have_pages(const struct accessed *accessed)
{
	uint8_t bytes[2];
	const struct iovec local = { bytes, sizeof(bytes) };
	const struct iovec remote[] = {
		{ (void *)accessed->memory_at, 1 },
		{ (void *)(accessed->memory_at + TAKEN_BYTES - PAGE), 1 },
	};

	return process_vm_readv(accessed->pid, &local, 1, remote, 2, 0) == sizeof(bytes);
}

static bool take_pages(const struct accessed *accessed)
{
	return fallocate(accessed->memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			 TAKEN_BYTES) == 0;
}

/* It is still the same program. */
static bool is_there(const struct accessed *accessed, const struct maps *maps)
{
	const struct maps_entry *entry = maps_find(maps, accessed->memory_at);

	return entry && entry->begin == accessed->memory_at &&
	       entry->inode == accessed->memory_file;
}

static bool read_tables(struct accessed *accessed, const struct maps *maps,
			const struct watched_visitor *visitor)
{
	const struct page_visitor pages = { visitor->pages, visitor->context };
	struct err *err = NULL;

	for (size_t i = 0; i < maps->entries.count && !err; i++) {
		const struct maps_entry *entry = &maps->entries.items[i];

		if (!watched_is(&accessed->maps, maps, entry))
			continue;
		visitor->range(visitor->context, entry->begin, entry->end);
		err = page_tables_read(accessed->tables, entry->begin, entry->end, &pages);
	}
	err_destroy(err);
	return !err;
}

bool accessed_look(struct accessed *accessed, const struct watched_visitor *visitor)
{
	CLEAN(maps_deinit) struct maps maps = { 0 };
	struct err *err = maps_read_briefly(accessed->pid, &maps);

	if (err) {
		err_destroy(err);
		return false;
	}
	return is_there(accessed, &maps) && have_pages(accessed) &&
	       read_tables(accessed, &maps, visitor) &&
	       pwrite(accessed->clear, anonymous_only, strlen(anonymous_only), 0) > 0 &&
	       take_pages(accessed);
}
