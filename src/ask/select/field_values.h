/*
 * field_values: functions that compute field values. Internal to the table in fields.c; named like
 * the fields.
 */
#ifndef MEMTAPE_SELECT_FIELD_VALUES_H
#define MEMTAPE_SELECT_FIELD_VALUES_H

#include "select/fields.h"

typedef void field_rows_fn(struct batch *batch, uint64_t *values);
typedef uint64_t field_stack_fn(const struct facts *facts, uint32_t stack);
typedef const char *field_frame_fn(const struct facts *facts, const struct name_frame *frame);
typedef const char *field_text_fn(const struct facts *facts, uint64_t id);
typedef size_t field_id_count_fn(const struct facts *facts);

/* Of the allocation. */
field_rows_fn rows_size, rows_usable, rows_slack, rows_size_class, rows_address, rows_time,
	rows_free_time, rows_lifetime, rows_age, rows_latency, rows_free_latency, rows_thread,
	rows_thread_index, rows_free_thread, rows_free_thread_index, rows_call, rows_free_call,
	rows_stack, rows_free_stack, rows_leaked, rows_suppressed, rows_freed, rows_temporary,
	rows_at_peak, rows_foreign_free, rows_lost_free, rows_reallocated, rows_freed_in_range,
	rows_kept_in_range, rows_mark, rows_tag, rows_pool, rows_mmapped;
field_text_fn text_thread, text_call, text_mark, text_tag, text_pool;
field_id_count_fn id_count_threads, id_count_calls, id_count_marks, id_count_tags, id_count_pools;

/* Of its realloc chain. */
field_rows_fn rows_chain, rows_chain_length, rows_chain_position, rows_first_size, rows_last_size,
	rows_chain_lifetime, rows_chain_leaked;

/* Of its stack. */
field_stack_fn stack_depth, stack_truncated, stack_process, stack_pid, stack_site,
	stack_site_source, stack_site_location, stack_site_module, stack_exact_site,
	stack_exact_site_source, stack_exact_site_location, stack_exact_site_module;
field_text_fn text_name, text_pointer;
const char *module_other(const struct facts *facts, const char *text);
field_frame_fn frame_function, frame_source, frame_location, frame_module;

/* Of its group. */
field_stack_fn group_allocations, group_bytes, group_leaked, group_leaked_bytes, group_temporary,
	group_peak_bytes, group_first_time, group_last_time, group_interval, group_usage_max,
	group_usage_max_time, whole_group_leaked;

#endif
