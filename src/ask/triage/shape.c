#include "triage/triage.h"

const char *const triage_use_words[] = { "utilisation", "saturation", "errors", NULL };

#define VERDICT(field, ...) MEMBER(struct triage_verdict, field, TEXT, __VA_ARGS__)

static const struct member verdict_members[] = {
	VERDICT(use, "the resource's side that it is about", .words = triage_use_words),
	VERDICT(name, "stays, whatever the answer is"),
	VERDICT(question, NULL),
	VERDICT(level, NULL, .words = verdict_level_words),
	VERDICT(answer, NULL),
	VERDICT(source, "what it is based on"),
	VERDICT(next, "a command to go on with", .nullable = true),
};
static const struct shape shape_verdict =
	SHAPE("TriageVerdict", struct triage_verdict, verdict_members);

#define MEMORY(field, doc, ...)                                                                    \
	MEMBER(struct triage_memory, field, BYTES, doc, .nullable = true __VA_OPT__(, ) __VA_ARGS__)
#define MEMORY_PERCENT(field, doc)                                                                 \
	MEMBER(struct triage_memory, field, RATIO, doc, .nullable = true, .decimals = 2)

static const struct member memory_members[] = {
	MEMORY(total, NULL),
	MEMORY(used, "total without available, as free(1)"),
	MEMORY(free, NULL),
	MEMORY(shared, NULL),
	MEMORY(buffers, NULL),
	MEMORY(cached, "without the slabs that can be freed, as sar -r"),
	MEMORY(reclaimable, "slabs that can be freed"),
	MEMORY(buff_cache, "buffers, cached and reclaimable, as free(1)"),
	MEMORY(available, "for programs, without swapping"),
	MEMORY(anonymous, "of programs, and of no file"),
	MEMORY(slab, "of the kernel"),
	MEMORY(page_tables, NULL),
	MEMORY(kernel_stack, NULL),
	MEMORY(active, NULL),
	MEMORY(inactive, NULL),
	MEMORY(dirty, "not written to disk yet"),
	MEMORY(corrupted, "taken out of use because the hardware failed"),
	MEMORY(committed, "promised to programs: kbcommit of sar -r"),
	MEMORY(commit_limit, "how much may be promised in overcommit mode 2"),
	MEMORY_PERCENT(used_percent, NULL),
	MEMORY_PERCENT(available_percent, NULL),
	MEMORY_PERCENT(commit_percent, "of memory and swap: %commit of sar -r"),
	MEMBER(struct triage_memory, overcommit, PLAIN, "the mode, vm.overcommit_memory",
	       .nullable = true),
};
static const struct shape shape_memory =
	SHAPE("TriageMemory", struct triage_memory, memory_members);

#define SWAP(field, doc) MEMBER(struct triage_swap, field, BYTES, doc, .nullable = true)

static const struct member swap_members[] = {
	SWAP(total, NULL),
	SWAP(used, NULL),
	SWAP(free, NULL),
	SWAP(cached, "in memory as well"),
	MEMBER(struct triage_swap, used_percent, RATIO, NULL, .nullable = true, .decimals = 2),
};
static const struct shape shape_swap = SHAPE("TriageSwap", struct triage_swap, swap_members);

#define RATE(field, doc) MEMBER(struct triage_rates, field, RATIO, doc, .nullable = true)

static const struct member rate_members[] = {
	RATE(swap_in_kib, "si of vmstat, in KiB"),
	RATE(swap_out_kib, "so of vmstat, in KiB"),
	RATE(paged_in_kib, "pgpgin of sar -B, in KiB"),
	RATE(paged_out_kib, "pgpgout of sar -B, in KiB"),
	RATE(faults, "page faults, with the major ones"),
	RATE(major_faults, "page faults that read from a disk"),
	RATE(freed, "pages"),
	RATE(scanned_kswapd, "pages that the kernel looked at in the background to free some"),
	RATE(scanned_direct, "the same while a program waited for it"),
	RATE(stolen, "pages that were freed in this way"),
	RATE(efficiency, "stolen, in percent of those scanned: %vmeff of sar -B"),
	RATE(stalls, "allocations that had to wait until pages were freed"),
};
static const struct shape shape_rates = SHAPE("TriageRates", struct triage_rates, rate_members);

#define PRESSURE(field, doc)                                                                       \
	MEMBER(struct triage_pressure, field, RATIO, doc, .nullable = true, .decimals = 2)

static const struct member pressure_members[] = {
	PRESSURE(some_avg10, "percent of the last 10 s in which something waited for memory"),
	PRESSURE(some_avg60, NULL),
	PRESSURE(full_avg10, "in which everything that wanted to run did"),
	PRESSURE(full_avg60, NULL),
	PRESSURE(some_now, "percent of the time between the first look and the last"),
	PRESSURE(full_now, NULL),
};
static const struct shape shape_pressure =
	SHAPE("TriagePressure", struct triage_pressure, pressure_members);

#define KILL(field, kind, doc) MEMBER(struct triage_kill, field, kind, doc, .nullable = true)

static const struct member kill_members[] = {
	KILL(ago_ns, NS, "before the last look"),
	KILL(pid, PLAIN, NULL),
	KILL(name, TEXT, "of the process"),
	KILL(cgroup, TEXT, "whose limit was reached; null: the machine had no memory left"),
	KILL(address_space, BYTES, NULL),
	KILL(anonymous, BYTES, "resident, of no file"),
	KILL(file, BYTES, "resident, of files"),
	KILL(shared, BYTES, "resident, shared"),
};
static const struct shape shape_kill = SHAPE("TriageKill", struct triage_kill, kill_members);

#define PROCESS(field, kind, doc, ...)                                                             \
	MEMBER(struct triage_process, field, kind, doc, .nullable = true __VA_OPT__(, ) __VA_ARGS__)

static const struct member process_members[] = {
	PROCESS(pid, PLAIN, NULL),
	PROCESS(name, TEXT, NULL),
	PROCESS(rss, BYTES, "resident memory"),
	PROCESS(rss_percent, RATIO, "of all memory: %MEM of top", .decimals = 2),
	PROCESS(swapped, BYTES, NULL),
	PROCESS(growth, RATIO, "of resident memory, bytes a second"),
	PROCESS(oom_score, SIGNED, "who has the highest is killed first"),
	PROCESS(oom_score_adj, SIGNED, "what the administrator added; -1000: is never killed"),
};
static const struct shape shape_process =
	SHAPE("TriageProcess", struct triage_process, process_members);

#define CGROUP(field, kind, doc, ...)                                                              \
	MEMBER(struct triage_cgroup, field, kind, doc, .nullable = true __VA_OPT__(, ) __VA_ARGS__)

static const struct member cgroup_members[] = {
	CGROUP(name, TEXT, "below where cgroups are mounted"),
	CGROUP(pid, PLAIN,
	       "of a large process in it, if it is not one of those that limit this process"),
	CGROUP(usage, BYTES, NULL),
	CGROUP(working_set, BYTES, "usage without the cache that is freed first"),
	CGROUP(limit, BYTES, "null: none"),
	CGROUP(high, BYTES, "above which it is slowed down; null: none"),
	CGROUP(peak, BYTES, "the most that was used"),
	CGROUP(swap, BYTES, NULL),
	CGROUP(swap_limit, BYTES, "null: none"),
	CGROUP(anonymous, BYTES, NULL),
	CGROUP(file, BYTES, NULL),
	CGROUP(limit_hits, COUNT,
	       "times that it was at its limit: failcnt, or max of memory.events"),
	CGROUP(new_limit_hits, COUNT, "between the first look and the last"),
	CGROUP(high_hits, COUNT, "times that it was above high"),
	CGROUP(new_high_hits, COUNT, "between the first look and the last"),
	CGROUP(oom_kills, COUNT, "in it"),
	CGROUP(new_oom_kills, COUNT, "between the first look and the last"),
	CGROUP(used_percent, RATIO, "working set, of the limit, or of high if that is lower",
	       .decimals = 2),
	CGROUP(growth, RATIO, "of the working set, bytes a second"),
	CGROUP(time_to_limit_ns, NS, "at that rate"),
	CGROUP(some_avg10, RATIO, "pressure in this cgroup, percent", .decimals = 2),
	CGROUP(full_avg10, RATIO, NULL, .decimals = 2),
};
static const struct shape shape_cgroup =
	SHAPE("TriageCgroup", struct triage_cgroup, cgroup_members);

#define SUBJECT(field, kind, doc, ...)                                                             \
	MEMBER(struct triage_subject, field, kind, doc, .nullable = true __VA_OPT__(, ) __VA_ARGS__)

static const struct member subject_members[] = {
	SUBJECT(pid, PLAIN, NULL),
	SUBJECT(name, TEXT, NULL),
	MEMBER(struct triage_subject, has_ended, FLAG, "values are of the last look that found it"),
	SUBJECT(rss, BYTES, "resident memory"),
	SUBJECT(anonymous, BYTES, "of that, of no file"),
	SUBJECT(file, BYTES, "of that, of files"),
	SUBJECT(shared, BYTES, "of that, shared without a file"),
	SUBJECT(peak, BYTES, "the most that was resident"),
	SUBJECT(pss, BYTES, "resident, shared pages divided by how many share them"),
	SUBJECT(swapped, BYTES, NULL),
	SUBJECT(address_space, BYTES, NULL),
	SUBJECT(data, BYTES, "what RLIMIT_DATA limits"),
	SUBJECT(page_tables, BYTES, NULL),
	SUBJECT(threads, COUNT, NULL),
	SUBJECT(rss_percent, RATIO, "of all memory", .decimals = 2),
	SUBJECT(minor_faults, RATIO, "a second"),
	SUBJECT(major_faults, RATIO, "a second"),
	SUBJECT(growth, RATIO, "of resident memory, bytes a second"),
	SUBJECT(growth_fit, RATIO, "how well a straight line fits; 1: exactly"),
	SUBJECT(limit_address_space, BYTES, "RLIMIT_AS; null: none"),
	SUBJECT(limit_data, BYTES, "RLIMIT_DATA; null: none"),
	SUBJECT(time_to_limit_ns, NS, "until the first limit is reached, if it grows on like this"),
	SUBJECT(time_to_limit_of, TEXT, "which limit that is"),
	SUBJECT(time_to_limit_by, TEXT, "how that was estimated"),
	SUBJECT(oom_score, SIGNED, NULL),
	SUBJECT(oom_score_adj, SIGNED, NULL),
};
static const struct shape shape_subject =
	SHAPE("TriageSubject", struct triage_subject, subject_members);

static const struct member missing_members[] = {
	MEMBER(struct triage_missing, path, TEXT, "what could not be read"),
	MEMBER(struct triage_missing, reason, TEXT, NULL),
};
static const struct shape shape_missing =
	SHAPE("TriageMissing", struct triage_missing, missing_members);

#define TRIAGE(field, kind, doc, ...)                                                              \
	MEMBER(struct triage, field, kind, doc __VA_OPT__(, ) __VA_ARGS__)

static const struct member triage_members[] = {
	TRIAGE(host, TEXT, NULL, .nullable = true),
	TRIAGE(time_ns, PLAIN, "of the last look, since 1970"),
	TRIAGE(look_count, COUNT, "how often everything was read"),
	TRIAGE(span_ns, NS, "between the first look and the last"),
	TRIAGE(process_count, COUNT, "that can be seen", .nullable = true),
	TRIAGE(in_container, FLAG, "limits outside of it cannot be seen"),
	TRIAGE(level, TEXT, "the worst of the verdicts", .words = verdict_level_words),
	TRIAGE(verdicts, ROWS, NULL, .shape = &shape_verdict),
	TRIAGE(memory, OBJECT, NULL, .shape = &shape_memory),
	TRIAGE(swap, OBJECT, NULL, .shape = &shape_swap),
	TRIAGE(rates, OBJECT, "a second", .shape = &shape_rates),
	TRIAGE(pressure, OBJECT, NULL, .shape = &shape_pressure),
	TRIAGE(oom_kills, COUNT, "since the machine was started", .nullable = true),
	TRIAGE(new_oom_kills, COUNT, "between the first look and the last", .nullable = true),
	TRIAGE(kills, ROWS, "newest first, those that the kernel's log still has",
	       .shape = &shape_kill),
	TRIAGE(subject, OBJECT, "the process in question", .shape = &shape_subject,
	       .nullable = true),
	TRIAGE(processes, ROWS, "those with the most resident memory", .shape = &shape_process),
	TRIAGE(cgroups, ROWS,
	       "that limit the process, or this one, innermost first; then others that are near a "
	       "limit",
	       .shape = &shape_cgroup),
	TRIAGE(missing, ROWS, NULL, .shape = &shape_missing),
};
const struct shape shape_triage = SHAPE("Triage", struct triage, triage_members);
