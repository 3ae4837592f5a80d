#include "model/calls_records.h"

#include <assert.h>

#include "base/str.h"
#include "tape/tape_calls.h"
#include "tape/tape_import.h"

static const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* pid, then executable, folder and arguments, each NUL-terminated. */
void calls_add_process(struct calls *calls, const struct tape_extended_record *record)
{
	enum { ARGUMENT = 2 };
	const char *text = (const char *)record->payload + sizeof(struct tape_process);
	const char *end = (const char *)record->payload + record->payload_bytes;
	struct tape_process process;
	size_t index = 0;

	assert(record->type == TAPE_EXT_PROCESS);
	if (record->payload_bytes < sizeof(process))
		return;
	memcpy(&process, record->payload, sizeof(process));
	calls->pid = process.pid;
	calls->page_bytes = process.page_bytes;
	for (const char *zero; (zero = memchr(text, '\0', (size_t)(end - text))); text = zero + 1) {
		if (index == ARGUMENT || (index == 0 && *text))
			str_format(calls->name, sizeof(calls->name), "%s", path_name(text));
		if (index++ == ARGUMENT)
			break;
	}
}

void calls_add_import(struct calls *calls, const struct tape_extended_record *record)
{
	struct tape_import import;

	assert(record->type == TAPE_EXT_IMPORT);
	if (record->payload_bytes < sizeof(import))
		return;
	memcpy(&import, record->payload, sizeof(import));
	calls->missing |= import.missing;
}

/* Final counts of a stream's chunk: the counts of all chunks are added up. */
void calls_add_counts(struct calls *calls, const struct tape_extended_record *record)
{
	static const enum calls_row_id rows[TAPE_CALLS_ROW_COUNT] = {
		[TAPE_CALLS_MALLOC] = CALLS_MALLOC,
		[TAPE_CALLS_REALLOC] = CALLS_REALLOC,
		[TAPE_CALLS_CALLOC] = CALLS_CALLOC,
		[TAPE_CALLS_ALIGNED] = CALLS_ALIGNED,
		[TAPE_CALLS_FREE] = CALLS_FREE,
		[TAPE_CALLS_MMAP_READ] = CALLS_MMAP_READ,
		[TAPE_CALLS_MMAP_WRITE] = CALLS_MMAP_WRITE,
		[TAPE_CALLS_MMAP_ANONYMOUS] = CALLS_MMAP_ANONYMOUS,
		[TAPE_CALLS_MREMAP] = CALLS_MREMAP,
		[TAPE_CALLS_MUNMAP] = CALLS_MUNMAP,
	};
	struct tape_calls counts;

	assert(record->type == TAPE_EXT_CALLS);
	if (record->payload_bytes < sizeof(counts))
		return;
	memcpy(&counts, record->payload + record->payload_bytes - sizeof(counts), sizeof(counts));
	for (size_t i = 0; i < TAPE_CALLS_ROW_COUNT; i++) {
		calls->rows[rows[i]].calls += counts.rows[i].calls;
		calls->rows[rows[i]].bytes += counts.rows[i].bytes;
		calls->rows[rows[i]].failed += counts.rows[i].failed;
		if (i != TAPE_CALLS_FREE && i != TAPE_CALLS_MUNMAP)
			calls->heap_total += counts.rows[i].bytes;
	}
	calls->is_counted = true;
	calls->realloc_nomove += counts.realloc_nomove;
	calls->realloc_dec += counts.realloc_dec;
	calls->realloc_free += counts.realloc_free;
	calls->mremap_nomove += counts.mremap_nomove;
	calls->mremap_dec += counts.mremap_dec;
	calls->heap_peak = u64_max(calls->heap_peak, counts.heap_peak);
	calls->stack_peak = u64_max(calls->stack_peak, counts.stack_peak);
	calls->buckets[CALLS_BUCKET_COUNT] += counts.large;
	calls->sized_count += counts.large;
}

void calls_add_sizes(struct calls *calls, const struct tape_extended_record *record)
{
	struct tape_call_sizes sizes;

	assert(record->type == TAPE_EXT_CALL_SIZES);
	if (record->payload_bytes < sizeof(sizes))
		return;
	memcpy(&sizes, record->payload, sizeof(sizes));
	for (size_t i = 0; i < TAPE_CALL_SIZES_COUNT; i++) {
		calls->buckets[u64_min(sizes.first + i, CALLS_BUCKET_COUNT)] += sizes.counts[i];
		calls->sized_count += sizes.counts[i];
	}
}
