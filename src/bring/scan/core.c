#include "scan/core.h"

#include <assert.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/sort.h"
#include "scan/core_parts.h"

enum { HEAD_BYTES = 4096 };

static void content_deinit(struct core_content *content)
{
	core_loads_deinit(&content->loads);
	core_mappings_deinit(&content->mapped);
	str_deinit(&content->texts);
}
CLEAN_DEFINE_DEINIT(content_deinit, struct core_content);

void core_close(struct core *core)
{
	for (size_t i = 0; i < core->files.count; i++)
		if (core->files.items[i].fd >= 0)
			close(core->files.items[i].fd);
	core_files_deinit(&core->files);
	core_pieces_deinit(&core->pieces);
	maps_deinit(&core->maps);
	stop_deinit(&core->stop);
	if (core->fd >= 0)
		close(core->fd);
	*core = (struct core) { .fd = -1 };
}

/* --- memory ---------------------------------------------------------------------------------- */

static size_t read_fully(int fd, uint64_t offset, void *buffer, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		const ssize_t got =
			pread(fd, (uint8_t *)buffer + done, bytes - done, (off_t)(offset + done));

		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

/* Of one mapping, from an offset in it on. */
static size_t read_piece(const struct core *core, const struct core_piece *piece, uint64_t at,
			 void *buffer, size_t bytes)
{
	const int fd = piece->file == CORE_NO_FILE ? -1 : core->files.items[piece->file].fd;

	if (at < piece->bytes)
		return read_fully(core->fd, piece->offset + at, buffer,
				  u64_min(bytes, piece->bytes - at));
	return fd < 0 ? 0 : read_fully(fd, piece->file_offset + at, buffer, bytes);
}

static size_t read_core(void *context, uint64_t address, void *buffer, size_t bytes)
{
	const struct core *core = context;
	size_t done = 0;

	while (done < bytes) {
		const uint64_t at = address + done;
		const struct maps_entry *entry = maps_find(&core->maps, at);
		size_t got;

		if (!entry)
			break;
		got = read_piece(core, &core->pieces.items[entry - core->maps.entries.items],
				 at - entry->begin, (uint8_t *)buffer + done,
				 u64_min(bytes - done, entry->end - at));
		if (got == 0)
			break;
		done += got;
	}
	return done;
}

struct memory core_memory(const struct core *core)
{
	return (struct memory) { read_core, (void *)core };
}

/* --- files ----------------------------------------------------------------------------------- */

static const char *file_name(const struct core *core, const struct core_file *file)
{
	return core->maps.texts.ptr + file->name;
}

/* The index of the file with this name. */
static uint32_t file_put(struct core *core, uint32_t name, bool *failed)
{
	const char *text = core->maps.texts.ptr + name;

	for (size_t i = 0; i < core->files.count; i++)
		if (strcmp(file_name(core, &core->files.items[i]), text) == 0)
			return (uint32_t)i;
	*failed |= !core_files_push(&core->files, (struct core_file) { .name = name, .fd = -1 });
	return *failed ? CORE_NO_FILE : (uint32_t)core->files.count - 1;
}

static int open_regular(const char *path)
{
	/* A core may have any names: to open what is no file can do something. */
	static const char *const others[] = { "/dev/", "/proc/", "/sys/" };
	const bool is_shared = strncmp(path, "/dev/shm/", 9) == 0;

	for (size_t i = 0; i < array_size(others); i++)
		if (!is_shared && strncmp(path, others[i], strlen(others[i])) == 0)
			return -1;
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	return fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ? -1 : steal_fd(&fd);
}

/* What the core has of the beginning of an ELF file; the number of bytes. */
static size_t head_of(const struct core *core, size_t file, uint8_t *head)
{
	for (size_t i = 0; i < core->pieces.count; i++) {
		const struct core_piece *piece = &core->pieces.items[i];
		const size_t bytes = u64_min(piece->bytes, HEAD_BYTES);

		if (piece->file == file && piece->file_offset == 0 && bytes > SELFMAG &&
		    !core->maps.entries.items[i].is_writable &&
		    read_fully(core->fd, piece->offset, head, bytes) == bytes &&
		    memcmp(head, ELFMAG, SELFMAG) == 0)
			return bytes;
	}
	return 0;
}

/* Whether a file is what the core has of it, as far as it has anything. */
static bool is_same(const struct core *core, size_t file, int fd)
{
	uint8_t head[HEAD_BYTES], now[HEAD_BYTES];
	const size_t bytes = head_of(core, file, head);

	return read_fully(fd, 0, now, bytes) == bytes && memcmp(head, now, bytes) == 0;
}

static size_t exe_file(const struct core *core)
{
	const struct maps_entry *entry =
		core->header_at ? maps_find(&core->maps, core->header_at) : NULL;

	return entry && entry->inode ? entry->inode - 1 : CORE_NO_FILE;
}

const char *core_exe(const struct core *core)
{
	const size_t file = exe_file(core);

	return file == CORE_NO_FILE ? "" : file_name(core, &core->files.items[file]);
}

static struct err *open_exe(struct core *core, const char *exe, size_t file)
{
	CLEAN(close) int fd = open_regular(exe);

	if (fd < 0)
		return err_errno("%s", exe);
	if (file == CORE_NO_FILE)
		return NULL;
	if (!is_same(core, file, fd))
		return err_new(ERR_STATE,
			       "the core dump is not of %s but of %s, or that was changed since",
			       exe, file_name(core, &core->files.items[file]));
	if (core->files.items[file].fd >= 0)
		close(core->files.items[file].fd);
	core->files.items[file].is_changed = false;
	core->files.items[file].fd = steal_fd(&fd);
	return NULL;
}

static struct err *open_files(struct core *core, const char *exe)
{
	for (size_t i = 0; i < core->files.count; i++) {
		struct core_file *file = &core->files.items[i];
		CLEAN(close) int fd = open_regular(file_name(core, file));

		file->is_changed = fd >= 0 && !is_same(core, i, fd);
		if (fd >= 0 && !file->is_changed)
			file->fd = steal_fd(&fd);
	}
	return exe ? open_exe(core, exe, exe_file(core)) : NULL;
}

/* --- mappings -------------------------------------------------------------------------------- */

static int compare_loads(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(((const struct core_load *)a)->begin,
				((const struct core_load *)b)->begin);
}

static int compare_mapped(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(((const struct core_mapped *)a)->begin,
				((const struct core_mapped *)b)->begin);
}

static bool add(struct core *core, const struct core_load *load, const struct core_mapped *mapped,
		uint32_t no_name)
{
	bool failed = false;
	const uint32_t file = mapped ? file_put(core, mapped->name, &failed) : CORE_NO_FILE;
	const char *name = mapped ? core->maps.texts.ptr + mapped->name : "";
	const bool is_writable = load->flags & PF_W;
	const struct maps_entry entry = {
		.begin = load->begin,
		.end = load->begin + load->bytes,
		.inode = file == CORE_NO_FILE ? 0 : (uint64_t)file + 1,
		.name = mapped ? mapped->name : no_name,
		.is_readable = load->flags & PF_R,
		.is_writable = is_writable,
		.is_executable = load->flags & PF_X,
		/* Private memory that was written to is in the core. */
		.is_shared = mapped && is_writable && load->file_bytes == 0,
		.is_file = *name == '/',
		.is_undumped = !mapped && load->file_bytes == 0,
	};
	const struct core_piece piece = {
		.offset = load->offset,
		.bytes = load->file_bytes,
		.file_offset = mapped ? mapped->file_offset + (load->begin - mapped->begin) : 0,
		.file = file,
	};

	return !failed && maps_entries_push(&core->maps.entries, entry) &&
	       core_pieces_push(&core->pieces, piece);
}

/* A mapping of a file that the core has nothing of: gcore leaves those out. */
static bool add_left_out(struct core *core, const struct core_mapped *mapped, uint64_t begin,
			 uint64_t end)
{
	const struct core_load load = {
		.begin = begin,
		.bytes = end - begin,
		.flags = PF_R,
	};

	return begin >= end || add(core, &load, mapped, 0);
}

/*
 * Both lists ascend. Where loads overlap, which they do in no real core, the first counts; a load
 * has the file in which it begins.
 */
static bool merge(struct core *core, const struct core_content *content, uint32_t no_name)
{
	const struct core_mappings *mapped = &content->mapped;
	uint64_t end = 0;
	size_t at = 0;

	for (size_t i = 0; i < content->loads.count; i++) {
		const struct core_load *load = &content->loads.items[i];

		if (load->begin < end)
			continue;
		for (; at < mapped->count && mapped->items[at].end <= load->begin; at++)
			if (!add_left_out(core, &mapped->items[at],
					  u64_max(end, mapped->items[at].begin),
					  mapped->items[at].end))
				return false;
		if (at < mapped->count && mapped->items[at].begin <= load->begin) {
			if (!add_left_out(core, &mapped->items[at],
					  u64_max(end, mapped->items[at].begin), load->begin) ||
			    !add(core, load, &mapped->items[at], no_name))
				return false;
		} else if (!add(core, load, NULL, no_name)) {
			return false;
		}
		end = load->begin + load->bytes;
	}
	for (; at < mapped->count; at++)
		if (!add_left_out(core, &mapped->items[at], u64_max(end, mapped->items[at].begin),
				  mapped->items[at].end))
			return false;
	return true;
}

/* Of overlapping mappings the first counts. */
static void drop_overlaps(struct core_mappings *mapped)
{
	size_t kept = 0;

	for (size_t i = 0; i < mapped->count; i++)
		if (kept == 0 || mapped->items[i].begin >= mapped->items[kept - 1].end)
			mapped->items[kept++] = mapped->items[i];
	mapped->count = kept;
}

static struct err *make_maps(struct core *core, struct core_content *content)
{
	const uint32_t no_name = (uint32_t)content->texts.len;

	str_add_char(&content->texts, '\0');
	if (content->texts.failed ||
	    !sort_stable(content->loads.items, content->loads.count, sizeof(*content->loads.items),
			 compare_loads, NULL) ||
	    !sort_stable(content->mapped.items, content->mapped.count,
			 sizeof(*content->mapped.items), compare_mapped, NULL))
		return err_nomem();
	drop_overlaps(&content->mapped);
	core->maps.texts = content->texts;
	content->texts = (struct str) { 0 };
	return merge(core, content, no_name) ? NULL : err_nomem();
}

/* How much of a mapping there is, in the core and in its file. */
static uint64_t readable_bytes(const struct core *core, const struct core_piece *piece)
{
	const int fd = piece->file == CORE_NO_FILE ? -1 : core->files.items[piece->file].fd;
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0 || piece->file_offset >= (uint64_t)status.st_size)
		return piece->bytes;
	return u64_max(piece->bytes, (uint64_t)status.st_size - piece->file_offset);
}

/*
 * What gcore left out is mapped as the file says. Mappings end where nothing more of them can be
 * read, so that nobody tries that page by page.
 */
static void settle(struct core *core)
{
	for (size_t i = 0; i < core->pieces.count; i++) {
		const struct core_piece *piece = &core->pieces.items[i];
		struct maps_entry *entry = &core->maps.entries.items[i];
		const uint64_t bytes = readable_bytes(core, piece);

		if (bytes == 0)
			entry->is_undumped = true;
		else if (bytes < entry->end - entry->begin)
			entry->end = entry->begin + align_up(bytes, HEAD_BYTES);
		if (piece->bytes > 0 || piece->offset > 0 || piece->file == CORE_NO_FILE ||
		    core->files.items[piece->file].fd < 0)
			continue;
		entry->is_executable =
			core_elf_flags(core->files.items[piece->file].fd, piece->file_offset) &
			PF_X;
	}
}

/* --- opening --------------------------------------------------------------------------------- */

/* As systemd keeps them. */
static bool is_packed(int fd)
{
	static const struct {
		uint8_t bytes[4];
		size_t count;
	} magics[] = { { { 0x28, 0xb5, 0x2f, 0xfd }, 4 }, /* zstd */
		       { { 0x04, 0x22, 0x4d, 0x18 }, 4 }, /* lz4 */
		       { { 0xfd, 0x37, 0x7a, 0x58 }, 4 }, /* xz */
		       { { 0x1f, 0x8b }, 2 } };		  /* gzip */
	uint8_t head[4] = { 0 };

	read_fully(fd, 0, head, sizeof(head));
	for (size_t i = 0; i < array_size(magics); i++)
		if (memcmp(head, magics[i].bytes, magics[i].count) == 0)
			return true;
	return false;
}

static struct err *read_all(struct core *core, const char *exe)
{
	CLEAN(content_deinit) struct core_content content = { 0 };
	struct stat status;
	struct err *err;

	if (fstat(core->fd, &status) < 0)
		return err_errno("stat");
	if (!S_ISREG(status.st_mode))
		return err_new(ERR_FORMAT, "not a file");
	if (is_packed(core->fd))
		return err_new(ERR_UNSUPPORTED, "the core dump is compressed: unpack it first "
						"(coredumpctl dump, zstd -d)");
	core->until_ns =
		(uint64_t)status.st_mtim.tv_sec * 1000000000 + (uint64_t)status.st_mtim.tv_nsec;
	err = core_elf_read(core->fd, (uint64_t)status.st_size, core, &content);
	if (!err && core->stop.threads.count == 0)
		err = err_new(ERR_FORMAT, "the core dump has no threads");
	if (!err)
		err = make_maps(core, &content);
	if (!err)
		err = open_files(core, exe);
	if (!err)
		settle(core);
	core->stop.pid = core->pid;
	return err;
}

struct err *core_open_fd(int fd, const char *name, const char *exe, struct core *core)
{
	CLEAN(core_close) struct core own = { .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0) };
	struct err *err;

	if (own.fd < 0)
		return err_errno("%s", name);
	err = read_all(&own, exe);
	if (err)
		return err_wrap(err, "%s", name);
	*core = own;
	own = (struct core) { .fd = -1 };
	return NULL;
}

struct err *core_open(const char *path, const char *exe, struct core *core)
{
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	assert(path);
	return fd < 0 ? err_errno("%s", path) : core_open_fd(fd, path, exe, core);
}
