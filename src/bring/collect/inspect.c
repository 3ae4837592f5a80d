#include "collect/inspect.h"

#include <assert.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "arch/machine.h"
#include "arch/native.h"
#include "base/monotonic.h"
#include "capture/capture.h"
#include "collect/asking.h"
#include "collect/clock.h"
#include "collect/inherited.h"
#include "collect/scan_records.h"
#include "collect/so_far.h"
#include "collect/walked.h"
#include "scan/leak_scan.h"
#include "scan/recording.h"
#include "scan/snapshot.h"

static const uint64_t PATIENCE_NS = 2000000000;

struct inspection {
	const struct inspect_settings *settings;
	struct maps maps;
	struct recording recording;
	struct stop stop;
	pid_t copy; /* 0: none */
	bool is_recorded;
	struct capture *capture;
	struct walked walked; /* or of what was recorded only what lives */
	struct stack_place *places;
	size_t place_count;
	struct tape_clock_pair clock; /* while it stood still */
	uint64_t ticks;		      /* the same, as on the tape */
};

/* --- while it stands still ------------------------------------------------------------------- */

static struct err *read_places(struct inspection *inspection)
{
	struct tape_live live;
	struct err *err = recording_live(&inspection->recording, &live);
	size_t count, bytes;

	if (err || live.stack_board == 0)
		return err;
	count = u64_min(live.stack_count, STACK_BOARD_PLACES);
	bytes = count * sizeof(*inspection->places);
	inspection->places = calloc(count + 1, sizeof(*inspection->places));
	if (!inspection->places)
		return err_nomem();
	const struct iovec local = { inspection->places, bytes };
	const struct iovec remote = { (void *)live.stack_board, bytes };

	if (process_vm_readv(stop_living(&inspection->stop), &local, 1, &remote, 1, 0) ==
	    (ssize_t)bytes)
		inspection->place_count = count;
	return NULL;
}

static void take_time(struct inspection *inspection)
{
	const struct tape_header *header = &inspection->recording.header;

	inspection->clock = clock_pair((enum tape_clock)header->clock);
	inspection->ticks = inspection->clock.raw_ticks >> (header->tick_shift & 63);
}

/* A tape that the program writes itself only grows; of a spool a copy is needed. */
static struct err *open_capture(struct inspection *inspection)
{
	const struct recording *recording = &inspection->recording;
	CLEAN(close) int fd = -1;
	struct err *err = NULL;

	if (recording->is_spool)
		err = recording_copy(recording, &fd);
	return err ? err : capture_open_with_spool(recording->tape_path, fd, &inspection->capture);
}

static struct err *find_recording(struct inspection *inspection, pid_t pid)
{
	struct err *err = recording_find(pid, &inspection->maps, &inspection->recording);

	inspection->is_recorded = !err;
	if (err && err_code_of(err) == ERR_NOT_FOUND) {
		err_destroy(err);
		err = NULL;
	}
	return err;
}

static struct err *look(struct inspection *inspection, struct inspect_result *result)
{
	const pid_t pid = stop_living(&inspection->stop);
	struct err *err = maps_read(pid, &inspection->maps);

	if (!err)
		err = find_recording(inspection, pid);
	if (!err && inspection->is_recorded)
		err = read_places(inspection);
	if (!err && inspection->is_recorded) {
		take_time(inspection);
		err = open_capture(inspection);
	}
	if (err)
		return err;
	result->copy_err = snapshot_take(&inspection->stop, &inspection->maps, &inspection->copy);
	result->was_copied = !result->copy_err;
	return NULL;
}

static const char *subject_of(const struct inspection *inspection, char *text, size_t bytes)
{
	return str_format(text, bytes, "process %d", (int)inspection->settings->pid);
}

static struct err *find_living(struct inspection *inspection, const struct memory *memory,
			       const struct maps *maps)
{
	char subject[STR_SHORT_BYTES], root[STR_SHORT_BYTES];

	if (inspection->is_recorded)
		return inherited_read(inspection->capture, inspection->ticks, maps, memory,
				      &inspection->stop, &inspection->walked.living);
	return walked_read(subject_of(inspection, subject, sizeof(subject)),
			   str_format(root, sizeof(root), "/proc/%d/root",
				      (int)stop_living(&inspection->stop)),
			   maps, memory, &inspection->stop, &inspection->walked);
}

static struct err *search(struct inspection *inspection, struct scan_image *image)
{
	const pid_t pid = inspection->copy ? inspection->copy : stop_living(&inspection->stop);
	CLEAN(maps_deinit) struct maps maps = { 0 };
	const struct leak_scan scan = {
		.stop = &inspection->stop,
		.places = inspection->places,
		.place_count = inspection->place_count,
		.spool_inode = inspection->recording.inode,
		.heuristics = inspection->settings->heuristics,
	};
	const struct leak_scan_view view = { &inspection->walked.living, &maps,
					     memory_of_process(pid) };
	struct err *err = maps_read(pid, &maps);

	if (!err)
		err = find_living(inspection, &view.memory, &maps);
	return err ? err : leak_scan_view(&scan, &view, image);
}

/* --- the tape -------------------------------------------------------------------------------- */

static struct err *write_records(void *context, struct packed_stream *stream)
{
	return scan_records_write(context, stream);
}

static struct err *write_recorded(struct inspection *inspection, const struct scan_image *image,
				  uint32_t scan_id)
{
	struct scan_records records = {
		.image = image,
		.ticks = inspection->ticks,
		.id = scan_id,
		.reason = TAPE_SCAN_REQUEST,
		.clock = &inspection->clock,
		.is_running = true,
	};
	const struct capture_addition addition = { write_records, &records };
	struct capture_repacked repacked;

	return capture_repack_opened(inspection->capture, inspection->settings->output_path,
				     inspection->settings->level, &addition, &repacked);
}

static struct err *write_walked(const struct inspection *inspection, const struct scan_image *image)
{
	char subject[STR_SHORT_BYTES], path[STR_SHORT_BYTES], exe[PATH_MAX + 1];
	ssize_t bytes;

	str_format(path, sizeof(path), "/proc/%d/exe", (int)inspection->settings->pid);
	bytes = readlink(path, exe, sizeof(exe) - 1);
	exe[bytes > 0 ? bytes : 0] = '\0';
	const struct walked_tape tape = {
		.subject = subject_of(inspection, subject, sizeof(subject)),
		.exe = exe,
		.pid = inspection->settings->pid,
		.reason = TAPE_SCAN_REQUEST,
		.end.kind = TAPE_END_RUNNING,
		.output_path = inspection->settings->output_path,
		.level = inspection->settings->level,
	};

	return walked_write(&inspection->walked, image, &tape);
}

static struct err *write_tape(struct inspection *inspection, const struct scan_image *image,
			      struct inspect_result *result)
{
	result->scan_id = inspection->walked.living.scan_id + 1;
	return inspection->is_recorded ? write_recorded(inspection, image, result->scan_id)
				       : write_walked(inspection, image);
}

/* --- all of it ------------------------------------------------------------------------------- */

static struct err *run(struct inspection *inspection, struct inspect_result *result)
{
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };
	struct err *err = look(inspection, result);
	const bool goes_on = err || result->was_copied;

	if (goes_on)
		result->pause_ns = stop_end(&inspection->stop);
	if (!err)
		err = search(inspection, &image);
	if (!goes_on)
		result->pause_ns = stop_end(&inspection->stop);
	image.facts.pause_ns = result->pause_ns;
	result->scan_ns = image.facts.scan_ns;
	return err ? err : write_tape(inspection, &image, result);
}

static void inspection_deinit(struct inspection *inspection)
{
	if (inspection->copy)
		snapshot_end(inspection->copy);
	maps_deinit(&inspection->maps);
	recording_close(&inspection->recording);
	capture_destroy(inspection->capture);
	walked_deinit(&inspection->walked);
	free(inspection->places);
	stop_deinit(&inspection->stop);
}

/* A collector that looks at something itself has the program for a few milliseconds. */
static struct err *stop_patiently(struct stop *stop, pid_t pid, const struct recording *recording)
{
	const struct stop_kept nobody = { .tid = 0 };
	const struct timespec pause = { .tv_nsec = 2 * 1000 * 1000 };
	const uint64_t until_ns = monotonic_ns() + PATIENCE_NS;

	for (;;) {
		struct err *err = stop_begin(stop, pid, &nobody);

		if (!err || !asking_is_collector(pid, recording) || monotonic_ns() > until_ns)
			return err;
		err_destroy(err);
		stop_deinit(stop);
		nanosleep(&pause, NULL);
	}
}

static struct err *inspect(const struct inspect_settings *settings,
			   const struct recording *recording, struct inspect_result *result)
{
	struct inspection inspection = { .settings = settings, .recording = { .fd = -1 } };
	struct err *err = stop_patiently(&inspection.stop, settings->pid, recording);

	if (!err)
		err = run(&inspection, result);
	inspection_deinit(&inspection);
	return err;
}

/* --- by its collector ------------------------------------------------------------------------ */

/* What the collector found is among what was recorded. */
static struct err *inspect_by(const struct inspect_settings *settings,
			      const struct recording *recording, struct inspect_result *result)
{
	struct asking_answer answer = { 0 };
	struct err *err = asking_scan(settings->pid, recording, settings->heuristics, &answer);

	if (!err)
		err = so_far_write(answer.capture, settings->output_path, settings->level);
	capture_destroy(answer.capture);
	result->scan_id = answer.scan_id;
	result->was_asked = true;
	return err;
}

/* Whoever traces it will say what is wrong when the process cannot be looked at. */
static struct err *find_unstopped(pid_t pid, struct recording *recording)
{
	CLEAN(maps_deinit) struct maps maps = { 0 };
	struct err *err = maps_read(pid, &maps);

	return err ? err : recording_find(pid, &maps, recording);
}

/* Recorded or not. What cannot be read is left to those who look. */
static struct err *check_machine(pid_t pid)
{
	char path[STR_SHORT_BYTES];
	Elf64_Ehdr header = { 0 };
	CLEAN(close)
	int fd = open(str_format(path, sizeof(path), "/proc/%d/exe", (int)pid),
		      O_RDONLY | O_CLOEXEC);

	if (fd < 0 || pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    (header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == ARCH_ELF_MACHINE))
		return NULL;
	return err_new(ERR_UNSUPPORTED,
		       "process %d runs a program of 32 bits or of another machine (%s): such "
		       "programs are recorded, but not looked into",
		       (int)pid, arch_machine_name(header.e_machine));
}

struct err *inspect_leaks(const struct inspect_settings *settings, struct inspect_result *result)
{
	CLEAN(recording_close) struct recording recording = { .fd = -1 };
	struct err *err = check_machine(settings->pid);

	assert(settings->output_path);
	*result = (struct inspect_result) { 0 };
	if (err)
		return err;
	err = find_unstopped(settings->pid, &recording);
	if (!err && asking_whom(settings->pid, &recording))
		return inspect_by(settings, &recording, result);
	err_destroy(err);
	return inspect(settings, &recording, result);
}
