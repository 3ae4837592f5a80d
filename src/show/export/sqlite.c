/*
 * An SQLite database with the tables of `memtape sql`, for every program that opens such files. It
 * is made in a separate file, because a database is not written sequentially, and then copied;
 * memory is what SQLite uses.
 */
#include <fcntl.h>

#include "base/file.h"
#include "export/export.h"
#include "sql/sql.h"

enum { PIECE_BYTES = 1 << 16 };

static struct err *send(int fd, FILE *out)
{
	CLEAN(free) char *piece = malloc(PIECE_BYTES);
	off_t at = 0;
	ssize_t size;

	if (!piece)
		return err_nomem();
	while ((size = pread(fd, piece, PIECE_BYTES, at)) > 0) {
		if (fwrite(piece, 1, (size_t)size, out) != (size_t)size)
			return err_errno("write");
		at += size;
	}
	return size < 0 ? err_errno("read the database") : NULL;
}

static struct err *sqlite_write(const struct export_context *context, FILE *out)
{
	const struct selection *selection = context->selection;
	const char *folder = getenv("TMPDIR");
	CLEAN(str_deinit) struct str stem = { 0 };
	CLEAN(free) char *path = NULL;
	CLEAN(close) int fd = -1;
	struct err *err;

	if (selection->bits || selection->from_ns > 0 || selection->until_ns < UINT64_MAX)
		return err_new(ERR_USAGE, "sqlite: a database is of a whole tape");
	str_printf(&stem, "%s/memtape-export", folder && *folder ? folder : "/tmp");
	err = stem.failed ? err_nomem() : file_create_temporary(stem.ptr, &path, &fd);
	if (err)
		return err;
	err = sql_copy(context->model, context->names, selection->facts->suppressor, path);
	if (!err)
		err = send(fd, out);
	unlink(path);
	return err;
}

const struct export_format export_sqlite = {
	.name = "sqlite",
	.summary = "a database with the tables of memtape sql",
	.suffix = ".sqlite",
	.kind = EXPORT_EVENTS,
	.depth = MODEL_FULL,
	.write = sqlite_write,
};
