/*
 * attach_bpf: `memtape attach --bpf`: a process is watched from the kernel.
 */
#ifndef MEMTAPE_CLI_ATTACH_BPF_H
#define MEMTAPE_CLI_ATTACH_BPF_H

#include <sys/types.h>

#include "base/options.h"
#include "cli/reading.h"
#include "cli/record_options.h"
#include "collect/program.h"

struct attach_bpf_options {
	bool is_wanted;
	bool all;
	bool has_totals;
	const char *older;
	const char *interval;
	uint64_t sample_bytes;
	uint64_t block_count;
	uint64_t top;
	bool json;
	struct reading_symbol_options symbols;
};

enum { ATTACH_BPF_TOP = 10 };

/* clang-format off */
#define ATTACH_BPF_OPTIONS(type, at)                                                               \
	{ "bpf", 0, NULL, OPTION_FLAG, offsetof(type, at.is_wanted),                               \
	  "do not touch the process: probes in the kernel count what it allocates (root)" },       \
	{ "all", 'a', NULL, OPTION_FLAG, offsetof(type, at.all),                                   \
	  "with --bpf: watch all processes that have the same C library as memtape" },             \
	{ "older", 0, "TIME", OPTION_TEXT, offsetof(type, at.older),                               \
	  "with --bpf: show blocks that have been live for TIME or longer" },                      \
	{ "interval", 0, "TIME", OPTION_TEXT, offsetof(type, at.interval),                         \
	  "with --bpf: show them every TIME as well, not only at the end" },                       \
	{ "sample", 0, "SIZE", OPTION_BYTES, offsetof(type, at.sample_bytes),                      \
	  "with --bpf: follow one block in about every SIZE bytes, and estimate" },                \
	{ "totals", 0, NULL, OPTION_FLAG, offsetof(type, at.has_totals),                           \
	  "with --bpf: the tape also has what was freed, as blocks of average size" },             \
	{ "blocks", 0, "N", OPTION_U64, offsetof(type, at.block_count),                            \
	  "with --bpf: follow N live blocks at most (default: 1048576)" },                         \
	{ "top", 'n', "N", OPTION_U64, offsetof(type, at.top),                                     \
	  "with --bpf: show the first N stacks (default: 10)" },                                   \
	{ "json", 'j', NULL, OPTION_FLAG, offsetof(type, at.json),                                 \
	  "with --bpf or --list: JSON with a stable schema" }
/* clang-format on */

/* duration_ns 0: until Ctrl-C. pid -1: all; program is NULL then. */
struct err *attach_bpf_run(const struct attach_bpf_options *options,
			   const struct record_options *common, uint64_t duration_ns, pid_t pid,
			   const struct program *program);

/* ERR_USAGE: an option does not go with the others. */
struct err *attach_bpf_check(const struct attach_bpf_options *options,
			     const struct record_options *common);

#endif
