#include "triage/saying.h"

enum { OOM_RECENT_MINUTES = 10 };

static const uint64_t minute_ns = UINT64_C(60) * 1000000000;

static void add_kill(struct str *text, const struct triage_kill *kill)
{
	str_printf(text, "%s (%lld)", kill->name ? kill->name : "?", (long long)kill->pid);
	if (kill->ago_ns != SHAPE_NONE) {
		str_add(text, " ");
		str_add_duration(text, kill->ago_ns);
		str_add(text, " ago");
	}
	if (kill->anonymous != SHAPE_NONE) {
		str_add(text, ", ");
		str_add_iec(text, kill->anonymous);
	}
	if (kill->cgroup)
		str_printf(text, ", by the limit of %s", kill->cgroup);
}

enum verdict_level say_oom(struct saying *saying)
{
	const struct triage *triage = saying->triage;
	const struct triage_kill *kills = triage->kills.items;
	const bool is_counted = triage->oom_kills != SHAPE_NONE;
	const uint64_t count =
		is_counted ? u64_max(triage->oom_kills, triage->kills.count) : triage->kills.count;
	bool is_recent = triage->new_oom_kills != SHAPE_NONE && triage->new_oom_kills > 0;

	if (count == 0 && !is_counted && !look_text(saying->making->last, "/dev/kmsg"))
		return say_unknown(saying, "not known");
	if (count == 0) {
		str_add(&saying->answer, "none since the machine was started");
		return VERDICT_OK;
	}
	str_add_counted(&saying->answer, count, "kill");
	str_add(&saying->answer, " since the machine was started");
	if (triage->kills.count > 0) {
		is_recent = is_recent || kills->ago_ns <= OOM_RECENT_MINUTES * minute_ns;
		str_add(&saying->answer, "; last ");
		add_kill(&saying->answer, kills);
	} else {
		str_add(&saying->answer, "; the kernel's log does not say which");
	}
	say_next_recorded(saying);
	return verdict_kills(count, is_recent);
}

enum verdict_level say_cgroup_oom(struct saying *saying)
{
	const struct triage_cgroup *items = saying->triage->cgroups.items, *worst = NULL;

	for (size_t i = 0; i < saying->triage->cgroups.count; i++)
		if (known_or_0(items[i].oom_kills) > 0 &&
		    (!worst || (known_or_0(items[i].new_oom_kills) > 0 &&
				known_or_0(worst->new_oom_kills) == 0)))
			worst = &items[i];
	if (!worst && !say_is_counted(saying))
		return say_unknown(saying, "not known");
	if (!worst) {
		str_add(&saying->answer, "none in these cgroups");
		return VERDICT_OK;
	}
	str_printf(&saying->answer, "%llu in %s since it was made",
		   (unsigned long long)worst->oom_kills, worst->name);
	say_next_recorded(saying);
	if (known_or_0(worst->new_oom_kills) > 0)
		str_printf(&saying->answer, ", %llu of them now",
			   (unsigned long long)worst->new_oom_kills);
	return verdict_kills(worst->oom_kills, known_or_0(worst->new_oom_kills));
}

enum verdict_level say_hardware(struct saying *saying)
{
	const uint64_t corrupted = saying->triage->memory.corrupted;

	if (corrupted == SHAPE_NONE || corrupted == 0) {
		str_add(&saying->answer, corrupted ? "not counted on this machine" : "no");
		return VERDICT_OK;
	}
	say_iec(saying, corrupted);
	str_add(&saying->answer, " taken out of use");
	return VERDICT_WARNING;
}
