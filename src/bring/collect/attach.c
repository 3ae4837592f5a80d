#include "collect/attach.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/str.h"
#include "collect/attach_check.h"
#include "collect/attach_inline.h"
#include "collect/attach_library.h"
#include "collect/attach_view.h"
#include "collect/handover.h"
#include "scan/inject.h"
#include "scan/objects.h"
#include "scan/safe.h"
#include "scan/snapshot.h"
#include "scan/status.h"

enum {
	ROUNDS_MAX = 500, /* of looking for a thread that holds no lock, and no longer than */
	PATIENCE_S = 10,
	WAIT_NS = 1000 * 1000,
	DATA_BYTES = 64 << 10,
	STACK_BYTES = 512 << 10,
	MEMORY_BYTES = DATA_BYTES + STACK_BYTES
};

static const uint64_t NS_PER_S = 1000000000;

/* A process of which one thread does what we want. */
struct intrusion {
	pid_t pid;
	struct stop stop;
	struct maps maps;
	struct stop_thread *thread;
	bool is_quiet;			  /* none of them is in the allocator */
	const struct attach_inline *plan; /* NULL: functions stay as they are */
	uint64_t memory;		  /* of ours in there; 0: none */
};

static struct memory memory_of(const struct intrusion *intrusion)
{
	return memory_of_process(stop_living(&intrusion->stop));
}

static bool write_memory(const struct intrusion *intrusion, uint64_t address, const void *bytes,
			 size_t count)
{
	const struct iovec local = { (void *)bytes, count };
	const struct iovec remote = { (void *)address, count };

	return process_vm_writev(stop_living(&intrusion->stop), &local, 1, &remote, 1, 0) ==
	       (ssize_t)count;
}

static void release(struct intrusion *intrusion)
{
	const struct timespec pause = { .tv_nsec = WAIT_NS / 10 };

	stop_end(&intrusion->stop);
	while (stop_late(&intrusion->stop))
		nanosleep(&pause, NULL);
	stop_deinit(&intrusion->stop);
	maps_deinit(&intrusion->maps);
	intrusion->stop = (struct stop) { 0 };
	intrusion->maps = (struct maps) { 0 };
	intrusion->thread = NULL;
}

/* --- a thread ---------------------------------------------------------------------------------- */

static struct stop_thread *choose(struct intrusion *intrusion, struct safe *safe)
{
	struct stop_thread *other = NULL;

	for (size_t i = 0; i < intrusion->stop.threads.count; i++) {
		struct stop_thread *thread = &intrusion->stop.threads.items[i];

		if (!inject_is_usable(&intrusion->stop, thread) ||
		    (safe && safe_locks(safe, &intrusion->maps, thread)))
			continue;
		/* One that waits has time. */
		if ((int64_t)thread->registers[ARCH_REGSET_NUMBER] >= 0)
			return thread;
		other = thread;
	}
	return other;
}

/* A moment at which one thread holds no lock at all. */
static bool has_free_thread(struct intrusion *intrusion, struct safe *safe, int round)
{
	(void)round;
	intrusion->thread = choose(intrusion, safe);
	return intrusion->thread != NULL;
}

/* Any moment. */
static bool has_thread(struct intrusion *intrusion, struct safe *safe, int round)
{
	(void)safe;
	(void)round;
	intrusion->thread = choose(intrusion, NULL);
	return intrusion->thread != NULL;
}

/*
 * A moment at which no thread holds a lock of the loader; and, if there is such a moment soon, none
 * is in the allocator.
 */
static bool has_free_loader(struct intrusion *intrusion, struct safe *safe, int round)
{
	enum { QUIET_ROUNDS = 30 };
	unsigned locks = 0;

	for (size_t i = 0; i < intrusion->stop.threads.count; i++) {
		const struct stop_thread *thread = &intrusion->stop.threads.items[i];

		locks |= thread->is_stopped ? safe_locks(safe, &intrusion->maps, thread)
					    : SAFE_LOADER | SAFE_ALLOCATOR;
	}
	intrusion->is_quiet = !(locks & SAFE_ALLOCATOR);
	return has_thread(intrusion, safe, round) && !(locks & SAFE_LOADER) &&
	       (!intrusion->plan ||
		attach_inline_is_moment(intrusion->plan, &intrusion->stop, &intrusion->maps)) &&
	       (intrusion->is_quiet || round >= QUIET_ROUNDS);
}

/* Stops all threads at such a moment. Without safe the process is to be let go. */
static struct err *enter(struct intrusion *intrusion, struct safe *safe,
			 bool (*is_moment)(struct intrusion *intrusion, struct safe *safe,
					   int round))
{
	const struct stop_kept nobody = { 0 };
	const struct timespec pause = { .tv_nsec = WAIT_NS };
	const uint64_t until_ns = monotonic_ns() + PATIENCE_S * NS_PER_S;

	for (int round = 0; round < ROUNDS_MAX && monotonic_ns() < until_ns; round++) {
		struct err *err = stop_begin(&intrusion->stop, intrusion->pid, &nobody);

		if (!err)
			err = maps_read_briefly(intrusion->pid, &intrusion->maps);
		if (!err && is_moment(intrusion, safe, round))
			return NULL;
		if (!err && stop_is_theirs(&intrusion->stop))
			err = attach_stopped(intrusion->pid, !safe);
		release(intrusion);
		if (err)
			return err;
		nanosleep(&pause, NULL);
	}
	return attach_no_moment(intrusion->pid, !safe);
}

static struct err *take_memory(struct intrusion *intrusion)
{
	struct inject_call call = {
		.number = SYS_mmap,
		.arguments = { 0, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       UINT64_MAX, 0 },
	};
	struct err *err =
		inject_call_of(&intrusion->stop, intrusion->thread, &intrusion->maps, &call);

	if (!err && call.result < 0 && call.result > -4096)
		err = err_new(ERR_STATE, "process %d cannot map more memory: %s",
			      (int)intrusion->pid, strerror((int)-call.result));
	if (!err)
		intrusion->memory = (uint64_t)call.result;
	return err;
}

static void give_back_memory(struct intrusion *intrusion)
{
	struct inject_call call = { .number = SYS_munmap,
				    .arguments = { intrusion->memory, MEMORY_BYTES } };

	if (intrusion->memory)
		err_destroy(inject_call_of(&intrusion->stop, intrusion->thread, &intrusion->maps,
					   &call));
	intrusion->memory = 0;
}

static struct err *call(struct intrusion *intrusion, uint64_t address, uint64_t first,
			uint64_t second, uint64_t *result_ret)
{
	struct inject_function function = {
		.address = address,
		.arguments = { first, second },
		.stack_end = intrusion->memory + MEMORY_BYTES,
	};
	struct err *err = inject_function_of(&intrusion->stop, intrusion->thread, &intrusion->maps,
					     &function);

	*result_ret = function.result;
	return err;
}

/* --- the library ------------------------------------------------------------------------------- */

/*
 * theirs: the process's descriptor of the library; -1: it sees the path. A name such as no program
 * has for what it loads by a descriptor itself: the loader would take ours for the same later.
 */
static struct err *load(struct intrusion *intrusion, const struct attach_request *request,
			const struct safe *safe, int theirs)
{
	enum { FLAGS = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE };
	char link[64];
	const char *path = theirs < 0
				   ? request->library
				   : str_format(link, sizeof(link), "/proc/self/./fd/%d", theirs);
	const size_t bytes = strlen(path) + 1;
	uint64_t handle;
	struct err *err;

	if (attach_library_begin(stop_living(&intrusion->stop), request->library))
		return NULL;
	if (bytes > DATA_BYTES || !write_memory(intrusion, intrusion->memory, path, bytes))
		return err_new(ERR_STATE, "the memory of process %d cannot be written",
			       (int)request->pid);
	err = call(intrusion, safe_dlopen(safe), intrusion->memory, FLAGS, &handle);
	if (!err && !handle)
		err = err_new(ERR_STATE,
			      "process %d could not load %s: no memory, or no room for its thread-"
			      "local variables (glibc.rtld.optional_static_tls)",
			      (int)request->pid, request->library);
	return err;
}

static struct err *result_words(const struct attach_request *request, uint32_t result)
{
	switch ((enum tape_attach_result)result) {
	case TAPE_ATTACH_DONE:
		return NULL;
	case TAPE_ATTACH_OTHER_VERSION:
		return err_new(ERR_STATE,
			       "process %d has the recorder of another version of memtape, from an "
			       "earlier attach: restart the process",
			       (int)request->pid);
	case TAPE_ATTACH_ALREADY:
		return attach_already(request->pid);
	case TAPE_ATTACH_NOT_RECORDING:
		return err_new(ERR_STATE, "process %d is not attached to", (int)request->pid);
	case TAPE_ATTACH_NONE:
	case TAPE_ATTACH_REFUSED:
		break;
	}
	return err_new(ERR_STATE,
		       "the recorder in process %d did not begin: it may not open %s, or is built "
		       "with a sanitizer",
		       (int)request->pid, request->spool ? request->spool : "its tape");
}

/*
 * Makes the thread call memtape_attach() or another such function. told_ret, which may be NULL, is what
 * the recorder has told of its functions.
 */
static struct err *ask(struct intrusion *intrusion, const struct attach_request *request,
		       const char *function, int spool_fd, struct attach_report *report,
		       struct tape_attach *told_ret)
{
	const uint64_t address =
		attach_library_function(stop_living(&intrusion->stop), request->library, function);
	const struct memory memory = memory_of(intrusion);
	struct tape_attach asked = {
		.version = TAPE_ATTACH_VERSION,
		.pid = (uint32_t)request->pid,
		.spool_fd = spool_fd,
	};
	uint64_t ignored;
	struct err *err;

	if (!address)
		return err_new(
			ERR_STATE,
			"process %d has no recorder of this memtape: it is not attached to, or "
			"memtape was replaced since",
			(int)request->pid);
	if (request->spool && (strlen(request->spool) >= sizeof(asked.spool) ||
			       strlen(request->options) >= sizeof(asked.options)))
		return err_new(ERR_LIMIT, "the tape's path or --allocator is too long");
	str_format(asked.spool, sizeof(asked.spool), "%s", request->spool ? request->spool : "");
	str_format(asked.options, sizeof(asked.options), "%s",
		   request->options ? request->options : "");
	if (!write_memory(intrusion, intrusion->memory, &asked, sizeof(asked)))
		return err_new(ERR_STATE, "the memory of process %d cannot be written",
			       (int)request->pid);
	err = call(intrusion, address, intrusion->memory, 0, &ignored);
	if (err)
		return err;
	if (!memory_read(&memory, intrusion->memory, &asked, sizeof(asked)))
		return err_new(ERR_STATE, "process %d has ended", (int)request->pid);
	report->places = asked.places;
	report->other_places = asked.other_places;
	if (told_ret)
		*told_ret = asked;
	return result_words(request, asked.result);
}

static_assert(sizeof(struct tape_attach) <= DATA_BYTES, "it fits");

/* The library and the spool, as descriptors of the process. */
static struct err *hand_over(const struct attach_request *request, struct handover *handover)
{
	char path[64];
	/* Not the collector's own, with its lock, which must end with the collector. */
	str_format(path, sizeof(path), "/proc/self/fd/%d", request->spool_fd);
	CLEAN(close) int spool = open(path, O_RDWR | O_CLOEXEC);
	CLEAN(close) int library = open(request->library, O_RDONLY | O_CLOEXEC);
	const int ours[] = { library, spool };

	if (library < 0 || spool < 0)
		return err_errno("%s", library < 0 ? request->library : path);
	return handover_give(handover, ours, array_size(ours));
}

static struct err *load_and_begin(struct intrusion *intrusion, const struct attach_request *request,
				  struct safe *safe, struct attach_report *report,
				  struct tape_attach *told)
{
	struct handover handover = {
		.stop = &intrusion->stop,
		.thread = intrusion->thread,
		.maps = &intrusion->maps,
		.memory = intrusion->memory,
		.theirs = { -1, -1 },
	};
	struct err *err = report->is_apart ? hand_over(request, &handover) : NULL;

	if (!err)
		err = load(intrusion, request, safe, handover.theirs[0]);
	if (!err)
		err = ask(intrusion, request, "memtape_attach", handover.theirs[1], report, told);
	handover_end(&handover);
	return err;
}

/* The recorder is there, and begins; nothing leads to it yet. */
static struct err *bring(const struct attach_request *request, struct safe *safe,
			 struct attach_report *report, struct tape_attach *told)
{
	struct intrusion intrusion = { .pid = request->pid };
	struct err *err = enter(&intrusion, safe, has_free_thread);

	if (err)
		return err;
	stop_keep_one(&intrusion.stop, intrusion.thread);
	err = take_memory(&intrusion);
	if (!err)
		err = load_and_begin(&intrusion, request, safe, report, told);
	give_back_memory(&intrusion);
	release(&intrusion);
	return err;
}

/* The places, and then the functions themselves, if there is a plan for that. */
static struct err *lead_all(struct intrusion *intrusion, const struct attach_request *request,
			    struct attach_inline *plan, struct attach_report *report)
{
	struct err *err = ask(intrusion, request, "memtape_lead", -1, report, NULL);
	struct attach_report ignored;

	if (err || !plan)
		return err;
	err = attach_inline_prepare(plan, &intrusion->stop, intrusion->thread);
	if (!err)
		err = ask(intrusion, request, "memtape_inline", -1, &ignored, NULL);
	if (!err)
		err = attach_inline_lead(plan);
	report->functions = attach_inline_count(plan);
	return err;
}

/* From one moment on calls lead to it; what lives then is in the copy. */
static struct err *lead(const struct attach_request *request, struct safe *safe,
			struct attach_inline *plan, struct attach_report *report)
{
	struct intrusion intrusion = { .pid = request->pid, .plan = plan };
	struct err *err = enter(&intrusion, safe, has_free_loader);

	if (err)
		return err;
	report->is_quiet = intrusion.is_quiet;
	err = take_memory(&intrusion);
	if (!err)
		err = lead_all(&intrusion, request, plan, report);
	give_back_memory(&intrusion);
	if (!err) {
		request->at_moment(request->context);
		report->copy_err = snapshot_take(&intrusion.stop, &intrusion.maps, &report->copy);
		err = stop_copy(&intrusion.stop, &report->stop);
	}
	report->pause_ns = monotonic_ns() - intrusion.stop.begin_ns;
	release(&intrusion);
	return err;
}

/* It was not led there, or not wholly. What is in the way of undoing that is what to say then. */
static struct err *undo(pid_t pid, struct err *err)
{
	struct attach_report undone;
	struct err *left = attach_end(pid, &undone);

	if (left && err_code_of(left) == ERR_STATE) {
		err_destroy(err);
		return left;
	}
	err_destroy(left);
	return err;
}

struct err *attach_begin(const struct attach_request *request, struct attach_report *report)
{
	CLEAN(maps_deinit) struct maps maps = { 0 };
	CLEAN(safe_destroy) struct safe *safe = NULL;
	const struct memory memory = memory_of_process(request->pid);
	struct attach_view view = { 0 };
	struct attach_libcs libcs = { 0 };
	enum attach_obstacle obstacle;
	CLEAN(attach_inline_destroy) struct attach_inline *plan = NULL;
	struct tape_attach told;
	struct err *err = maps_read_briefly(request->pid, &maps);

	*report = (struct attach_report) { 0 };
	if (!err)
		err = attach_check(request->pid, &maps, &libcs, &obstacle);
	if (!err)
		err = attach_view(request->pid, request->library, request->spool, &view);
	report->is_apart = view.is_apart;
	if (!err)
		err = safe_create(request->pid, view.root, &maps, &memory, &safe);
	if (!err)
		err = bring(request, safe, report, &told);
	if (err)
		return err;
	if (request->is_inline)
		err = attach_inline_plan(request->pid, safe, &told, &plan);
	if (!err)
		err = lead(request, safe, plan, report);
	return err ? undo(request->pid, err) : NULL;
}

void attach_report_deinit(struct attach_report *report)
{
	if (report->copy)
		snapshot_end(report->copy);
	report->copy = 0;
	err_destroy(report->copy_err);
	report->copy_err = NULL;
	stop_deinit(&report->stop);
}

/*
 * All threads stand still: what is put back takes no lock. The functions come first, while the process
 * still counts as attached to: if we are killed, who comes next can do it again.
 */
static struct err *put_back(struct intrusion *intrusion, const struct attach_request *request,
			    struct attach_report *report)
{
	struct tape_attach told;
	struct err *err = ask(intrusion, request, "memtape_inline", -1, report, &told);

	if (!err)
		err = attach_inline_restore(intrusion->pid, &told);
	return err ? err : ask(intrusion, request, "memtape_detach", -1, report, NULL);
}

struct err *attach_end(pid_t pid, struct attach_report *report)
{
	CLEAN(arena_deinit) struct arena arena = { 0 };
	struct attach_request request = { .pid = pid };
	struct intrusion intrusion = { .pid = pid };
	struct err *err = attach_library(&arena, pid, &request.library);

	*report = (struct attach_report) { 0 };
	if (!err)
		err = enter(&intrusion, NULL, has_thread);
	if (err)
		return err;
	err = take_memory(&intrusion);
	if (!err)
		err = put_back(&intrusion, &request, report);
	give_back_memory(&intrusion);
	report->pause_ns = monotonic_ns() - intrusion.stop.begin_ns;
	release(&intrusion);
	return err;
}
