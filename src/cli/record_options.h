/*
 * record_options: options of the commands that record, `record` and `attach`: the tape, what is
 * recorded, and what is shown meanwhile and afterwards.
 */
#ifndef MEMTAPE_CLI_RECORD_OPTIONS_H
#define MEMTAPE_CLI_RECORD_OPTIONS_H

#include "cli/record_send.h"
#include "cli/record_serve.h"
#include "collect/collector.h"
#include "collect/pattern.h"
#include "collect/spool.h"

struct record_options {
	const char *output;
	uint64_t buffer_bytes;
	uint64_t level;
	bool force;
	bool stacks;
	bool free_stacks;
	bool latency;
	struct option_list allocators;
	bool compress;
	bool live;
	bool serves;
	bool serves_until_exit;
	struct record_serve serve;
	struct record_send send;
	const char *trace;   /* words of trace_kinds.h; NULL: nothing */
	const char *control; /* of the server that started this; NULL: nobody did */
	bool summary;
	bool verbose;
	bool quiet;
};

enum { RECORD_LEVEL_DEFAULT = 1, RECORD_LEVEL_MAX = 19 };
#define RECORD_TO_WAIT_NS (UINT64_C(30) * 1000000000)

#define RECORD_OPTIONS_DEFAULTS                                                                    \
	{                                                                                          \
		.output = PATTERN_DEFAULT,                                                         \
		.buffer_bytes = (uint64_t)SPOOL_CHUNK_COUNT * SPOOL_CHUNK_BYTES,                   \
		.level = RECORD_LEVEL_DEFAULT, .serve = { .fd = -1 },                              \
		.send = { .wait_ns = RECORD_TO_WAIT_NS }, .stacks = true, .free_stacks = true,     \
		.compress = true, .summary = true,                                                 \
	}

/* Rows of a command's table; `at` is the member of `type` that has them. */
#define RECORD_TAPE_OPTIONS(type, at)                                                              \
	{ "output",                                                                                \
	  'o',                                                                                     \
	  "PATTERN",                                                                               \
	  OPTION_TEXT,                                                                             \
	  offsetof(type, at.output),                                                               \
	  "name of the tape; %e is the program's name, %p its pid, %h the host, %t the start in "  \
	  "seconds since 1970, %n the smallest number not taken, %% a percent sign "               \
	  "(default " PATTERN_DEFAULT ")" },                                                       \
	{                                                                                          \
		"force", 'f', NULL, OPTION_FLAG, offsetof(type, at.force),                         \
			"overwrite an existing tape"                                               \
	}

#define RECORD_EVENT_OPTIONS(type, at)                                                             \
	{ "no-free-stacks",                                                                        \
	  0,                                                                                       \
	  NULL,                                                                                    \
	  OPTION_UNFLAG,                                                                           \
	  offsetof(type, at.free_stacks),                                                          \
	  "record no stacks of frees: faster, but who freed a block is unknown" },                 \
		{ "no-stacks",                                                                     \
		  0,                                                                               \
		  NULL,                                                                            \
		  OPTION_UNFLAG,                                                                   \
		  offsetof(type, at.stacks),                                                       \
		  "record no stacks at all" },                                                     \
		{ "trace",                                                                         \
		  0,                                                                               \
		  "KIND,...",                                                                      \
		  OPTION_TEXT,                                                                     \
		  offsetof(type, at.trace),                                                        \
		  "also record what the kernel does for the program, with stacks: brk, mmap, "     \
		  "munmap, faults, major-faults, thp-splits, oom or all, as `memtape trace` "      \
		  "does" },                                                                        \
		{ "latency",                                                                       \
		  0,                                                                               \
		  NULL,                                                                            \
		  OPTION_FLAG,                                                                     \
		  offsetof(type, at.latency),                                                      \
		  "also record how long each call of the allocator took" },                        \
	{                                                                                          \
		"allocator", 0, "NAME[=PREFIX]", OPTION_LIST, offsetof(type, at.allocators),       \
			"also record PREFIXmalloc, PREFIXfree ...; NAME alone: jemalloc, "         \
			"mimalloc, "                                                               \
			"tcmalloc, tbbmalloc, mozjemalloc, rust, or none, which disables "         \
			"detection"                                                                \
	}

#define RECORD_REST_OPTIONS(type, at)                                                              \
	{ "no-compress",                                                                           \
	  0,                                                                                       \
	  NULL,                                                                                    \
	  OPTION_UNFLAG,                                                                           \
	  offsetof(type, at.compress),                                                             \
	  "do not compress the tape; `memtape repack` does so later" },                            \
		{ "level",                                                                         \
		  'l',                                                                             \
		  "N",                                                                             \
		  OPTION_U64,                                                                      \
		  offsetof(type, at.level),                                                        \
		  "compression level from 1 (fast, the default) to 19 (small)" },                  \
		{ "live",                                                                          \
		  0,                                                                               \
		  NULL,                                                                            \
		  OPTION_FLAG,                                                                     \
		  offsetof(type, at.live),                                                         \
		  "keep the tape at most half a second behind, for `memtape serve`" },             \
		{ "serve",                                                                         \
		  0,                                                                               \
		  NULL,                                                                            \
		  OPTION_FLAG,                                                                     \
		  offsetof(type, at.serves),                                                       \
		  "serve the tape while it is recorded and then until Ctrl-C; prints the URL "     \
		  "before recording begins (implies --live)" },                                    \
		{ "serve-until-exit",                                                              \
		  0,                                                                               \
		  NULL,                                                                            \
		  OPTION_FLAG,                                                                     \
		  offsetof(type, at.serves_until_exit),                                            \
		  "the same, but only until the recording ends" },                                 \
		{ "port",                                                                          \
		  'p',                                                                             \
		  "N",                                                                             \
		  OPTION_U64,                                                                      \
		  offsetof(type, at.serve.port),                                                   \
		  "serve on port N instead of a free one" },                                       \
		{ "open",                                                                          \
		  0,                                                                               \
		  NULL,                                                                            \
		  OPTION_FLAG,                                                                     \
		  offsetof(type, at.serve.opens),                                                  \
		  "open the URL in a browser" },                                                   \
		{ "to",                                                                            \
		  0,                                                                               \
		  "HOST:PORT",                                                                     \
		  OPTION_TEXT,                                                                     \
		  offsetof(type, at.send.to),                                                      \
		  "send the tape to `memtape gather` at HOST:PORT while it is recorded, and keep " \
		  "it here as well (implies --live)" },                                            \
		{ "token-file",                                                                    \
		  0,                                                                               \
		  "FILE",                                                                          \
		  OPTION_TEXT,                                                                     \
		  offsetof(type, at.send.stream.token_file),                                       \
		  "with --to: the token that the gatherer knows, too, in FILE" },                  \
		{ "no-token",                                                                      \
		  0,                                                                               \
		  NULL,                                                                            \
		  OPTION_FLAG,                                                                     \
		  offsetof(type, at.send.stream.no_token),                                         \
		  "with --to: " STREAM_NO_TOKEN_HELP_SEND },                                       \
		{ "tls-ca",                                                                        \
		  0,                                                                               \
		  "FILE",                                                                          \
		  OPTION_TEXT,                                                                     \
		  offsetof(type, at.send.stream.tls_ca),                                           \
		  "with --to: " STREAM_TLS_CA_HELP_SEND },                                         \
		{ "tls",                                                                           \
		  0,                                                                               \
		  NULL,                                                                            \
		  OPTION_FLAG,                                                                     \
		  offsetof(type, at.send.stream.tls),                                              \
		  "with --to: " STREAM_TLS_HELP_SEND },                                            \
		{ "to-wait",                                                                       \
		  0,                                                                               \
		  "TIME",                                                                          \
		  OPTION_DURATION,                                                                 \
		  offsetof(type, at.send.wait_ns),                                                 \
		  "when the recording ends, wait at most TIME for what is not sent yet "           \
		  "(default: 30s)" },                                                              \
		{ "no-local",                                                                      \
		  0,                                                                               \
		  NULL,                                                                            \
		  OPTION_FLAG,                                                                     \
		  offsetof(type, at.send.removes),                                                 \
		  "with --to: remove the tape here when all of it is there" },                     \
		{ "buffer",                                                                        \
		  'b',                                                                             \
		  "SIZE",                                                                          \
		  OPTION_BYTES,                                                                    \
		  offsetof(type, at.buffer_bytes),                                                 \
		  "buffer for events not yet compressed, 256k to 8g (default: 4m); a larger one "  \
		  "absorbs longer bursts" },                                                       \
		{ "no-summary",                                                                    \
		  0,                                                                               \
		  NULL,                                                                            \
		  OPTION_UNFLAG,                                                                   \
		  offsetof(type, at.summary),                                                      \
		  "do not print a summary, only the tape's name" },                                \
		{ "verbose",                                                                       \
		  'v',                                                                             \
		  NULL,                                                                            \
		  OPTION_FLAG,                                                                     \
		  offsetof(type, at.verbose),                                                      \
		  "also say how the summary was made" },                                           \
	{                                                                                          \
		"quiet", 'q', NULL, OPTION_FLAG, offsetof(type, at.quiet), "print errors only"     \
	}

/* Checks them, and fills in what they say; options are borrowed as long as settings are in use. */
struct err *record_settings(struct record_options *options, struct collector_settings *settings);

/* The recording has ended, or failed with err: what is served ends, or goes on until Ctrl-C. */
void record_ended(struct record_options *options, const struct err *err,
		  const struct collector_result *result);

/* The summary, as far as it is wished. */
struct err *record_show(const struct record_options *options, const struct program *program,
			const struct collector_result *result);

#endif
