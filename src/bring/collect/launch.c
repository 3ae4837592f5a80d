#include "collect/launch.h"

#include <assert.h>
#include <errno.h>
#include <sys/resource.h>
#include <time.h>

#include "collect/allocators.h"
#include "collect/child.h"
#include "collect/pattern.h"

enum { NUMBER_MAX = 1000000 }; /* of %n */

/* Consumes err. */
static struct err *tell_place(struct err *err)
{
	CLEAN(err_destroy) struct err *told = err;
	const int number = err_errno_of(err);

	if (number != EROFS && number != EACCES && number != ENOENT)
		return steal(told);
	return err_new(err_code_of(err), "%s; -o names a place that can be written to",
		       err_message(err));
}

/* Creates the tape named by the pattern; %n is incremented until the name is not in use. */
struct err *launch_output(const struct collector_settings *settings, const char *pattern,
			  const struct program *program, pid_t pid, struct writer *writer)
{
	const bool numbered = pattern_has(pattern, 'n');
	struct pattern_values values = { .program = program->name,
					 .pid = pid,
					 .start_seconds = time(NULL) };

	assert(pid > 0);
	for (;; values.number++) {
		CLEAN(str_deinit) struct str path = { 0 };
		struct err *err;

		pattern_expand(&path, pattern, &values);
		if (path.failed)
			return err_nomem();
		err = writer_open(writer, path.ptr, settings->overwrite && !numbered);
		if (!err) {
			writer_lock(writer);
			writer->bytes_max = settings->tape_bytes_max;
		}
		if (!err)
			return NULL;
		if (err_errno_of(err) != EEXIST)
			return tell_place(err);
		if (numbered && values.number < NUMBER_MAX) {
			err_destroy(err);
			continue;
		}
		err_destroy(err);
		return err_new(ERR_STATE, "%s exists; --force overwrites it, -o names another",
			       path.ptr);
	}
}

const char *launch_options(const struct collector_settings *settings, struct arena *arena)
{
	const char *more = getenv("MEMTAPE_OPTIONS");
	CLEAN(str_deinit) struct str lists = { 0 };

	allocators_add_options(&settings->allocators, &lists);
	for (int number = 1; number < 64; number++)
		if (settings->toggles >> number & 1)
			str_printf(&lists, ",toggle=%d", number);
	if (lists.failed)
		return NULL;
	return arena_printf(
		arena,
		"free_stacks=%d,stacks=%d,follow=%d,exec=%d,calls=%d,latency=%d,"
		"counts=%d,maps=%d,moments=%d,leaks=%d,selfcheck=%d,zero=%d,paused=%d%s%s"
		"%s",
		settings->free_stacks, settings->stacks, settings->follow, settings->follow_exec,
		settings->calls, settings->latency, settings->counts, settings->maps,
		settings->moments, settings->leak_scan != COLLECTOR_NO_SCAN, settings->selfcheck,
		settings->zero, settings->is_paused && !settings->delay_ns, str_text(&lists),
		more ? "," : "", more ? more : "");
}

void launch_variable(char **environment, char *variable)
{
	const size_t name_bytes = strcspn(variable, "=") + 1;

	for (char **entry = environment; *entry; entry++)
		if (strncmp(*entry, variable, name_bytes) == 0)
			*entry = variable;
}

/* Settings for the recorder. The spool gets its final name when the program's pid is known. */
struct err *launch_environment(const struct collector_settings *settings,
			       const struct program *program, const struct spool *spool,
			       struct arena *arena, char ***environment_ret)
{
	const char *inherited = getenv("LD_PRELOAD");
	CLEAN(str_deinit) struct str output = { 0 };
	const char *library;
	struct err *err = pattern_absolute(&output, settings->output);

	if (!err && !pattern_has(settings->output, 'p'))
		str_add(&output, ".%p"); /* children's tapes must not collide */
	if (!err)
		err = program_library_for(program, arena, &library);
	if (err)
		return err;
	const bool has_names = settings->follow_names && *settings->follow_names;
	const struct child_variable variables[] = {
		{ "MEMTAPE_SPOOL", "" },
		{ "MEMTAPE_OUTPUT", str_text(&output) },
		{ "MEMTAPE_OPTIONS", launch_options(settings, arena) },
		{ "LD_PRELOAD",
		  arena_printf(arena, "%s%s%s", library, inherited && *inherited ? ":" : "",
			       inherited ? inherited : "") },
		{ "MEMTAPE_FOLLOW", has_names ? settings->follow_names : "" },
	};
	const size_t count = array_size(variables) - !(has_names || getenv("MEMTAPE_FOLLOW"));

	*environment_ret = child_environment(variables, count, arena);
	if (!*environment_ret || output.failed)
		return err_nomem();
	launch_variable(*environment_ret, spool_variable(spool));
	return NULL;
}

/* The spool is subject to RLIMIT_FSIZE like any file: shrink it rather than fail. */
static struct err *fit_file_limit(uint32_t *chunk_count, uint32_t chunk_bytes)
{
	struct rlimit limit;
	uint64_t allowed;

	if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return NULL;
	allowed = limit.rlim_cur < TAPE_HEADER_BYTES
			  ? 0
			  : (limit.rlim_cur - TAPE_HEADER_BYTES) / chunk_bytes;
	if (allowed < SPOOL_CHUNK_COUNT_MIN)
		return err_new(ERR_LIMIT,
			       "the file size limit of %llu bytes (ulimit -f) is too small for a "
			       "recording",
			       (unsigned long long)limit.rlim_cur);
	*chunk_count = (uint32_t)u64_min(*chunk_count, allowed);
	return NULL;
}

struct err *launch_spool(const struct collector_settings *settings, struct spool *spool)
{
	CLEAN(str_deinit) struct str directory = { 0 };
	const uint32_t flags = (settings->free_stacks ? TAPE_FLAG_FREE_STACKS : 0) |
			       (settings->stacks ? TAPE_FLAG_ALLOC_STACKS : 0) |
			       (settings->latency ? TAPE_FLAG_LATENCY : 0);

	assert(settings->chunk_bytes >= TAPE_CHUNK_BYTES_MIN);
	uint32_t chunk_count = settings->chunk_count;
	struct err *err = fit_file_limit(&chunk_count, settings->chunk_bytes);

	pattern_directory(&directory, settings->output);
	if (directory.failed && !err)
		err = err_nomem();
	if (err)
		return err;
	err = spool_open(spool, settings->chunk_bytes, chunk_count, flags, directory.ptr);
	if (!err && settings->is_paused)
		spool_live(spool)->paused = TAPE_PAUSE_EVENTS;
	return err;
}
