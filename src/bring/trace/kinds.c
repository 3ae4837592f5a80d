#include "trace/kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/str.h"

const struct kinds_source kinds_sources[KINDS_EVENTS] = {
	[KINDS_FAULT] = { .kind = TAPE_KERNEL_FAULT,
			  .config = PERF_COUNT_SW_PAGE_FAULTS,
			  .has_stack = true },
	[KINDS_MAJOR_FAULT] = { .kind = TAPE_KERNEL_MAJOR_FAULT,
				.config = PERF_COUNT_SW_PAGE_FAULTS_MAJ,
				.has_stack = true },
	[KINDS_BRK] = { .kind = TAPE_KERNEL_BRK,
			.tracepoint = "syscalls/sys_enter_brk",
			.has_stack = true,
			.fields = { { "brk", 0, 0 } } },
	[KINDS_BRK_RESULT] = { .kind = TAPE_KERNEL_BRK,
			       .tracepoint = "syscalls/sys_exit_brk",
			       .fields = { { "ret", 0, 0 } } },
	[KINDS_MMAP] = { .kind = TAPE_KERNEL_MMAP,
			 .tracepoint = "syscalls/sys_enter_mmap",
			 .has_stack = true,
			 .fields = { { "len", 0, 0 } } },
	[KINDS_MMAP_RESULT] = { .kind = TAPE_KERNEL_MMAP,
				.tracepoint = "syscalls/sys_exit_mmap",
				.fields = { { "ret", 0, 0 } } },
	[KINDS_MUNMAP] = { .kind = TAPE_KERNEL_MUNMAP,
			   .tracepoint = "syscalls/sys_enter_munmap",
			   .has_stack = true,
			   .fields = { { "addr", 0, 0 }, { "len", 0, 0 } } },
	[KINDS_MUNMAP_RESULT] = { .kind = TAPE_KERNEL_MUNMAP,
				  .tracepoint = "syscalls/sys_exit_munmap",
				  .fields = { { "ret", 0, 0 } } },
	/* Third and second argument: x86-64 is the only processor of which programs are traced. */
	[KINDS_HUGE_SPLIT] = { .kind = TAPE_KERNEL_HUGE_SPLIT,
			       .tracepoint = "memtape/huge_split",
			       .arguments = "addr=%dx:u64 pmd=+0(%si):u64",
			       .filter = "pmd & 0x80", /* it is huge: also called where none is */
			       .has_stack = true,
			       .fields = { { "addr", 0, 0 } } },
	[KINDS_OOM] = { .kind = TAPE_KERNEL_OOM,
			.tracepoint = "oom/mark_victim",
			.is_of_machine = true,
			.fields = { { "pid", 0, 0 } } },
};

/* --- tracefs --------------------------------------------------------------------------------- */

static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

static const char *tracefs_find(void)
{
	for (size_t i = 0; i < array_size(places); i++) {
		CLEAN(str_deinit) struct str path = { 0 };

		str_printf(&path, "%s/events", places[i]);
		if (!path.failed && access(str_text(&path), F_OK) == 0)
			return places[i];
	}
	return NULL;
}

/* Where nobody else sees it: in a mount namespace of our own. */
static void tracefs_mount(void)
{
	if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
		(void)!mount("memtape", places[0], "tracefs", 0, NULL);
}

static struct err *tracefs_place(const char **place_ret)
{
	*place_ret = tracefs_find();
	if (!*place_ret && geteuid() == 0) {
		tracefs_mount();
		*place_ret = tracefs_find();
	}
	if (*place_ret)
		return NULL;
	if (geteuid() != 0)
		return err_new(
			ERR_STATE,
			"system calls are seen by root only: %s may not be read. Page faults "
			"can be traced without",
			places[0]);
	return err_new(
		ERR_STATE,
		"this kernel has no tracepoints, or %s cannot be mounted. Page faults can be "
		"traced without",
		places[0]);
}

/* --- a tracepoint's format ------------------------------------------------------------------- */

/* "\tfield:unsigned long brk;\toffset:16;\tsize:8;\tsigned:0;" */
static bool line_is_of(const char *line, const struct kinds_field *field)
{
	const char *end = strchr(line, ';');
	const size_t len = strlen(field->name);

	return end && (size_t)(end - line) > len && memcmp(end - len, field->name, len) == 0 &&
	       end[-(ptrdiff_t)len - 1] == ' ';
}

static bool field_find(struct kinds_field *field, const char *format)
{
	for (const char *line = strstr(format, "field:"); line; line = strstr(line + 1, "field:")) {
		const char *offset = strstr(line, "offset:"), *bytes = strstr(line, "size:");
		const char *end = strchr(line, '\n');
		unsigned long at, count;

		if (!line_is_of(line, field) || !offset || !bytes || (end && bytes > end))
			continue;
		at = strtoul(offset + strlen("offset:"), NULL, 10);
		count = strtoul(bytes + strlen("size:"), NULL, 10);
		if (at > UINT16_MAX || (count != 4 && count != 8))
			return false;
		field->offset = (uint16_t)at;
		field->bytes = (uint16_t)count;
		return true;
	}
	return false;
}

static struct err *part_read(const char *place, const char *tracepoint, const char *part,
			     char *buffer, size_t size)
{
	CLEAN(str_deinit) struct str path = { 0 };
	FILE *file;

	str_printf(&path, "%s/events/%s/%s", place, tracepoint, part);
	if (path.failed)
		return err_nomem();
	file = fopen(str_text(&path), "re");
	if (!file)
		return err_new(ERR_STATE, "this kernel has no tracepoint %s", tracepoint);
	buffer[fread(buffer, 1, size - 1, file)] = '\0';
	fclose(file);
	return NULL;
}

/* --- probes ---------------------------------------------------------------------------------- */

/* False: errno. */
static bool probes_write(const char *place, const char *line)
{
	CLEAN(str_deinit) struct str path = { 0 };
	CLEAN(close) int fd = -1;

	str_printf(&path, "%s/kprobe_events", place);
	fd = open(str_text(&path), O_WRONLY | O_APPEND | O_CLOEXEC);
	return fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line);
}

/*
 * The kernel's function that splits a huge page has one of these names: the first one is called for
 * nothing else, but is often part of the second.
 */
static struct err *probe_make(const char *place, const struct kinds_source *source)
{
	static const char *const functions[] = { "__split_huge_pmd_locked", "__split_huge_pmd" };
	CLEAN(str_deinit) struct str path = { 0 }, line = { 0 };
	bool is_made = false;

	str_printf(&path, "%s/events/%s", place, source->tracepoint);
	if (!path.failed && access(str_text(&path), F_OK) == 0)
		return NULL; /* another memtape has it */
	for (size_t i = 0; i < array_size(functions) && !is_made; i++) {
		str_clear(&line);
		str_printf(&line, "p:%s %s %s\n", source->tracepoint, functions[i],
			   source->arguments);
		if (line.failed)
			return err_nomem();
		is_made = probes_write(place, str_text(&line)) || errno == EEXIST;
	}
	if (is_made)
		return NULL;
	if (errno == ENOENT && access(str_text(&path), F_OK) < 0)
		return err_new(ERR_STATE, "this kernel has no kprobes for splits of huge pages; "
					  "`memtape record` estimates them");
	return err_new(ERR_STATE,
		       "this kernel allows no probe where huge pages are split (%s); "
		       "`memtape record` estimates them",
		       strerror(errno));
}

void kinds_leave(const struct kinds_source *source)
{
	char line[STR_SHORT_BYTES];
	const char *place = source->arguments ? tracefs_find() : NULL;

	if (place)
		(void)probes_write(place,
				   str_format(line, sizeof(line), "-:%s\n", source->tracepoint));
}

/* The number in a file, behind these words; 0: there is none. */
static uint64_t number_in(const char *path, const char *words)
{
	CLEAN(fclose) FILE *file = fopen(path, "re");
	char text[4096];
	const char *at;

	if (!file)
		return 0;
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	at = strstr(text, words);
	return at ? strtoull(at + strlen(words), NULL, 10) : 0;
}

uint64_t kinds_huge_page_bytes(void)
{
	enum { USUAL_BYTES = 2 << 20 };
	uint64_t bytes = number_in("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "");

	if (bytes == 0)
		bytes = number_in("/proc/meminfo", "Hugepagesize:") << 10;
	return bytes && bytes <= UINT32_MAX ? bytes : USUAL_BYTES;
}

struct err *kinds_find(struct kinds_source *source)
{
	char text[8192];
	const char *place;
	struct err *err;

	if (!source->tracepoint)
		return NULL;
	err = tracefs_place(&place);
	if (!err && source->arguments)
		err = probe_make(place, source);
	if (!err)
		err = part_read(place, source->tracepoint, "id", text, sizeof(text));
	if (err)
		return err;
	source->config = strtoull(text, NULL, 10);
	err = part_read(place, source->tracepoint, "format", text, sizeof(text));
	for (size_t i = 0; i < KINDS_FIELDS && !err; i++)
		if (source->fields[i].name && !field_find(&source->fields[i], text))
			err = err_new(ERR_UNSUPPORTED, "this kernel's tracepoint %s has no %s",
				      source->tracepoint, source->fields[i].name);
	return err;
}

uint64_t kinds_field_value(const struct kinds_field *field, const uint8_t *bytes, size_t count)
{
	uint64_t value = 0;

	if (field->bytes == 0 || field->bytes > sizeof(value) || field->offset > count ||
	    field->bytes > count - field->offset)
		return 0;
	memcpy(&value, bytes + field->offset, field->bytes);
	return value;
}
