#include <stdio.h>
#include <stdlib.h>

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

const char *tracing_thread_name(const struct tracing *trace, uint32_t tid)
{
	const uint64_t *name = map_find(&trace->thread_names, tid);

	return name ? trace->names.texts[*name] : NULL;
}

const char *tracing_process_name(const struct tracing *trace, pid_t pid)
{
	const struct tracing_process *process = tracing_process_find(trace, pid);

	return process ? process->name : NULL;
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

struct err *tracing_look(struct tracing *trace)
{
	const pid_t pid = trace->settings.pid;
	struct tracing_process *process = tracing_process_put(trace, pid);

	if (!process || !code_read(trace->code, pid))
		return err_nomem();
	process->heap_end = heap_end(pid);
	return NULL;
}
