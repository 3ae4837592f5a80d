#include "model/jit_names.h"

#include <dirent.h>
#include <unistd.h>

#include "base/str.h"
#include "symbol/perf_map.h"

enum { NS_PER_S = 1000000000, MAP_BYTES_MAX = 64 << 20 };
static const uint64_t DUMP_BYTES_MAX = UINT64_C(1) << 30;

struct jit_names {
	struct perf_map *map; /* NULL: none */
	struct jitdump *dump; /* NULL: none */
	uint64_t start_ns;    /* CLOCK_MONOTONIC when recording began; 0: not known */
};

/* Pids are reused; a file of this process was written while it ran. */
static struct file_trust trust_of(const struct model_process *process, uint64_t bytes_max)
{
	return (struct file_trust) { .owner = geteuid(),
				     .since_s = process->start_realtime_ns / NS_PER_S,
				     .bytes_max = bytes_max };
}

static void dump_try(struct jit_names *jit, const struct model_process *process, const char *folder)
{
	const struct file_trust trust = trust_of(process, DUMP_BYTES_MAX);
	CLEAN(str_deinit) struct str path = { 0 };

	str_printf(&path, "%s/jit-%u.dump", folder, process->pid);
	if (jit->dump || path.failed)
		return;
	err_destroy(jitdump_open(path.ptr, &trust, &jit->dump));
	if (jit->dump && jitdump_pid(jit->dump) != process->pid) {
		jitdump_close(jit->dump);
		jit->dump = NULL;
	}
}

/* Each run of a compiler has its own folder there. */
static void dump_try_below(struct jit_names *jit, const struct model_process *process,
			   const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;

	while (dir && !jit->dump && (entry = readdir(dir))) {
		CLEAN(str_deinit) struct str path = { 0 };

		if (entry->d_name[0] == '.')
			continue;
		str_printf(&path, "%s/%s", folder, entry->d_name);
		dump_try(jit, process, str_text(&path));
	}
	if (dir)
		closedir(dir);
}

struct jit_names *jit_names_open(const struct model_process *process)
{
	const struct file_trust trust = trust_of(process, MAP_BYTES_MAX);
	struct jit_names *jit = calloc(1, sizeof(*jit));
	CLEAN(str_deinit) struct str path = { 0 };
	const char *home = getenv("HOME");

	if (!jit)
		return NULL;
	jit->start_ns = process->start_monotonic_ns;
	if (process->cwd && process->cwd[0] == '/')
		dump_try(jit, process, process->cwd);
	dump_try(jit, process, "/tmp");
	if (home && *home) {
		str_printf(&path, "%s/.debug/jit", home);
		dump_try_below(jit, process, str_text(&path));
		str_clear(&path);
	}
	str_printf(&path, "/tmp/perf-%u.map", process->pid);
	if (!path.failed)
		err_destroy(perf_map_open(path.ptr, &trust, &jit->map));
	return jit;
}

void jit_names_close(struct jit_names *jit)
{
	if (!jit)
		return;
	perf_map_close(jit->map);
	jitdump_close(jit->dump);
	free(jit);
}

bool jit_names_find(const struct jit_names *jit, uint64_t pc, uint64_t ns,
		    struct jit_place *place_ret)
{
	const bool has_times = jit->dump && jit->start_ns && jitdump_has_times(jit->dump);
	const char *function;

	if (jit->dump &&
	    jitdump_find(jit->dump, pc, has_times ? jit->start_ns + ns : UINT64_MAX, place_ret))
		return true;
	function = jit->map ? perf_map_find(jit->map, pc) : NULL;
	if (function)
		*place_ret = (struct jit_place) { .function = function };
	return function != NULL;
}
