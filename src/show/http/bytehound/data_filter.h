/*
 * data_filter: memory-profiler's filter parameters as a selection.
 *
 * A route of /data/... lists them in its table with DATA_FILTER_PARAMS and requests the selection.
 * Each parameter becomes a part of an expression in memtape's own filter language, so that there is
 * only one engine; their meaning is described in docs/http-api.md. Moments are seconds since
 * recording began, a percentage of the run, or, from 10^11 on, milliseconds since 1970.
 */
#ifndef MEMTAPE_HTTP_BYTEHOUND_DATA_FILTER_H
#define MEMTAPE_HTTP_BYTEHOUND_DATA_FILTER_H

#include "http/call.h"

/* clang-format off */
#define DATA_RANGE(field, what)                                                                     \
	{ .name = field "_min", .kind = PARAM_TEXT, .doc = "at least this " what },                 \
	{ .name = field "_max", .kind = PARAM_TEXT, .doc = "at most this " what }

#define DATA_FILTER_PARAMS                                                                         \
	{ .name = "from", .kind = PARAM_TEXT, .doc = "allocated at this moment or later" },        \
	{ .name = "to", .kind = PARAM_TEXT, .doc = "allocated at this moment or earlier" },        \
	{ .name = "lifetime", .kind = PARAM_CHOICE, .words = data_lifetimes,                       \
	  .doc = "which of them, by when they were freed" },                                       \
	DATA_RANGE("address", "address"), DATA_RANGE("size", "size in bytes"),                     \
	DATA_RANGE("first_size", "size at the beginning of the realloc chain"),                    \
	DATA_RANGE("last_size", "size at the end of the realloc chain"),                           \
	DATA_RANGE("lifetime", "lifetime; until the end for what was never freed"),                \
	DATA_RANGE("chain_lifetime", "lifetime of the realloc chain"),                             \
	DATA_RANGE("chain_length", "length of the realloc chain"),                                 \
	DATA_RANGE("position_in_chain", "place in the realloc chain"),                             \
	DATA_RANGE("backtrace_depth", "number of frames"),                                         \
	DATA_RANGE("group_interval", "time between the stack's first and last allocation"),        \
	DATA_RANGE("group_allocations", "number of allocations of the stack"),                     \
	DATA_RANGE("group_leaked_allocations", "number or percentage of them never freed"),        \
	DATA_RANGE("group_max_total_usage_first_seen", "moment of the stack's own peak"),          \
	{ .name = "function_regex", .kind = PARAM_TEXT, .doc = "some function matches" },          \
	{ .name = "source_regex", .kind = PARAM_TEXT, .doc = "some source file matches" },         \
	{ .name = "negative_function_regex", .kind = PARAM_TEXT, .doc = "no function matches" },   \
	{ .name = "negative_source_regex", .kind = PARAM_TEXT, .doc = "no source file matches" },  \
	{ .name = "alive_at", .kind = PARAM_TEXT, .doc = "alive at this moment" },                 \
	{ .name = "alive_at_2", .kind = PARAM_TEXT, .doc = "and still at this one" },              \
	{ .name = "backtraces", .kind = PARAM_TEXT, .doc = "number of the stack" },                \
	{ .name = "deallocation_backtraces", .kind = PARAM_TEXT,                                   \
	  .doc = "number of the stack that freed it" },                                            \
	{ .name = "marker", .kind = PARAM_TEXT, .doc = "text of the mark that was the last" },     \
	{ .name = "mmaped", .kind = PARAM_CHOICE, .words = data_yes_no,                            \
	  .doc = "whether it is a mapping of its own" },                                           \
	{ .name = "custom_filter", .kind = PARAM_TEXT,                                             \
	  .doc = "an expression as in memtape-filter(7)" }
/* clang-format on */

extern const char *const data_lifetimes[];
extern const char *const data_yes_no[];

/* The allocations matching the parameters. Lives in the call's arena. */
struct err *data_select(struct call *call, const struct selection **selection_ret);

/* Nanoseconds of "4h3m2.5s", "10" (seconds): units h, m, s, ms, us, ns. Exported for its test. */
bool data_duration(const char *text, uint64_t *ns_ret);

#endif
