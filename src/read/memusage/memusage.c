#include "memusage/memusage.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/file.h"

enum { HEADER_RECORDS = 2 };

struct memusage {
	int fd;
	char *name;
	struct memusage_head head;
	uint8_t bytes[MEMUSAGE_BATCH * MEMUSAGE_RECORD_BYTES];
	struct memusage_record records[MEMUSAGE_BATCH];
};

static struct memusage_record record_of(const uint8_t *bytes)
{
	return (struct memusage_record) {
		.heap = load_u64(bytes),
		.stack = load_u64(bytes + 8),
		.ticks = (uint64_t)load_u32(bytes + 20) << 32 | load_u32(bytes + 16),
	};
}

/* The i-th record, including the header. */
static struct err *records_read(struct memusage *memusage, uint64_t first, size_t count)
{
	const size_t wanted = count * MEMUSAGE_RECORD_BYTES;
	size_t done = 0;

	while (done < wanted) {
		const ssize_t got = pread(memusage->fd, memusage->bytes + done, wanted - done,
					  (off_t)(first * MEMUSAGE_RECORD_BYTES + done));

		if (got < 0)
			return err_errno("read %s", memusage->name);
		if (got == 0)
			return err_new(ERR_FORMAT, "%s became shorter", memusage->name);
		done += (size_t)got;
	}
	for (size_t i = 0; i < count; i++)
		memusage->records[i] = record_of(memusage->bytes + i * MEMUSAGE_RECORD_BYTES);
	return NULL;
}

struct err *memusage_each(struct memusage *memusage,
			  void (*visit)(void *context, const struct memusage_record *records,
					size_t count),
			  void *context)
{
	const uint64_t total = memusage->head.record_count;

	assert(visit);
	for (uint64_t at = 0; at < total;) {
		const size_t count = u64_min(total - at, MEMUSAGE_BATCH);
		struct err *err = records_read(memusage, HEADER_RECORDS + at, count);

		if (err)
			return err;
		visit(context, memusage->records, count);
		at += count;
	}
	return NULL;
}

/* --- the header ----------------------------------------------------------------------------- */

static uint64_t sum_of(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void learn(void *context, const struct memusage_record *records, size_t count)
{
	struct memusage_head *head = context;

	for (size_t i = 0; i < count; i++) {
		head->heap_max = u64_max(head->heap_max, records[i].heap);
		head->stack_max = u64_max(head->stack_max, records[i].stack);
		head->total_max =
			u64_max(head->total_max, sum_of(records[i].heap, records[i].stack));
		head->end_ticks = u64_max(head->end_ticks, records[i].ticks);
	}
}

static void head_take(struct memusage_head *head, const struct memusage_record *records)
{
	head->total_max = records[0].stack;
	head->begin_ticks = records[0].ticks;
	head->heap_max = records[1].heap;
	head->stack_max = records[1].stack;
	head->end_ticks = records[1].ticks;
}

/* Whether the last two records are the header, as in a file written through a pipe. */
static struct err *head_find_at_end(struct memusage *memusage, bool *found_ret)
{
	struct memusage_head *head = &memusage->head;
	const struct memusage_record *records = memusage->records;
	struct err *err;

	*found_ret = false;
	if (head->record_count < HEADER_RECORDS)
		return NULL;
	err = records_read(memusage, head->record_count, HEADER_RECORDS);
	if (err || records[0].heap != 0 || records[0].ticks != head->begin_ticks ||
	    records[1].heap == 0 || records[1].ticks < head->begin_ticks)
		return err;
	head_take(head, records);
	head->record_count -= HEADER_RECORDS;
	*found_ret = true;
	return NULL;
}

static struct err *head_repair(struct memusage *memusage)
{
	bool is_found;
	struct err *err = head_find_at_end(memusage, &is_found);

	if (err || is_found)
		return err;
	memusage->head.was_repaired = true;
	return memusage_each(memusage, learn, &memusage->head);
}

static struct err *head_read(struct memusage *memusage, uint64_t bytes)
{
	struct memusage_head *head = &memusage->head;
	const struct memusage_record *records = memusage->records;
	struct err *err;

	if (bytes < (uint64_t)HEADER_RECORDS * MEMUSAGE_RECORD_BYTES)
		return err_new(ERR_FORMAT, "%s is too short for a data file of memusage",
			       memusage->name);
	err = records_read(memusage, 0, HEADER_RECORDS);
	if (err)
		return err;
	if (records[0].heap != 0 || records[1].ticks < records[0].ticks)
		return err_new(ERR_FORMAT, "%s is neither a tape nor a data file of memusage",
			       memusage->name);
	head->record_count = bytes / MEMUSAGE_RECORD_BYTES - HEADER_RECORDS;
	head->trailing_bytes = (unsigned)(bytes % MEMUSAGE_RECORD_BYTES);
	head_take(head, records);
	return head->heap_max == 0 && head->stack_max == 0 ? head_repair(memusage) : NULL;
}

/* --- the file ------------------------------------------------------------------------------- */

/* Pipes cannot be read twice: an unnamed temporary file with the pipe's contents. */
static struct err *pipe_keep(struct memusage *memusage)
{
	CLEAN(close) int copy = file_create_in_memory("memusage");

	if (copy < 0)
		return err_errno("keep %s", memusage->name);
	for (;;) {
		const ssize_t got = read(memusage->fd, memusage->bytes, sizeof(memusage->bytes));

		if (got < 0)
			return err_errno("read %s", memusage->name);
		if (got == 0)
			break;
		for (ssize_t done = 0; done < got;) {
			const ssize_t put =
				write(copy, memusage->bytes + done, (size_t)(got - done));

			if (put < 0)
				return err_errno("keep %s", memusage->name);
			done += put;
		}
	}
	close(memusage->fd);
	memusage->fd = steal_fd(&copy);
	return NULL;
}

struct err *memusage_open_fd(int fd, const char *name, struct memusage **memusage_ret)
{
	CLEAN(memusage_close) struct memusage *memusage = calloc(1, sizeof(*memusage));
	struct stat status;
	struct err *err = NULL;

	assert(fd >= 0);
	if (!memusage) {
		close(fd);
		return err_nomem();
	}
	memusage->fd = fd;
	memusage->name = strdup(name);
	if (!memusage->name)
		return err_nomem();
	if (fstat(fd, &status) != 0)
		return err_errno("%s", name);
	if (S_ISDIR(status.st_mode))
		return err_errno_new(EISDIR, "%s", name);
	if (!S_ISREG(status.st_mode)) {
		err = pipe_keep(memusage);
		if (!err && fstat(memusage->fd, &status) != 0)
			err = err_errno("%s", name);
	}
	if (!err)
		err = head_read(memusage, (uint64_t)status.st_size);
	if (!err)
		*memusage_ret = steal(memusage);
	return err;
}

struct err *memusage_open(const char *path, struct memusage **memusage_ret)
{
	const bool is_input = strcmp(path, "-") == 0;
	const int fd = is_input ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
				: open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_errno("open %s", path);
	return memusage_open_fd(fd, is_input ? "standard input" : path, memusage_ret);
}

void memusage_close(struct memusage *memusage)
{
	if (!memusage)
		return;
	if (memusage->fd >= 0)
		close(memusage->fd);
	free(memusage->name);
	free(memusage);
}

const struct memusage_head *memusage_head(const struct memusage *memusage)
{
	return &memusage->head;
}
