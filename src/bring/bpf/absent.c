/*
 * A memtape that was built without what a watch, and looks at page tables, need.
 */
#include "bpf/page_tables.h"
#include "bpf/watch.h"

const char *watch_absence(void)
{
	return "this memtape was built without --bpf; install libbpf-dev, bpftool and clang, and "
	       "build "
	       "it again";
}

struct err *watch_open(const struct watch_settings *settings, struct watch **watch_ret)
{
	(void)settings;
	(void)watch_ret;
	return err_new(ERR_UNSUPPORTED, "%s", watch_absence());
}

void watch_close(struct watch *watch)
{
	(void)watch;
}

struct err *watch_poll(struct watch *watch)
{
	(void)watch;
	return NULL;
}

void watch_describe(const struct watch *watch, struct str *text)
{
	(void)watch;
	(void)text;
}

struct err *watch_take(struct watch *watch, const struct watch_live **lives_ret, size_t *count_ret)
{
	(void)watch;
	(void)lives_ret;
	(void)count_ret;
	return err_new(ERR_UNSUPPORTED, "%s", watch_absence());
}

struct err *watch_write(struct watch *watch, pid_t pid, const char *path, bool overwrite)
{
	(void)watch;
	(void)pid;
	(void)path;
	(void)overwrite;
	return err_new(ERR_UNSUPPORTED, "%s", watch_absence());
}

/* --- page tables ----------------------------------------------------------------------------- */

struct err *page_tables_open(pid_t pid, struct page_tables **tables_ret)
{
	(void)pid;
	(void)tables_ret;
	return err_new(ERR_UNSUPPORTED, "this memtape was built without libbpf, bpftool or clang");
}

void page_tables_close(struct page_tables *tables)
{
	(void)tables;
}

struct err *page_tables_read(struct page_tables *tables, uint64_t begin, uint64_t end,
			     const struct page_visitor *visitor)
{
	(void)tables;
	(void)begin;
	(void)end;
	(void)visitor;
	return err_new(ERR_UNSUPPORTED, "this memtape was built without libbpf, bpftool or clang");
}
