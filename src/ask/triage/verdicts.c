#include <math.h>
#include <string.h>

#include "triage/saying.h"

typedef enum verdict_level (*rule_fn)(struct saying *saying);

struct rule {
	enum triage_use use;
	const char *name, *question, *source;
	rule_fn say;	       /* the level, and the answer; next may stay empty */
	bool is_about_subject; /* only where a process is in question */
	bool needs_pressure;   /* only where the innermost one measures it: version 2 */
	bool is_about_cgroups; /* only where a cgroup was found */
};

/* --- words ------------------------------------------------------------------------------------ */

void say_iec(struct saying *saying, uint64_t bytes)
{
	verdict_add_iec(&saying->answer, bytes);
}

void say_percent(struct saying *saying, double percent)
{
	verdict_add_percent(&saying->answer, percent);
}

void say_rate(struct saying *saying, double rate)
{
	verdict_add_rate(&saying->answer, rate);
}

enum verdict_level say_unknown(struct saying *saying, const char *why)
{
	str_add(&saying->answer, why);
	return VERDICT_UNKNOWN;
}

enum verdict_level say_needs_looks(struct saying *saying)
{
	return say_unknown(saying, saying->making->seconds > 0
					   ? "not known"
					   : "not known: this takes two looks (--count 2)");
}

bool say_is_counted(const struct saying *saying)
{
	const struct triage *triage = saying->triage;
	const struct triage_cgroup *items = triage->cgroups.items;

	for (size_t i = 0; i < triage->cgroups.count; i++)
		if (items[i].usage != SHAPE_NONE || items[i].limit != SHAPE_NONE)
			return true;
	return !triage->in_container && strcmp(items->name, "/") == 0;
}

/* Numbers only: anybody may call a program anything, and commands are copied into shells. */
void say_next(struct saying *saying, const char *before)
{
	const struct triage *triage = saying->triage;
	const struct triage_process *top = triage->processes.items;
	uint64_t pid = triage->processes.count > 0 ? top->pid : 0;

	if (triage->subject)
		pid = triage->subject->has_ended ? 0 : triage->subject->pid;
	str_printf(&saying->next, "memtape %s ", before);
	if (pid)
		str_add_u64(&saying->next, pid);
	else
		str_add(&saying->next, "PID");
}

void say_next_triage(struct saying *saying)
{
	say_next(saying,
		 saying->triage->subject ? "attach --duration 30s" : "triage --count 10 -p");
}

void say_next_in_cgroup(struct saying *saying, const struct triage_cgroup *cgroup)
{
	if (saying->triage->subject)
		say_next(saying, "attach --duration 30s");
	else if (cgroup->pid != SHAPE_NONE)
		str_printf(&saying->next, "memtape triage --count 10 -p %llu",
			   (unsigned long long)cgroup->pid);
	else
		str_add(&saying->next, "memtape triage --count 10 -p PID");
}

void say_next_recorded(struct saying *saying)
{
	str_add(&saying->next, "memtape record -o killed.mtape -- PROGRAM");
}

/* --- the questions ---------------------------------------------------------------------------- */

static const struct rule rules[] = {
	{ TRIAGE_UTILISATION, "memory", "How much memory is free?", "/proc/meminfo", say_memory },
	{ TRIAGE_UTILISATION, "commit", "How much was promised to programs?", "/proc/meminfo",
	  say_commit },
	{ TRIAGE_UTILISATION, "processes", "Which processes have the most?", "/proc/PID/status",
	  say_processes },
	{ TRIAGE_UTILISATION, "swap", "How much swap is used?", "/proc/meminfo", say_swap },
	{ TRIAGE_UTILISATION, "cgroup", "How near is a limit of a cgroup?",
	  "memory files of cgroups", say_cgroup, .is_about_cgroups = true },
	{ TRIAGE_UTILISATION, "process", "How much memory has the process?", "/proc/PID/status",
	  say_process, .is_about_subject = true },
	{ TRIAGE_UTILISATION, "growth", "When will the process reach a limit?",
	  "/proc/PID/status and the limits", say_growth, .is_about_subject = true },
	{ TRIAGE_UTILISATION, "rlimits", "How near are the limits of the process?",
	  "/proc/PID/limits", say_process_limits, .is_about_subject = true },
	{ TRIAGE_SATURATION, "swapping", "Is memory swapped in and out?", "/proc/vmstat",
	  say_swapping },
	{ TRIAGE_SATURATION, "paging", "How many page faults are there, and do programs wait?",
	  "/proc/vmstat", say_paging },
	{ TRIAGE_SATURATION, "pressure", "Does anything wait for memory?", "/proc/pressure/memory",
	  say_pressure },
	{ TRIAGE_SATURATION, "waiting", "Does anything in the cgroup wait for memory?",
	  "memory.pressure", say_waiting, .is_about_cgroups = true, .needs_pressure = true },
	{ TRIAGE_SATURATION, "limit_hits", "How often was a cgroup at its limit?",
	  "memory files of cgroups", say_limit_hits, .is_about_cgroups = true },
	{ TRIAGE_SATURATION, "faults", "Does the process wait for pages?", "/proc/PID/stat",
	  say_process_paging, .is_about_subject = true },
	{ TRIAGE_ERRORS, "oom_kills", "Were processes killed because memory ran out?",
	  "/proc/vmstat and the kernel's log", say_oom },
	{ TRIAGE_ERRORS, "cgroup_kills", "Were processes of cgroups killed?",
	  "memory files of cgroups", say_cgroup_oom, .is_about_cgroups = true },
	{ TRIAGE_ERRORS, "hardware", "Did memory fail?", "/proc/meminfo", say_hardware },
};

static void saying_deinit(struct saying *saying)
{
	str_deinit(&saying->answer);
	str_deinit(&saying->next);
}

CLEAN_DEFINE_DEINIT(saying_deinit, struct saying);

static struct err *say(const struct making *making, const struct rule *rule,
		       struct triage_verdict *verdict)
{
	CLEAN(saying_deinit)
	struct saying saying = { .making = making, .triage = making->triage };
	const enum verdict_level level = rule->say(&saying);

	*verdict = (struct triage_verdict) {
		.use_index = rule->use,
		.level_index = level,
		.use = triage_use_words[rule->use],
		.name = rule->name,
		.question = rule->question,
		.level = verdict_level_words[level],
		.answer = arena_strdup(making->arena, str_text(&saying.answer)),
		.source = rule->source,
	};
	if (saying.next.len > 0)
		verdict->next = arena_strdup(making->arena, str_text(&saying.next));
	if (saying.answer.failed || saying.next.failed || !verdict->answer ||
	    (saying.next.len > 0 && !verdict->next))
		return err_nomem();
	return NULL;
}

static bool is_asked(const struct rule *rule, const struct triage *triage)
{
	const struct triage_cgroup *own = triage->cgroups.items;

	if (rule->is_about_subject && !triage->subject)
		return false;
	if (rule->is_about_cgroups && triage->cgroups.count == 0)
		return false;
	return !rule->needs_pressure || !isnan(own->some_avg10);
}

struct err *making_verdicts(struct making *making)
{
	struct triage *triage = making->triage;
	struct triage_verdict *rows = arena_array(making->arena, array_size(rules), sizeof(*rows));
	size_t count = 0;
	struct err *err = NULL;

	if (!rows)
		return err_nomem();
	for (size_t i = 0; i < array_size(rules) && !err; i++) {
		if (!is_asked(&rules[i], triage))
			continue;
		err = say(making, &rules[i], &rows[count]);
		if (!err && rows[count].level_index > triage->level_index)
			triage->level_index = rows[count].level_index;
		count++;
	}
	triage->level = verdict_level_words[triage->level_index];
	triage->verdicts = (struct shape_rows) { rows, count };
	return err;
}
