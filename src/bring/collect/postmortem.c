#include "collect/postmortem.h"

#include <assert.h>
#include <fcntl.h>
#include <unistd.h>

#include "collect/scan_records.h"
#include "collect/walked.h"
#include "model/living.h"
#include "scan/core.h"
#include "scan/leak_scan.h"
#include "scan/recording.h"
#include "tape/tape_spool.h"

enum { LATE_US = 1000 };

struct postmortem {
	const struct postmortem_settings *settings;
	struct core core;
	char *tape_path;
	uint64_t spool_file; /* number of the mapped spool or tape among the core's files */
	struct capture *capture;
	struct walked walked; /* or of what was recorded only what lives */
};

/* --- the tape -------------------------------------------------------------------------------- */

/* Without what the kernel says behind the name of a file that is gone. */
static char *plain_name(const char *name)
{
	static const char gone[] = " (deleted)";
	size_t length = strlen(name);

	if (length > strlen(gone) && strcmp(name + length - strlen(gone), gone) == 0)
		length -= strlen(gone);
	return strndup(name, length);
}

static bool ends_with(const char *text, const char *end)
{
	const size_t length = strlen(text), end_length = strlen(end);

	return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static bool is_tape(const char *path)
{
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char magic[sizeof(TAPE_MAGIC) - 1];

	return fd >= 0 && pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       memcmp(magic, TAPE_MAGIC, sizeof(magic)) == 0;
}

/* The program has its tape mapped, or the spool beside it. */
static bool find_tape(struct postmortem *post)
{
	const struct maps *maps = &post->core.maps;

	for (size_t i = 0; i < maps->entries.count; i++) {
		const struct maps_entry *entry = &maps->entries.items[i];
		CLEAN(free) char *name = entry->is_file ? plain_name(maps_name(maps, entry)) : NULL;
		const bool is_spool = name && ends_with(name, TAPE_SPOOL_SUFFIX);

		if (!name || (!is_spool && !is_tape(name)))
			continue;
		if (is_spool)
			name[strlen(name) - strlen(TAPE_SPOOL_SUFFIX)] = '\0';
		post->tape_path = steal(name);
		post->spool_file = entry->inode;
		return true;
	}
	return false;
}

static struct err *check_tape(const struct postmortem *post, const char *path)
{
	const uint32_t pid = capture_header(post->capture)->pid;

	if (pid == 0 || post->core.pid == 0 || pid == (uint32_t)post->core.pid)
		return NULL;
	return err_new(ERR_STATE,
		       "%s is the tape of process %u, and %s is the core dump of process %d; "
		       "--tape names the right one",
		       path, pid, post->settings->core_path, (int)post->core.pid);
}

/*
 * The program goes on, and so does its collector: it stands still for a moment, until what is not on
 * the tape yet has been copied.
 */
static struct err *open_written(struct postmortem *post)
{
	const struct stop_kept nobody = { .tid = 0 };
	CLEAN(maps_deinit) struct maps maps = { 0 };
	struct recording recording = { .fd = -1 };
	struct stop stop;
	CLEAN(close) int fd = -1;
	struct err *err = stop_begin(&stop, post->core.pid, &nobody);

	if (!err)
		err = maps_read(stop_living(&stop), &maps);
	if (!err)
		err = recording_find(stop_living(&stop), &maps, &recording);
	if (!err && memcmp(recording.header.uuid, capture_header(post->capture)->uuid,
			   sizeof(recording.header.uuid)) != 0)
		err = err_new(ERR_STATE, "process %d writes another tape now", (int)post->core.pid);
	if (!err && recording.is_spool)
		err = recording_copy(&recording, &fd);
	capture_destroy(post->capture);
	post->capture = NULL;
	if (!err)
		err = capture_open_with_spool(recording.tape_path, fd, &post->capture);
	stop_end(&stop);
	while (stop_late(&stop))
		usleep(LATE_US);
	stop_deinit(&stop);
	recording_close(&recording);
	return err;
}

static struct err *open_tape(struct postmortem *post)
{
	const char *named = post->settings->tape_path;
	const char *path = named ? named : post->tape_path;
	struct err *err = capture_open(path, &post->capture);

	if (err && !named)
		return err_wrap(err, "the tape of %s is not where it was; --tape names it",
				post->settings->core_path);
	if (!err)
		err = check_tape(post, path);
	if (!err && capture_is_written(post->capture))
		err = open_written(post);
	return err;
}

/* --- time ------------------------------------------------------------------------------------ */

/*
 * Ticks of the tape, shifted, when the core was written: between two readings of the clocks, or as
 * they went from the first to the last.
 */
static uint64_t ticks_of(const struct living *living, const struct tape_header *header,
			 uint64_t realtime_ns)
{
	const struct tape_clock_pair *pairs = living->clocks.items;
	const size_t count = living->clocks.count;
	const struct tape_clock_pair *last = count ? &pairs[count - 1] : NULL, *from = pairs;
	double slope = 1;

	if (!last || realtime_ns > INT64_MAX)
		return UINT64_MAX;
	if (last->realtime_ns > pairs->realtime_ns && last->raw_ticks > pairs->raw_ticks)
		slope = (double)(last->raw_ticks - pairs->raw_ticks) /
			(double)(last->realtime_ns - pairs->realtime_ns);
	else if (header->clock != TAPE_CLOCK_MONOTONIC)
		return UINT64_MAX;
	for (size_t i = 0; i < count && pairs[i].realtime_ns <= realtime_ns; i++)
		from = &pairs[i];
	const double ticks =
		(double)from->raw_ticks + ((double)realtime_ns - (double)from->realtime_ns) * slope;

	return ticks < 0 ? 0 : (uint64_t)ticks >> (header->tick_shift & 63);
}

/* The core is of the program's end, not of a moment before it. */
static bool is_of_end(const struct postmortem *post)
{
	const struct tape_end *end = &post->walked.living.end;

	return end->kind == TAPE_END_SIGNAL && post->core.signal == end->status;
}

static struct err *read_living(struct postmortem *post)
{
	const struct tape_header *header = capture_header(post->capture);
	struct err *err = living_read(post->capture, UINT64_MAX, &post->walked.living);
	uint64_t until;

	if (err || is_of_end(post))
		return err;
	until = ticks_of(&post->walked.living, header, post->core.until_ns);
	if (until < header->start_ticks)
		return err_new(ERR_STATE,
			       "%s was written before its program's tape was begun: copies need "
			       "the time of the original (cp -p), and --tape names another tape",
			       post->settings->core_path);
	if (until >= post->walked.living.last_ticks)
		return NULL;
	living_deinit(&post->walked.living);
	return living_read(post->capture, until, &post->walked.living);
}

/* --- all of it ------------------------------------------------------------------------------- */

static struct err *write_records(void *context, struct packed_stream *stream)
{
	return scan_records_write(context, stream);
}

static struct err *write_tape(struct postmortem *post, const struct scan_image *image)
{
	const struct living *living = &post->walked.living;
	struct scan_records records = {
		.image = image,
		.ticks = u64_min(living->until_ticks, living->last_ticks + 1),
		.id = living->scan_id + 1,
		.reason = TAPE_SCAN_CORE,
		.is_running = living->end.kind == TAPE_END_UNKNOWN,
	};
	const struct capture_addition addition = { write_records, &records, true };
	struct capture_repacked repacked;

	return capture_repack_opened(post->capture, post->settings->output_path,
				     post->settings->level, &addition, &repacked);
}

static void note_files(const struct core *core, struct str *notes)
{
	for (size_t i = 0; i < core->files.count; i++)
		if (core->files.items[i].is_changed)
			str_printf(notes, "%s is not what the program had mapped: not read\n",
				   core->maps.texts.ptr + core->files.items[i].name);
}

static struct err *scan(struct postmortem *post, struct scan_image *image)
{
	const struct leak_scan scan = {
		.stop = &post->core.stop,
		.spool_inode = post->spool_file,
		.heuristics = post->settings->heuristics,
	};
	const struct leak_scan_view view = {
		.living = &post->walked.living,
		.maps = &post->core.maps,
		.memory = core_memory(&post->core),
	};

	return leak_scan_view(&scan, &view, image);
}

static struct err *run_recorded(struct postmortem *post, uint32_t *scan_id_ret)
{
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };
	struct err *err = open_tape(post);

	if (!err)
		err = read_living(post);
	if (!err)
		err = scan(post, &image);
	if (err)
		return err;
	*scan_id_ret = post->walked.living.scan_id + 1;
	return write_tape(post, &image);
}

static struct err *run_walked(struct postmortem *post, uint32_t *scan_id_ret)
{
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };
	CLEAN(str_deinit) struct str subject = { 0 };
	const struct memory memory = core_memory(&post->core);
	struct walked_tape tape = {
		.exe = core_exe(&post->core),
		.pid = post->core.pid,
		.reason = TAPE_SCAN_CORE,
		.end = { post->core.signal ? TAPE_END_SIGNAL : TAPE_END_RUNNING,
			 post->core.signal },
		.output_path = post->settings->output_path,
		.level = post->settings->level,
	};
	struct err *err;

	str_printf(&subject, "the program of %s", post->settings->core_path);
	tape.subject = str_text(&subject);
	err = walked_read(tape.subject, "", &post->core.maps, &memory, &post->core.stop,
			  &post->walked);
	if (!err)
		err = scan(post, &image);
	*scan_id_ret = 1;
	return err ? err : walked_write(&post->walked, &image, &tape);
}

static struct err *run(struct postmortem *post, uint32_t *scan_id_ret)
{
	const bool has_tape = find_tape(post);

	return has_tape || post->settings->tape_path ? run_recorded(post, scan_id_ret)
						     : run_walked(post, scan_id_ret);
}

struct err *postmortem_leaks(const struct postmortem_settings *settings,
			     struct postmortem_result *result)
{
	struct postmortem post = { .settings = settings, .core = { .fd = -1 } };
	struct err *err;

	assert(settings->core_path);
	assert(settings->output_path);
	*result = (struct postmortem_result) { 0 };
	err = core_open(settings->core_path, settings->exe_path, &post.core);
	if (!err)
		err = run(&post, &result->scan_id);
	if (!err)
		note_files(&post.core, &result->notes);
	capture_destroy(post.capture);
	walked_deinit(&post.walked);
	free(post.tape_path);
	core_close(&post.core);
	return err;
}
