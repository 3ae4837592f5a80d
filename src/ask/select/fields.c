#include "select/fields.h"

#include <assert.h>
#include <strings.h>

#include "select/field_values.h"

#define RUN	   "the time recorded"
#define NEVER	   "it was never freed"
#define NOT_SEEN   "it was never freed, or its free was not seen"
#define ROW(field) .scope = FIELD_OF_ROW, .of_rows = rows_##field
#define STACK(fn)  .scope = FIELD_OF_STACK, .of_stack = stack_##fn
#define GROUP(fn)  .scope = FIELD_OF_GROUP, .of_stack = fn

const struct field field_table[] = {
	/* Of the allocation. */
	{ "size", "requested_size", FIELD_BYTES, ROW(size), .column = MODEL_SIZE + 1,
	  .doc = "Size requested by the program." },
	{ "usable", "usable_size", FIELD_BYTES, ROW(usable), .column = MODEL_USABLE + 1,
	  .doc = "What the allocator gave." },
	{ "slack", "extra_space", FIELD_BYTES, ROW(slack),
	  .doc = "What the allocator gave on top of the size." },
	{ "size_class", "", FIELD_BYTES, ROW(size_class),
	  .doc = "The power of two that the size reaches." },
	{ "address", "", FIELD_ADDRESS, ROW(address), .column = MODEL_ADDRESS + 1,
	  .doc = "Where the block is." },
	{ "time", "timestamp alloc_time allocated_at", FIELD_MOMENT, ROW(time),
	  .column = MODEL_ALLOC_NS + 1, .percent = RUN, .doc = "When it was allocated." },
	{ "free_time", "freed_at deallocated_at", FIELD_MOMENT, ROW(free_time),
	  .column = MODEL_FREE_NS + 1, .percent = RUN, .none = NEVER, .doc = "When it was freed." },
	{ "lifetime", "", FIELD_DURATION, ROW(lifetime), .percent = RUN, .none = NEVER,
	  .doc = "The time from its allocation to its free." },
	{ "age", "", FIELD_DURATION, ROW(age), .percent = RUN,
	  .doc = "The time from its allocation to its free, or to the end of the recording." },
	{ "latency", "", FIELD_DURATION, ROW(latency), .column = MODEL_LATENCY + 1, .percent = RUN,
	  .facts = FACT_LATENCIES, .none = "it was not measured",
	  .doc = "How long the call took that allocated it." },
	{ "free_latency", "", FIELD_DURATION, ROW(free_latency), .column = MODEL_FREE_LATENCY + 1,
	  .percent = RUN, .facts = FACT_LATENCIES,
	  .none = "it was never freed, or by a realloc, or its free was not measured",
	  .doc = "How long the call took that freed it." },
	{ "thread", "tid", FIELD_ID, ROW(thread),
	  .doc = "The kernel's number of the thread that allocated." },
	{ "thread_name", "", FIELD_TEXT, ROW(thread_index), .text = text_thread,
	  .id_count = id_count_threads, .doc = "The last name of the thread that allocated." },
	{ "free_thread", "", FIELD_ID, ROW(free_thread), .none = NOT_SEEN,
	  .doc = "The kernel's number of the thread that freed." },
	{ "free_thread_name", "", FIELD_TEXT, ROW(free_thread_index), .text = text_thread,
	  .id_count = id_count_threads, .none = NOT_SEEN,
	  .doc = "The last name of the thread that freed." },
	{ "call", "kind", FIELD_TEXT, ROW(call), .text = text_call, .id_count = id_count_calls,
	  .doc = "The function that was called, malloc or operator new or another." },
	{ "free_call", "", FIELD_TEXT, ROW(free_call), .text = text_call,
	  .id_count = id_count_calls, .none = NOT_SEEN,
	  .doc = "The function that freed it, free or operator delete or another." },
	{ "stack", "backtrace backtraces backtrace_id stack_id", FIELD_ID, ROW(stack),
	  .column = MODEL_STACK + 1, .doc = "The number of the stack that allocated." },
	{ "free_stack",
	  "deallocation_backtrace deallocation_backtraces free_backtrace free_stack_id", FIELD_ID,
	  ROW(free_stack), .none = "it was never freed, or no stack was taken",
	  .doc = "The number of the stack that freed." },
	{ "leaked", "only_leaked", FIELD_BOOL, ROW(leaked), .facts = FACT_LEAKS,
	  .doc = "It was never freed, and that is not suppressed." },
	{ "suppressed", "", FIELD_BOOL, ROW(suppressed), .facts = FACT_LEAKS,
	  .doc = "It was never freed, and a suppression says that this is known." },
	{ "freed", "only_temporary deallocated", FIELD_BOOL, ROW(freed), .doc = "It was freed." },
	{ "temporary", "", FIELD_BOOL, ROW(temporary),
	  .doc = "It was freed before the same thread's next allocation." },
	{ "at_peak", "", FIELD_BOOL, ROW(at_peak),
	  .doc = "It was alive when live bytes of the program were highest." },
	{ "foreign_free", "", FIELD_BOOL, ROW(foreign_free),
	  .doc = "Another thread freed it than allocated it." },
	{ "lost_free", "", FIELD_BOOL, ROW(lost_free),
	  .doc = "Its free was not seen; its address was given out again at its free_time." },
	{ "reallocated", "", FIELD_BOOL, ROW(reallocated),
	  .doc = "It was ended by a realloc, which goes on with it." },
	{ "freed_in_range", "only_deallocated_in_current_range", FIELD_BOOL, ROW(freed_in_range),
	  .doc = "It was freed between --from and --until." },
	{ "kept_in_range", "only_not_deallocated_in_current_range", FIELD_BOOL, ROW(kept_in_range),
	  .doc = "It was never freed, or after --until." },
	{ "mmapped", "mmaped", FIELD_BOOL, ROW(mmapped),
	  .doc = "It is a mapping of its own, as glibc makes for large blocks." },
	{ "mark", "marker", FIELD_TEXT, ROW(mark), .text = text_mark, .id_count = id_count_marks,
	  .none = "no mark was set before it", .doc = "The mark that was set last." },

	{ "tag", "", FIELD_TEXT, ROW(tag), .text = text_tag, .id_count = id_count_tags,
	  .none = "the thread had no tag",
	  .doc = "The tag that the thread had set (memtape_tag)." },

	{ "pool", "", FIELD_TEXT, ROW(pool), .text = text_pool, .id_count = id_count_pools,
	  .none = "it is a block of the heap",
	  .doc = "The pool of the program that it is in (memtape_pool_create); a filter that names "
		 "it is about objects of pools, and any other about the heap." },

	/* Of its realloc chain. */
	{ "chain", "", FIELD_ID, ROW(chain), .column = MODEL_CHAIN + 1,
	  .none = "it was never reallocated", .doc = "The number of the realloc chain it is in." },
	{ "chain_length", "", FIELD_COUNT, ROW(chain_length),
	  .doc = "Allocations in its realloc chain; 1 if it was never reallocated." },
	{ "chain_position", "position_in_chain", FIELD_COUNT, ROW(chain_position),
	  .facts = FACT_CHAINS, .doc = "Its place in its realloc chain, from 0." },
	{ "first_size", "", FIELD_BYTES, ROW(first_size),
	  .doc = "The size at the beginning of its realloc chain." },
	{ "last_size", "", FIELD_BYTES, ROW(last_size),
	  .doc = "The size at the end of its realloc chain." },
	{ "chain_lifetime", "", FIELD_DURATION, ROW(chain_lifetime), .percent = RUN,
	  .none = "the last of the chain was never freed",
	  .doc = "The time from the first allocation of its realloc chain to the last free." },
	{ "chain_leaked", "only_chain_leaked", FIELD_BOOL, ROW(chain_leaked), .facts = FACT_LEAKS,
	  .doc = "The last of its realloc chain leaked." },

	/* Of its stack. */
	{ "function", "", FIELD_TEXTS, .scope = FIELD_OF_STACK, .of_frame = frame_function,
	  .rule = FIELD_TEXT_FUNCTION,
	  .doc = "The function of any frame of the stack that allocated." },
	{ "source", "file", FIELD_TEXTS, .scope = FIELD_OF_STACK, .of_frame = frame_source,
	  .rule = FIELD_TEXT_PATH, .none = "it is not known",
	  .doc = "The source file of any frame." },
	{ "location", "", FIELD_TEXTS, .scope = FIELD_OF_STACK, .of_frame = frame_location,
	  .rule = FIELD_TEXT_PATH, .none = "it is not known",
	  .doc = "The source file and line of any frame." },
	{ "module", "library", FIELD_TEXTS, .scope = FIELD_OF_STACK, .of_frame = frame_module,
	  .rule = FIELD_TEXT_PATH, .other = module_other, .none = "it is not known",
	  .doc = "The program or library of any frame." },
	{ "free_function", "", FIELD_TEXTS, .scope = FIELD_OF_FREE_STACK,
	  .of_frame = frame_function, .rule = FIELD_TEXT_FUNCTION, .none = NOT_SEEN,
	  .doc = "The function of any frame of the stack that freed." },
	{ "free_source", "free_file", FIELD_TEXTS, .scope = FIELD_OF_FREE_STACK,
	  .of_frame = frame_source, .rule = FIELD_TEXT_PATH, .none = NOT_SEEN,
	  .doc = "The source file of any frame of the stack that freed." },
	{ "free_location", "", FIELD_TEXTS, .scope = FIELD_OF_FREE_STACK,
	  .of_frame = frame_location, .rule = FIELD_TEXT_PATH, .none = NOT_SEEN,
	  .doc = "The source file and line of any frame of the stack that freed." },
	{ "free_module", "free_library", FIELD_TEXTS, .scope = FIELD_OF_FREE_STACK,
	  .of_frame = frame_module, .rule = FIELD_TEXT_PATH, .other = module_other,
	  .none = NOT_SEEN, .doc = "The program or library of any frame of the stack that freed." },
	{ "site", "site_function", FIELD_TEXT, STACK(site), .text = text_name,
	  .rule = FIELD_TEXT_FUNCTION, .facts = FACT_SITES,
	  .doc = "The innermost function of the user's own code; without one, exact_site." },
	{ "site_source", "site_file", FIELD_TEXT, STACK(site_source), .text = text_pointer,
	  .rule = FIELD_TEXT_PATH, .facts = FACT_SITES, .none = "it is not known",
	  .doc = "The source file of the site." },
	{ "site_location", "", FIELD_TEXT, STACK(site_location), .text = text_pointer,
	  .rule = FIELD_TEXT_PATH, .facts = FACT_SITES, .none = "it is not known",
	  .doc = "The source file and line of the site." },
	{ "site_module", "site_library", FIELD_TEXT, STACK(site_module), .text = text_pointer,
	  .rule = FIELD_TEXT_PATH, .other = module_other, .facts = FACT_SITES,
	  .none = "it is not known", .doc = "The program or library of the site." },
	{ "exact_site", "", FIELD_TEXT, STACK(exact_site), .text = text_name,
	  .rule = FIELD_TEXT_FUNCTION, .facts = FACT_EXACT_SITES,
	  .doc = "The innermost function that is not machinery of allocation, also of a library." },
	{ "exact_site_source", "", FIELD_TEXT, STACK(exact_site_source), .text = text_pointer,
	  .rule = FIELD_TEXT_PATH, .facts = FACT_EXACT_SITES, .none = "it is not known",
	  .doc = "The source file of the exact_site." },
	{ "exact_site_location", "", FIELD_TEXT, STACK(exact_site_location), .text = text_pointer,
	  .rule = FIELD_TEXT_PATH, .facts = FACT_EXACT_SITES, .none = "it is not known",
	  .doc = "The source file and line of the exact_site." },
	{ "exact_site_module", "", FIELD_TEXT, STACK(exact_site_module), .text = text_pointer,
	  .rule = FIELD_TEXT_PATH, .other = module_other, .facts = FACT_EXACT_SITES,
	  .none = "it is not known", .doc = "The program or library of the exact_site." },
	{ "process", "", FIELD_TEXT, STACK(process), .text = text_pointer,
	  .doc = "The name of the program that allocated, of a process tree." },
	{ "pid", "", FIELD_ID, STACK(pid), .doc = "The number of the process that allocated." },
	{ "depth", "backtrace_depth stack_depth", FIELD_COUNT, STACK(depth), .facts = FACT_DEPTHS,
	  .doc = "Frames of the stack, inlined ones not counted." },
	{ "truncated", "", FIELD_BOOL, STACK(truncated),
	  .doc = "The outer frames of the stack are not known." },

	/* Of its group, all allocations by the same stack. */
	{ "group_allocations", "group_count", FIELD_COUNT, GROUP(group_allocations),
	  .doc = "Allocations of the group." },
	{ "group_bytes", "group_size", FIELD_BYTES, GROUP(group_bytes),
	  .doc = "Bytes requested by the group." },
	{ "group_leaked", "group_leaked_allocations", FIELD_COUNT, GROUP(group_leaked),
	  .percent = "the group's allocations", .whole = group_allocations, .facts = FACT_LEAKS,
	  .doc = "Allocations of the group that leaked." },
	{ "group_leaked_bytes", "", FIELD_BYTES, GROUP(group_leaked_bytes),
	  .percent = "the group's bytes", .whole = group_bytes, .facts = FACT_LEAKS,
	  .doc = "Bytes of the group that leaked." },
	{ "group_temporary", "", FIELD_COUNT, GROUP(group_temporary),
	  .percent = "the group's allocations", .whole = group_allocations,
	  .doc = "Allocations of the group that were temporary." },
	{ "group_peak_bytes", "", FIELD_BYTES, GROUP(group_peak_bytes),
	  .doc = "Bytes of the group that were alive at the peak of the program." },
	{ "group_first_time", "", FIELD_MOMENT, GROUP(group_first_time), .percent = RUN,
	  .facts = FACT_GROUPS, .doc = "The first allocation of the group." },
	{ "group_last_time", "", FIELD_MOMENT, GROUP(group_last_time), .percent = RUN,
	  .facts = FACT_GROUPS, .doc = "The last allocation of the group." },
	{ "group_interval", "", FIELD_DURATION, GROUP(group_interval), .percent = RUN,
	  .facts = FACT_GROUPS,
	  .doc = "The time between the first and the last allocation of the group." },
	{ "group_usage_max", "", FIELD_BYTES, GROUP(group_usage_max), .facts = FACT_PEAKS,
	  .doc = "The most bytes of the group that were alive at once." },
	{ "group_usage_max_time", "group_max_total_usage_first_seen", FIELD_MOMENT,
	  GROUP(group_usage_max_time), .percent = RUN, .facts = FACT_PEAKS,
	  .doc = "When the most bytes of the group were alive for the first time." },
	{ "whole_group_leaked", "only_whole_group_leaked", FIELD_BOOL, GROUP(whole_group_leaked),
	  .facts = FACT_LEAKS, .doc = "All of the group leaked." },
};

const size_t field_count = array_size(field_table);

/* --- by name ------------------------------------------------------------------------------- */

static bool is_word(const char *word, const char *name, size_t len)
{
	return strncasecmp(word, name, len) == 0 && word[len] == '\0';
}

static bool is_alias(const char *aliases, const char *name, size_t len)
{
	while (*aliases) {
		const size_t alias_len = strcspn(aliases, " ");

		if (alias_len == len && strncasecmp(aliases, name, len) == 0)
			return true;
		aliases += alias_len + (aliases[alias_len] == ' ');
	}
	return false;
}

const struct field *field_find(const char *name, size_t len)
{
	if (len == 0)
		return NULL;
	for (size_t i = 0; i < field_count; i++) {
		if (is_word(field_table[i].name, name, len) ||
		    is_alias(field_table[i].aliases, name, len))
			return &field_table[i];
	}
	return NULL;
}

enum { GUESS_MAX = 40 };

/* Edit distance: letters to change, add or remove; one row of the matrix at a time. */
static size_t edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t row[GUESS_MAX + 1];

	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			const size_t changed = diagonal + ((a[i - 1] | 32) != (b[j - 1] | 32));

			diagonal = row[j];
			row[j] = u64_min(changed, u64_min(row[j], row[j - 1]) + 1);
		}
	}
	return row[b_len];
}

const struct field *field_guess(const char *name, size_t len)
{
	const struct field *best = NULL;
	size_t best_distance = len / 3 + 2; /* larger distances are not similar */

	if (len == 0 || len > GUESS_MAX)
		return NULL;
	for (size_t i = 0; i < field_count; i++) {
		const char *word = field_table[i].name;
		const size_t distance = edit_distance(name, len, word, strlen(word));

		if (distance < best_distance && distance < strlen(word)) {
			best = &field_table[i];
			best_distance = distance;
		}
	}
	return best;
}

const char *field_type_word(enum field_type type)
{
	static const char *const words[] = {
		[FIELD_BYTES] = "bytes",
		[FIELD_COUNT] = "count",
		[FIELD_MOMENT] = "moment",
		[FIELD_DURATION] = "duration",
		[FIELD_ADDRESS] = "address",
		[FIELD_ID] = "id",
		[FIELD_BOOL] = "true or false",
		[FIELD_TEXT] = "text",
		[FIELD_TEXTS] = "text of any frame",
	};

	assert((unsigned)type < array_size(words));
	return words[type];
}

const char *field_scope_word(enum field_scope scope)
{
	static const char *const words[] = {
		[FIELD_OF_ROW] = "allocation",
		[FIELD_OF_STACK] = "stack",
		[FIELD_OF_FREE_STACK] = "free stack",
		[FIELD_OF_GROUP] = "group",
	};

	assert((unsigned)scope < array_size(words));
	return words[scope];
}

/* --- values -------------------------------------------------------------------------------- */

void field_read(const struct field *field, struct batch *batch, uint64_t *values)
{
	const uint64_t *stacks;

	assert(batch->count <= MODEL_BATCH);
	assert((field->of_rows != NULL) + (field->of_stack != NULL) == 1);
	assert(field->type != FIELD_TEXTS);
	assert((field->facts & ~batch->facts->prepared) == 0);
	if (field->of_rows) {
		field->of_rows(batch, values);
		return;
	}
	stacks = batch_column(batch, MODEL_STACK);
	for (size_t i = 0; i < batch->count; i++)
		values[i] = field->of_stack(batch->facts, (uint32_t)stacks[i]);
}

const char *field_text(const struct field *field, const struct facts *facts, uint64_t value)
{
	assert(field->type == FIELD_TEXT && field->text);
	return value == FIELD_NONE ? NULL : field->text(facts, value);
}
