#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "trace/tracing_parts.h"

struct tracing_process *tracing_process_find(const struct tracing *trace, pid_t pid)
{
	const uint64_t *index = map_find(&trace->process_of, (uint64_t)pid);

	return index ? &trace->processes.items[*index] : NULL;
}

/* NULL: out of memory. */
static const char *keep_name(struct tracing *trace, const char *name)
{
	const uint32_t id = interner_put(&trace->names, name, strlen(name));

	return id == UINT32_MAX ? NULL : trace->names.texts[id];
}

/* "process" if it has ended. */
static void read_name(pid_t pid, char *name, size_t size)
{
	char path[STR_SHORT_BYTES];
	FILE *file = fopen(str_format(path, sizeof(path), "/proc/%d/comm", (int)pid), "re");

	str_format(name, size, "process");
	if (file && fgets(name, (int)size, file))
		name[strcspn(name, "\n")] = '\0';
	if (file)
		fclose(file);
}

struct tracing_process *tracing_process_put(struct tracing *trace, pid_t pid)
{
	bool is_new;
	uint64_t *index = map_put(&trace->process_of, (uint64_t)pid, &is_new);
	struct tracing_process *process;
	char name[STR_SHORT_BYTES];

	if (!index)
		return NULL;
	if (!is_new)
		return &trace->processes.items[*index];
	*index = trace->processes.count;
	process = tracing_processes_add(&trace->processes);
	read_name(pid, name, sizeof(name));
	if (process)
		*process = (struct tracing_process) { .pid = pid, .name = keep_name(trace, name) };
	if (process && process->name)
		return process;
	map_remove(&trace->process_of, (uint64_t)pid, NULL);
	return NULL;
}

bool tracing_forked(struct tracing *trace, pid_t parent, pid_t pid)
{
	const struct tracing_process *from = tracing_process_find(trace, parent);
	const uint64_t heap_end = from ? from->heap_end : 0;
	const char *name = from ? from->name : NULL;
	struct tracing_process *child = parent == pid ? NULL : tracing_process_put(trace, pid);

	if (child) {
		child->heap_end = heap_end;
		child->name = name ? name : child->name;
	}
	return child || parent == pid;
}

bool tracing_name(struct tracing *trace, const struct perf_record *record)
{
	const char *name = keep_name(trace, record->name);
	uint64_t *place = map_put(&trace->thread_names, record->tid, NULL);
	struct tracing_process *process = tracing_process_find(trace, (pid_t)record->pid);

	if (!name || !place)
		return false;
	*place = interner_find(&trace->names, name, strlen(name));
	if (process && record->pid == record->tid)
		process->name = name;
	return true;
}

void tracing_thread_name(struct tracing *trace, uint32_t tid)
{
	const uint64_t *name = map_find(&trace->thread_names, tid);

	composer_thread(trace->composer, tid, name ? trace->names.texts[*name] : NULL);
}

/* In order, those with most first; the last one gives way. */
static size_t recent_put(struct tracing_recent *recent, size_t count, size_t max,
			 const struct tracing_recent *one)
{
	size_t at = count;

	while (at > 0 && recent[at - 1].count < one->count)
		at--;
	if (at == max)
		return count;
	count = u64_min(count + 1, max);
	memmove(&recent[at + 1], &recent[at], (count - 1 - at) * sizeof(*recent));
	recent[at] = *one;
	return count;
}

size_t tracing_recent(struct tracing *tracing, struct tracing_recent *recent, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < tracing->processes.count; i++) {
		struct tracing_process *process = &tracing->processes.items[i];
		struct tracing_recent one = { .pid = process->pid, .name = process->name };

		for (size_t kind = 0; kind < TAPE_KERNEL_KINDS; kind++) {
			one.counts[kind] = process->recent[kind];
			one.count += process->recent[kind];
			process->recent[kind] = 0;
		}
		if (one.count > 0)
			count = recent_put(recent, count, max, &one);
	}
	return count;
}

static uint64_t realtime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Where the heap ends now; 0: it has none, or it may not be looked at. */
static uint64_t heap_end(pid_t pid)
{
	char path[STR_SHORT_BYTES], line[4352];
	FILE *file = fopen(str_format(path, sizeof(path), "/proc/%d/maps", (int)pid), "re");
	unsigned long long begin, end, found = 0;

	while (file && fgets(line, sizeof(line), file))
		if (strstr(line, "[heap]") && sscanf(line, "%llx-%llx", &begin, &end) == 2)
			found = end;
	if (file)
		fclose(file);
	return found;
}

static void describe(struct tracing *trace, const char *exe)
{
	const struct tracing_settings *settings = &trace->settings;
	const char *const *argv = settings->argv ? settings->argv : &exe;
	uint32_t argc = 0;

	while (settings->argv ? settings->argv[argc] != NULL : argc < 1)
		argc++;
	composer_process(trace->composer,
			 &(struct compose_process) {
				 .exe = exe,
				 .cwd = "",
				 .argv = argv,
				 .argc = argc,
				 .pid = settings->pid > 0 ? (uint32_t)settings->pid : 0,
				 .page_bytes = (uint32_t)trace->page_bytes,
				 .elf_machine = ARCH_ELF_MACHINE,
				 .start_realtime_ns = realtime_ns(),
			 });
}

struct err *tracing_look(struct tracing *trace)
{
	const pid_t pid = trace->settings.pid;
	CLEAN(str_deinit) struct str subject = { 0 };
	char link[STR_SHORT_BYTES], exe[4096] = "all processes";
	struct tracing_process *process;
	ssize_t len;

	if (pid > 0) {
		len = readlink(str_format(link, sizeof(link), "/proc/%d/exe", (int)pid), exe,
			       sizeof(exe) - 1);
		exe[len > 0 ? len : 0] = '\0';
	}
	if (trace->settings.argv)
		str_format(exe, sizeof(exe), "%s", trace->settings.argv[0]);
	str_add(&subject, exe);
	composer_source(trace->composer, TAPE_IMPORT_KERNEL, str_text(&subject));
	composer_allow_empty(trace->composer);
	describe(trace, exe);
	if (pid < 0 || trace->settings.is_paused_child)
		return subject.failed ? err_nomem() : NULL;
	process = tracing_process_put(trace, pid);
	if (!process || !code_read(trace->code, pid))
		return err_nomem();
	process->heap_end = heap_end(pid);
	return NULL;
}
