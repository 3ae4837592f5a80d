#include "bpf/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/vec.h"

typedef uint64_t u64;
typedef uint32_t u32;
#include "kernel_probes.skel.h"

VEC_DEFINE(links, struct bpf_link *);

struct kernel {
	struct kernel_probes *probes;
	struct links links;   /* one a probe, or */
	struct vec_u32 multi; /* descriptors of links of many probes */
	bool is_multi;	      /* these are what this kernel has */
};

/* What goes wrong is returned. */
static int print_nothing(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level, (void)format, (void)arguments;
	return 0;
}

static struct err *refuse(int number, const char *what)
{
	if (number == -EPERM || number == -EACCES)
		return err_new(
			ERR_STATE,
			"--bpf needs root (CAP_BPF and CAP_PERFMON): the kernel refused to %s",
			what);
	return err_errno_new(number, "the kernel could not %s", what);
}

/*
 * Links of many probes are much faster to make and to end: 0.3 s instead of 2 s. Linux 6.6 has
 * them, but before 6.10 they see only one thread of a process.
 */
enum { ATTACH_UPROBE_MULTI = 48, MULTI_MAJOR = 6, MULTI_MINOR = 10 };

static bool has_multi(void)
{
	struct utsname name;
	unsigned major, minor;

	return uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	       (major > MULTI_MAJOR || (major == MULTI_MAJOR && minor >= MULTI_MINOR));
}

static void set_namespace(struct kernel_probes *probes)
{
	enum { FIRST_INODE = 0xeffffffc }; /* PROC_PID_INIT_INO */
	struct stat status;

	if (stat("/proc/self/ns/pid", &status) < 0 || status.st_ino == (uint32_t)FIRST_INODE)
		return;
	probes->rodata->namespace_device = status.st_dev;
	probes->rodata->namespace_inode = status.st_ino;
}

/* Of processes' ends, beside those at functions. */
static struct err *attach_ends(struct kernel *kernel)
{
	struct bpf_program *const programs[] = { kernel->probes->progs.probe_exit,
						 kernel->probes->progs.probe_exec };

	for (size_t i = 0; i < array_size(programs); i++) {
		struct bpf_link *link = bpf_program__attach(programs[i]);

		if (!link)
			return refuse(-errno, "watch for the end of processes");
		if (!links_push(&kernel->links, link)) {
			bpf_link__destroy(link);
			return err_nomem();
		}
	}
	return NULL;
}

static struct err *load(struct kernel *kernel, const struct kernel_settings *settings)
{
	struct kernel_probes *probes = kernel->probes;
	struct bpf_program *program;
	int rc;

	probes->rodata->sample_bytes = settings->sample_bytes;
	probes->rodata->own_pid = settings->has_own ? (uint32_t)getpid() : 0;
	set_namespace(probes);
	if (kernel->is_multi)
		bpf_object__for_each_program(program, probes->obj) if (bpf_program__type(program) ==
								       BPF_PROG_TYPE_KPROBE)
			bpf_program__set_expected_attach_type(
				program, (enum bpf_attach_type)ATTACH_UPROBE_MULTI);
	rc = bpf_map__set_max_entries(probes->maps.rows, settings->row_capacity);
	if (!rc)
		rc = bpf_map__set_max_entries(probes->maps.blocks, settings->block_capacity);
	if (!rc)
		rc = kernel_probes__load(probes);
	return rc ? refuse(rc, "load the programs") : attach_ends(kernel);
}

struct err *kernel_open(const struct kernel_settings *settings, struct kernel **kernel_ret)
{
	CLEAN(kernel_close) struct kernel *kernel = calloc(1, sizeof(*kernel));
	struct err *err;

	if (!kernel)
		return err_nomem();
	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		return err_new(ERR_UNSUPPORTED,
			       "--bpf needs Linux 5.17 or later with BTF: there is no "
			       "/sys/kernel/btf/vmlinux");
	kernel->is_multi = has_multi();
	libbpf_set_print(print_nothing);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	kernel->probes = kernel_probes__open();
	if (!kernel->probes)
		return err_errno("the programs for the kernel");
	err = load(kernel, settings);
	if (err)
		return err;
	*kernel_ret = steal(kernel);
	return NULL;
}

void kernel_close(struct kernel *kernel)
{
	if (!kernel)
		return;
	for (size_t i = 0; i < kernel->multi.count; i++)
		close((int)kernel->multi.items[i]);
	vec_u32_deinit(&kernel->multi);
	for (size_t i = 0; i < kernel->links.count; i++)
		bpf_link__destroy(kernel->links.items[i]);
	links_deinit(&kernel->links);
	if (kernel->probes)
		kernel_probes__destroy(kernel->probes);
	free(kernel);
}

/* --- probes ---------------------------------------------------------------------------------- */

static struct bpf_program *program_of(const struct kernel *kernel, enum kernel_program program)
{
	if (program == KERNEL_ENTER)
		return kernel->probes->progs.probe_enter;
	return program == KERNEL_LEAVE ? kernel->probes->progs.probe_leave
				       : kernel->probes->progs.probe_free;
}

/* The part of bpf_attr that <linux/bpf.h> and libbpf may be too old for. */
struct multi_attr {
	uint32_t program, target, attach_type, flags;
	uint64_t path, offsets, counters, cookies;
	uint32_t count, multi_flags, pid, zero;
};

static struct err *attach_multi(struct kernel *kernel, enum kernel_program program, pid_t pid,
				const char *path, const struct kernel_place *places, size_t count)
{
	enum { RETURN = 1 };
	CLEAN(vec_u64_deinit) struct vec_u64 offsets = { 0 };
	CLEAN(vec_u64_deinit) struct vec_u64 cookies = { 0 };
	struct multi_attr attr = {
		.program = (uint32_t)bpf_program__fd(program_of(kernel, program)),
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.count = (uint32_t)count,
		.multi_flags = program == KERNEL_LEAVE ? RETURN : 0,
		.pid = pid > 0 ? (uint32_t)pid : 0,
	};
	long fd;

	for (size_t i = 0; i < count; i++)
		if (!vec_u64_push(&offsets, places[i].offset) ||
		    !vec_u64_push(&cookies, places[i].cookie))
			return err_nomem();
	if (!vec_u32_reserve(&kernel->multi, kernel->multi.count + 1))
		return err_nomem();
	attr.offsets = (uintptr_t)offsets.items;
	attr.cookies = (uintptr_t)cookies.items;
	fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	if (fd < 0)
		return refuse(-errno, "set probes");
	vec_u32_push(&kernel->multi, (uint32_t)fd);
	return NULL;
}

static struct err *attach_one(struct kernel *kernel, enum kernel_program program, pid_t pid,
			      const char *path, const struct kernel_place *place)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = program == KERNEL_LEAVE,
		    .bpf_cookie = place->cookie);
	struct bpf_link *link;

	if (!links_reserve(&kernel->links, kernel->links.count + 1))
		return err_nomem();
	link = bpf_program__attach_uprobe_opts(program_of(kernel, program), pid, path,
					       place->offset, &options);
	if (!link)
		return refuse(-errno, "set a probe");
	links_push(&kernel->links, link);
	return NULL;
}

struct err *kernel_attach(struct kernel *kernel, enum kernel_program program, pid_t pid,
			  const char *path, const struct kernel_place *places, size_t count)
{
	struct err *err = NULL;

	if (kernel->is_multi)
		return count > 0 ? attach_multi(kernel, program, pid, path, places, count) : NULL;
	for (size_t i = 0; i < count && !err; i++)
		err = attach_one(kernel, program, pid, path, &places[i]);
	return err;
}

/* --- tables ---------------------------------------------------------------------------------- */

static int map_fd(const struct bpf_map *map)
{
	return bpf_map__fd(map);
}

struct err *kernel_put_rows(struct kernel *kernel, uint32_t first, const struct probes_row *rows,
			    uint32_t count)
{
	CLEAN(vec_u32_deinit) struct vec_u32 keys = { 0 };
	uint32_t done = count;

	for (uint32_t i = 0; i < count; i++)
		if (!vec_u32_push(&keys, first + i))
			return err_nomem();
	if (count > 0 && bpf_map_update_batch(map_fd(kernel->probes->maps.rows), keys.items, rows,
					      &done, NULL) < 0)
		return err_errno("unwind tables");
	return NULL;
}

struct err *kernel_put_range(struct kernel *kernel, uint32_t index,
			     const struct probes_range *range)
{
	return bpf_map_update_elem(map_fd(kernel->probes->maps.ranges), &index, range, BPF_ANY) < 0
		       ? err_errno("table of code")
		       : NULL;
}

struct err *kernel_put_process(struct kernel *kernel, uint32_t pid,
			       const struct probes_process *process)
{
	return bpf_map_update_elem(map_fd(kernel->probes->maps.processes), &pid, process, BPF_ANY) <
			       0
		       ? err_errno("table of processes")
		       : NULL;
}

bool kernel_take_stranger(struct kernel *kernel, uint32_t *pid_ret)
{
	const int fd = map_fd(kernel->probes->maps.strangers);

	return bpf_map_get_next_key(fd, NULL, pid_ret) == 0 &&
	       bpf_map_delete_elem(fd, pid_ret) == 0;
}

bool kernel_take_end(struct kernel *kernel, uint32_t *pid_ret, struct probes_end_of *end_ret)
{
	const int fd = map_fd(kernel->probes->maps.ends);

	return bpf_map_get_next_key(fd, NULL, pid_ret) == 0 &&
	       bpf_map_lookup_elem(fd, pid_ret, end_ret) == 0 &&
	       bpf_map_delete_elem(fd, pid_ret) == 0;
}

void kernel_counts(const struct kernel *kernel, uint64_t counts[PROBES_COUNTS])
{
	for (size_t i = 0; i < PROBES_COUNTS; i++)
		counts[i] = __atomic_load_n(&kernel->probes->bss->counts[i], __ATOMIC_RELAXED);
}

/* --- what has been found --------------------------------------------------------------------- */

enum { BATCH = 4096 };

/*
 * In batches: key by key a look-up would begin anew whenever its key has gone. A bucket with more
 * entries than a batch has room for asks for a larger one.
 */
static struct err *each(int fd, size_t key_bytes, size_t value_bytes,
			bool (*visit)(void *context, const void *key, const void *value),
			void *context)
{
	CLEAN(free) uint8_t *keys = malloc(BATCH * key_bytes);
	CLEAN(free) uint8_t *values = malloc(BATCH * value_bytes);
	uint64_t from = 0, to = 0;
	bool is_first = true;

	if (!keys || !values)
		return err_nomem();
	for (;;) {
		uint32_t count = BATCH;
		const int rc = bpf_map_lookup_batch(fd, is_first ? NULL : &from, &to, keys, values,
						    &count, NULL);

		if (rc < 0 && errno != ENOENT)
			return err_errno("reading the tables in the kernel");
		for (uint32_t i = 0; i < count; i++)
			if (!visit(context, keys + i * key_bytes, values + i * value_bytes))
				return err_nomem();
		if (rc < 0)
			return NULL;
		from = to;
		is_first = false;
	}
}

struct blocks_visit {
	bool (*visit)(void *context, const struct probes_key *key,
		      const struct probes_block *block);
	void *context;
};

static bool visit_block(void *context, const void *key, const void *value)
{
	const struct blocks_visit *visit = context;

	return visit->visit(visit->context, key, value);
}

struct err *kernel_blocks_each(struct kernel *kernel,
			       bool (*visit)(void *context, const struct probes_key *key,
					     const struct probes_block *block),
			       void *context)
{
	struct blocks_visit blocks = { visit, context };

	return each(map_fd(kernel->probes->maps.blocks), sizeof(struct probes_key),
		    sizeof(struct probes_block), visit_block, &blocks);
}

struct stacks_visit {
	bool (*visit)(void *context, uint64_t key, const struct probes_stack *stack);
	void *context;
};

static bool visit_stack(void *context, const void *key, const void *value)
{
	const struct stacks_visit *visit = context;

	return visit->visit(visit->context, load_u64(key), value);
}

struct err *kernel_stacks_each(struct kernel *kernel,
			       bool (*visit)(void *context, uint64_t key,
					     const struct probes_stack *stack),
			       void *context)
{
	struct stacks_visit stacks = { visit, context };

	return each(map_fd(kernel->probes->maps.stacks), sizeof(uint64_t),
		    sizeof(struct probes_stack), visit_stack, &stacks);
}

void kernel_forget_block(struct kernel *kernel, const struct probes_key *key)
{
	bpf_map_delete_elem(map_fd(kernel->probes->maps.blocks), key);
}
