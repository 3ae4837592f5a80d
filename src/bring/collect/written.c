#include "collect/written.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/pagemap_scan.h"
#include "scan/inject.h"

/* In linux/userfaultfd.h and asm/unistd.h of newer systems. */
static const uint64_t FEATURE_WP_UNPOPULATED = UINT64_C(1) << 13;
static const uint64_t FEATURE_WP_ASYNC = UINT64_C(1) << 15;

enum { USER_MODE_ONLY = 1, REGIONS = 512 };

/* --- the descriptor ---------------------------------------------------------------------------- */

static struct err *too_old(void)
{
	return err_new(ERR_STATE, "it needs Linux 6.7 or newer");
}

/* The process's descriptor becomes ours, and is its own no more. */
static struct err *take_descriptor(struct stop *stop, const struct maps *maps, long theirs,
				   int *fd_ret)
{
	struct inject_call closing = { .number = SYS_close, .arguments = { (uint64_t)theirs } };
	const int pidfd = (int)syscall(SYS_pidfd_open, stop->pid, 0);
	const int fd = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, (int)theirs, 0);
	struct err *err = fd < 0 ? err_errno("get a descriptor of the process") : NULL;

	if (pidfd >= 0)
		close(pidfd);
	err_destroy(inject_call(stop, maps, &closing));
	*fd_ret = fd;
	return err;
}

static struct err *create(struct stop *stop, const struct maps *maps, int *fd_ret)
{
	struct inject_call call = { .number = SYS_userfaultfd,
				    .arguments = { O_CLOEXEC | O_NONBLOCK | USER_MODE_ONLY } };
	struct err *err = inject_call(stop, maps, &call);

	if (err)
		return err;
	if (call.result == -ENOSYS || call.result == -EINVAL)
		return too_old();
	if (call.result < 0)
		return err_errno_new((int)-call.result, "userfaultfd()");
	return take_descriptor(stop, maps, call.result, fd_ret);
}

static struct err *shake_hands(int fd)
{
	struct uffdio_api api = { .api = UFFD_API,
				  .features = FEATURE_WP_ASYNC | FEATURE_WP_UNPOPULATED };

	if (ioctl(fd, UFFDIO_API, &api) == 0)
		return NULL;
	return errno == EINVAL ? too_old() : err_errno("userfaultfd");
}

struct err *written_open(struct written *written, struct stop *stop)
{
	struct err *err;

	*written = (struct written) { .pid = stop->pid, .fd = -1 };
	err = maps_read(stop_living(stop), &written->maps);
	if (!err)
		err = create(stop, &written->maps, &written->fd);
	if (!err)
		err = shake_hands(written->fd);
	if (err)
		written_close(written);
	return err;
}

void written_close(struct written *written)
{
	if (written->fd >= 0)
		close(written->fd);
	maps_deinit(&written->maps);
	*written = (struct written) { .fd = -1 };
}

/* --- looking ----------------------------------------------------------------------------------- */

static bool protect(const struct written *written, uint64_t begin, uint64_t end)
{
	struct uffdio_register range = { .range = { .start = begin, .len = end - begin },
					 .mode = UFFDIO_REGISTER_MODE_WP };

	return ioctl(written->fd, UFFDIO_REGISTER, &range) == 0;
}

/* False, nothing visited: the range is not watched. */
static bool look_at(int pagemap, uint64_t begin, uint64_t end,
		    const struct watched_visitor *visitor)
{
	struct pagemap_scan_region regions[REGIONS];
	struct pagemap_scan scan = {
		.bytes = sizeof(scan),
		.flags = PAGEMAP_PROTECT | PAGEMAP_CHECK,
		.begin = begin,
		.end = end,
		.regions = (uint64_t)(uintptr_t)regions,
		.region_count = REGIONS,
		.category_inverted = PAGEMAP_PFN_ZERO,
		.category_mask = PAGEMAP_PFN_ZERO,
		.category_anyof_mask = PAGEMAP_PRESENT | PAGEMAP_SWAPPED,
		.return_mask = PAGEMAP_WRITTEN,
	};

	while (scan.begin < end) {
		const int count = ioctl(pagemap, PAGEMAP_SCAN, &scan);

		if (count < 0 || scan.walk_end <= scan.begin)
			return scan.begin > begin;
		visitor->range(visitor->context, scan.begin, scan.walk_end);
		for (int i = 0; i < count; i++)
			visitor->pages(visitor->context, regions[i].begin, regions[i].end,
				       regions[i].categories & PAGEMAP_WRITTEN);
		scan.begin = scan.walk_end;
	}
	return true;
}

bool written_look(struct written *written, const struct watched_visitor *visitor)
{
	CLEAN(maps_deinit) struct maps maps = { 0 };
	char path[64];
	struct err *err = maps_read_briefly(written->pid, &maps);
	bool is_watching = false;
	int pagemap;

	assert(written->fd >= 0);
	if (err) {
		err_destroy(err);
		return false;
	}
	pagemap = open(str_format(path, sizeof(path), "/proc/%d/pagemap", (int)written->pid),
		       O_RDONLY | O_CLOEXEC);
	if (pagemap < 0)
		return false;
	for (size_t i = 0; i < maps.entries.count; i++) {
		const struct maps_entry *entry = &maps.entries.items[i];

		if (!watched_is(&written->maps, &maps, entry))
			continue;
		is_watching |= look_at(pagemap, entry->begin, entry->end, visitor) ||
			       (protect(written, entry->begin, entry->end) &&
				look_at(pagemap, entry->begin, entry->end, visitor));
	}
	close(pagemap);
	return is_watching;
}
