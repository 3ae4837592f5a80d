/*
 * kernel_pages: page_tables.h by the program of kernel_pages.bpf.c.
 *
 * The kernel does not say where it sees physical memory. That is found by trying, on memory of ours,
 * of which /proc/self/pagemap says where it is: a multiple of a GiB below the uppermost table.
 */
#include "bpf/page_tables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/str.h"
#include "bpf/kernel_pages_shared.h"

typedef uint64_t u64;
typedef uint32_t u32;
#include "kernel_pages.skel.h"

enum {
	GIB_SHIFT = 30,
	GIBS_MAX = 1 << 16, /* as many as PAGE_ENTRY_FRAME has */
	TRIES = 5,	    /* the kernel may move pages of ours meanwhile */
	STEP = 8,	    /* pages of ours that are used for a trial: one in so many */
	PAGE = 1 << PAGE_SMALL_SHIFT
};

static const uint64_t HUGE_BYTES = UINT64_C(1) << PAGE_TABLE_SHIFT;

struct page_tables {
	struct kernel_pages *kernel;
	const struct pages_table *tables; /* mapped: what the program has copied */
	int memory;			  /* of the process: /proc/PID/mem */
	uint64_t base, levels;
	struct page_zeros zeros;
};

/* --- the program ----------------------------------------------------------------------------- */

/* What goes wrong is returned. */
static int print_nothing(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level, (void)format, (void)arguments;
	return 0;
}

static struct err *load(struct page_tables *tables)
{
	const size_t bytes = PAGES_UNITS_MAX * sizeof(struct pages_table);
	struct kernel_pages *kernel;
	void *map;
	int rc;

	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		return err_new(ERR_STATE, "there is no BTF of the kernel");
	libbpf_set_print(print_nothing);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	kernel = tables->kernel = kernel_pages__open();
	rc = kernel ? kernel_pages__load(kernel) : -errno;
	if (rc == -EPERM)
		return err_new(ERR_STATE,
			       "only root (CAP_BPF and CAP_PERFMON) may read page tables");
	if (rc)
		return err_errno_new(-rc, "the program that reads page tables");
	map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, bpf_map__fd(kernel->maps.tables), 0);
	if (map == MAP_FAILED)
		return err_errno("map copies of page tables");
	tables->tables = map;
	return NULL;
}

/* 0, or -errno. */
static int run(struct page_tables *tables, int memory, uint64_t address, uint64_t units)
{
	uint64_t nothing[12] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = nothing, .ctx_size_in = sizeof(nothing));

	tables->kernel->bss->top = 0;
	tables->kernel->bss->request = (struct pages_request) {
		.fd = (uint64_t)memory,
		.address = address,
		.units = units,
		.base = tables->base,
		.levels = tables->levels,
	};
	return bpf_prog_test_run_opts(bpf_program__fd(tables->kernel->progs.pages_read), &options);
}

/* --- trying it out --------------------------------------------------------------------------- */

/* Memory of ours, a huge page and aligned to it, whose tables are ours alone. NULL: there is none. */
static uint8_t *aligned_map(int advice)
{
	uint8_t *map = mmap(NULL, 2 * HUGE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *begin;

	if (map == MAP_FAILED)
		return NULL;
	begin = map + (-(uintptr_t)map & (HUGE_BYTES - 1));
	if (begin > map)
		munmap(map, (size_t)(begin - map));
	munmap(begin + HUGE_BYTES, (size_t)(map + HUGE_BYTES - begin));
	madvise(begin, HUGE_BYTES, advice);
	return begin;
}

/* Whether the copied table is that of this memory of ours, by where its pages are. */
static bool is_table_of(const struct page_tables *tables, const uint8_t *map, int pagemap)
{
	uint64_t places[PAGE_TABLE_ENTRIES];
	const off_t at = (off_t)((uintptr_t)map >> PAGE_SMALL_SHIFT) * (off_t)sizeof(*places);

	if (pread(pagemap, places, sizeof(places), at) != sizeof(places))
		return false;
	for (size_t i = 0; i < PAGE_TABLE_ENTRIES; i++) {
		const uint64_t place = places[i] << PAGE_SMALL_SHIFT & PAGE_ENTRY_FRAME;

		if (place == 0 || place != (tables->tables[0].entries[i] & PAGE_ENTRY_FRAME))
			return false;
	}
	return true;
}

static struct err *find_base(struct page_tables *tables, const uint8_t *map, int memory,
			     int pagemap)
{
	const uint64_t address = (uintptr_t)map;
	uint64_t first;

	if (run(tables, memory, address, 0) || tables->kernel->bss->top == 0)
		return err_new(ERR_STATE, "its page tables were not found in the kernel");
	first = tables->kernel->bss->top >> GIB_SHIFT << GIB_SHIFT;
	for (uint64_t below = 0; below < GIBS_MAX; below++) {
		tables->base = first - (below << GIB_SHIFT);
		for (tables->levels = 4; tables->levels <= 5; tables->levels++)
			if (run(tables, memory, address, 1) == 0 &&
			    is_table_of(tables, map, pagemap))
				return NULL;
	}
	return err_new(ERR_STATE, "where the kernel sees page tables was not found");
}

/* Pages that are used after bits were cleared have them again, and the others have not. */
static struct err *try_bits(struct page_tables *tables, uint8_t *map, int memory, int clear)
{
	uint8_t seen = 0;

	if (write(clear, "2", 1) != 1)
		return err_errno("clear accessed bits");
	/* So that the processor forgets them. */
	if (mprotect(map, HUGE_BYTES, PROT_READ) < 0)
		return err_errno("protect memory");
	for (size_t i = 0; i < PAGE_TABLE_ENTRIES; i += STEP)
		seen = (uint8_t)(seen + *(volatile uint8_t *)(map + i * PAGE));
	(void)seen;
	if (run(tables, memory, (uintptr_t)map, 1))
		return err_new(ERR_STATE, "page tables cannot be read");
	for (size_t i = 0; i < PAGE_TABLE_ENTRIES; i++) {
		const uint64_t entry = tables->tables[0].entries[i];

		if (!(entry & PAGE_ENTRY_ACCESSED) == !(i % STEP))
			return err_new(ERR_STATE, "accessed bits do not say what was used");
	}
	return NULL;
}

static struct err *try_out(struct page_tables *tables, int memory, int pagemap, int clear)
{
	uint8_t *map = aligned_map(MADV_NOHUGEPAGE);
	struct err *err = NULL;

	if (!map)
		return err_errno("map memory");
	for (int i = 0; i < TRIES; i++) {
		err_destroy(err);
		mprotect(map, HUGE_BYTES, PROT_READ | PROT_WRITE);
		memset(map, 1, HUGE_BYTES);
		err = find_base(tables, map, memory, pagemap);
		if (!err)
			err = try_bits(tables, map, memory, clear);
		if (!err)
			break;
	}
	munmap(map, HUGE_BYTES);
	return err;
}

/* Where the page of zeros is that memory of ours has which is only read; all ones: not known. */
static uint64_t find_zeros(struct page_tables *tables, int memory, int advice)
{
	const struct pages_entry *entry = &tables->kernel->bss->entries[0];
	const bool is_huge = advice == MADV_HUGEPAGE;
	uint8_t *map = aligned_map(advice);
	uint64_t zeros = UINT64_MAX;

	if (!map)
		return zeros;
	(void)*(volatile uint8_t *)map;
	if (run(tables, memory, (uintptr_t)map, 1) == 0 &&
	    !(entry->before & PAGE_ENTRY_HUGE) == !is_huge)
		zeros = (is_huge ? entry->before : tables->tables[0].entries[0]) & PAGE_ENTRY_FRAME;
	munmap(map, HUGE_BYTES);
	return zeros;
}

/* The kernel keeps the huge one for as long as a process lives that has read it. */
static struct err *prepare(struct page_tables *tables)
{
	CLEAN(close) int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	CLEAN(close) int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	CLEAN(close) int clear = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
	struct err *err;

	if (memory < 0 || pagemap < 0 || clear < 0)
		return err_errno("open files of /proc/self");
	err = load(tables);
	if (!err)
		err = try_out(tables, memory, pagemap, clear);
	if (err)
		return err;
	tables->zeros.small = find_zeros(tables, memory, MADV_NOHUGEPAGE);
	tables->zeros.huge = find_zeros(tables, memory, MADV_HUGEPAGE);
	return NULL;
}

/* --- reading --------------------------------------------------------------------------------- */

struct err *page_tables_open(pid_t pid, struct page_tables **tables_ret)
{
	CLEAN(page_tables_close) struct page_tables *tables = calloc(1, sizeof(*tables));
	char path[64];
	struct err *err;

	if (!tables)
		return err_nomem();
	tables->memory = open(str_format(path, sizeof(path), "/proc/%d/mem", (int)pid),
			      O_RDONLY | O_CLOEXEC);
	if (tables->memory < 0)
		return err_errno("%s", path);
	err = prepare(tables);
	if (err)
		return err;
	*tables_ret = steal(tables);
	return NULL;
}

void page_tables_close(struct page_tables *tables)
{
	if (!tables)
		return;
	if (tables->tables)
		munmap((void *)tables->tables, PAGES_UNITS_MAX * sizeof(struct pages_table));
	if (tables->kernel)
		kernel_pages__destroy(tables->kernel);
	if (tables->memory >= 0)
		close(tables->memory);
	free(tables);
}

static void add_units(const struct page_tables *tables, struct page_runs *runs, uint64_t at,
		      uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		const struct pages_entry *entry = &tables->kernel->bss->entries[i];
		const struct page_unit unit = { entry->before, entry->after,
						(const uint64_t *)tables->tables[i].entries };

		page_runs_add(runs, at + (i << PAGE_TABLE_SHIFT), &unit);
	}
}

struct err *page_tables_read(struct page_tables *tables, uint64_t begin, uint64_t end,
			     const struct page_visitor *visitor)
{
	struct page_runs runs = { .visitor = visitor,
				  .zeros = tables->zeros,
				  .begin = begin,
				  .end = end,
				  .from = begin,
				  .at = begin };

	for (uint64_t at = begin & -HUGE_BYTES; at < end; at += PAGES_UNITS_MAX * HUGE_BYTES) {
		const uint64_t count = u64_min(div_up(end - at, HUGE_BYTES), PAGES_UNITS_MAX);
		const int rc = run(tables, tables->memory, at, count);

		if (rc)
			return err_errno_new(-rc, "page tables");
		add_units(tables, &runs, at, count);
	}
	page_runs_end(&runs);
	return NULL;
}
