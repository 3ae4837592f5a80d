#include "cli/top_tape.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/monotonic.h"
#include "base/str.h"
#include "capture/capture.h"
#include "cli/suppressing.h"
#include "cli/top_part.h"
#include "collect/ctl.h"
#include "questions/questions.h"

/*
 * Everything together takes cost_percent of a processor, a third of that for findings, unless figures
 * would be older than AGE_NS then; reading alone never takes more than a third (http/tapes.h).
 */
enum { PART_COUNT = 150, FINDINGS_PART_COUNT = 300, FINDINGS_TOP = 50 };
static const uint64_t AGE_NS = UINT64_C(30000000000);
static const uint64_t FINDINGS_NS =
	UINT64_C(5000000000); /* between two times they are looked for */

struct top_tape {
	char *path;
	struct top_settings settings;
	struct reading_symbols symbols;
	struct suppressing suppressing;
	struct tape_source source;
	struct tapes *tapes;
	int event_fd;
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under the lock: */
	struct top_asked asked;
	uint64_t asked_number; /* counts changes of it */
	bool rereads;
	struct top_look *look;
	bool is_stopping; /* atomic, too */
	/* Of the thread: */
	struct top_part *now, *findings;
	uint64_t answered_number;		/* of what the parts are about */
	uint64_t now_reading, findings_reading; /* loaded->number; 0: none */
	uint64_t findings_due_ns;
	uint64_t cpu_ns; /* of this process, when the last reading was there; 0: there was none */
};

/* --- looks, for who takes them ----------------------------------------------------------------- */

void top_look_destroy(struct top_look *look)
{
	if (!look)
		return;
	top_part_drop(look->now_part);
	top_part_drop(look->findings_part);
	free(look);
}

struct err *top_look_speak(const struct top_look *look, struct emit *emit)
{
	struct err *err;

	assert(look->now_part && look->findings_part);
	err = top_part_speak(look->now_part, &shape_now, "now", emit);
	return err ? err : top_part_speak(look->findings_part, &shape_findings, "findings", emit);
}

/* --- questions ------------------------------------------------------------------------------- */

/* Of all threads of this process. */
static uint64_t cpu_ns(void)
{
	struct timespec time = { 0 };

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static struct err *now_ask(struct top_tape *top, struct tape *tape, const struct top_asked *asked)
{
	struct parameters with = parameters_usual();
	struct top_part *part;
	struct err *err;

	with.sort = now_orders[asked->order];
	with.last = asked->last;
	with.points = asked->points;
	with.top = asked->top;
	with.filter = asked->filter[0] ? asked->filter : NULL;
	err = top_part_make(tape, &question_now, &with, &top->is_stopping, &part);
	if (err)
		return err;
	top_part_drop(top->now);
	top->now = part;
	top->now_reading = top_part_reading(part);
	return NULL;
}

static struct err *findings_ask(struct top_tape *top, struct tape *tape)
{
	const uint64_t begin_ns = cpu_ns();
	struct parameters with = parameters_usual();
	struct top_part *part;
	uint64_t cost_ns;
	struct err *err;

	with.top = FINDINGS_TOP;
	err = top_part_make(tape, &question_findings, &with, &top->is_stopping, &part);
	cost_ns = cpu_ns() - begin_ns;
	top->cpu_ns += cost_ns; /* it is no part of what a reading costs */
	top->findings_due_ns =
		monotonic_ns() +
		u64_max(u64_min(FINDINGS_PART_COUNT * cost_ns / top->settings.cost_percent, AGE_NS),
			FINDINGS_NS);
	if (err)
		return err;
	top_part_drop(top->findings);
	top->findings = part;
	top->findings_reading = top_part_reading(part);
	return NULL;
}

/* --- who records ------------------------------------------------------------------------------ */

static struct err *show(pid_t pid, enum ctl_command command, struct ctl_reply *reply)
{
	const struct ctl_request request = { .magic = CTL_MAGIC,
					     .version = CTL_VERSION,
					     .command = command,
					     .heuristics = CTL_USUAL };

	return ctl_call(pid, &request, reply, NULL);
}

struct err *top_tape_find(pid_t pid, char **path_ret)
{
	struct ctl_reply reply;
	struct err *err = show(pid, CTL_STATUS, &reply);

	if (err && err_code_of(err) == ERR_NOT_FOUND) {
		err_destroy(err);
		return err_new(ERR_NOT_FOUND,
			       "process %d is not being recorded; `memtape attach %d` records it "
			       "from now on, `memtape attach --list` shows what can be recorded",
			       (int)pid, (int)pid);
	}
	if (err)
		return err;
	*path_ret = strdup(reply.tape_path);
	return *path_ret ? NULL : err_nomem();
}

/* Of this tape, not of another one of the same process. */
static bool is_recorded(const struct top_tape *top, struct tape *tape, struct ctl_reply *reply)
{
	CLEAN(free) char *path = realpath(top->path, NULL);
	struct err *err = show((pid_t)tape->pid, CTL_SHOW, reply);
	const bool is_it =
		!err && reply->is_recording && path && strcmp(reply->tape_path, path) == 0;

	err_destroy(err);
	return is_it;
}

/* --- looks ------------------------------------------------------------------------------------ */

static void state_fill(const struct top_tape *top, const struct tape_look *now,
		       const struct ctl_reply *reply, struct top_look *look)
{
	const struct now_answer *answer = look->now;
	const char *end = answer ? answer->end : NULL;

	look->duration_ns = answer ? answer->duration_ns : 0;
	look->rss_bytes = answer ? answer->rss_bytes : UINT64_MAX;
	if (reply && !end) {
		str_format(look->state, sizeof(look->state), "%s",
			   reply->is_paused ? "allocations paused" : "recording");
		look->duration_ns = reply->duration_ns;
		look->rss_bytes = reply->rss_bytes;
	} else if (now->state == TAPE_LOADING) {
		str_format(look->state, sizeof(look->state), "reading");
	} else if (now->state == TAPE_LIVE && !end) {
		str_format(look->state, sizeof(look->state), "being written");
	} else if (now->state != TAPE_FAILED) {
		look->has_ended = true;
		str_format(look->state, sizeof(look->state), "ended%s%s; q quits", end ? ": " : "",
			   end ? end : "");
	}
	if (now->error)
		str_format(look->trouble, sizeof(look->trouble), "%s: %s", top->path, now->error);
}

static void look_publish(struct top_tape *top, struct top_look *look)
{
	struct top_look *old;

	pthread_mutex_lock(&top->lock);
	old = top->look;
	top->look = look;
	pthread_mutex_unlock(&top->lock);
	top_look_destroy(old);
	eventfd_write(top->event_fd, 1);
}

/* Whether the reading is another one than that of the answer. */
static bool is_new(const struct tape_look *now, uint64_t reading)
{
	return now->loaded && now->loaded->number != reading;
}

/* A little less than the interval, so that each look finds another reading. */
static uint64_t period_ns(const struct top_tape *top, uint64_t wanted_ns)
{
	return u64_max(top->settings.interval_ns / 10 * 9, u64_min(wanted_ns, AGE_NS));
}

/* Another reading is there: what the last one and all that followed has cost says when the next is due. */
static void pace(struct top_tape *top)
{
	const uint64_t now_ns = cpu_ns();

	if (top->cpu_ns != 0)
		tapes_set_period(top->tapes, period_ns(top, PART_COUNT * (now_ns - top->cpu_ns) /
								    top->settings.cost_percent));
	top->cpu_ns = now_ns;
}

static struct err *ask(struct top_tape *top, struct tape *tape, const struct tape_look *now,
		       const struct top_asked *asked, bool has_changed)
{
	const bool is_new_one = is_new(now, top->now_reading);

	if (is_new_one)
		pace(top);
	return now->loaded && (has_changed || is_new_one) ? now_ask(top, tape, asked) : NULL;
}

/* After the figures have been shown. */
static bool findings_are_due(const struct top_tape *top, const struct tape_look *now)
{
	return is_new(now, top->findings_reading) && monotonic_ns() >= top->findings_due_ns;
}

static void look_make(struct top_tape *top, const struct tape_look *now,
		      const struct ctl_reply *reply, struct err *err)
{
	struct top_look *look = calloc(1, sizeof(*look));

	if (!look)
		return;
	look->now_part = top_part_keep(top->now);
	look->findings_part = top_part_keep(top->findings);
	look->now = top->now ? top->now->answer : NULL;
	look->findings = top->findings ? top->findings->answer : NULL;
	state_fill(top, now, reply, look);
	if (err) /* the lines after the first quote what was typed */
		str_format(look->trouble, sizeof(look->trouble), "%.*s",
			   (int)strcspn(err_message(err), "\n"), err_message(err));
	look_publish(top, look);
}

/* What to ask now; true: it has changed since the last answer. */
static bool asked_get(struct top_tape *top, struct top_asked *asked, bool *rereads_ret)
{
	bool has_changed;

	pthread_mutex_lock(&top->lock);
	*asked = top->asked;
	has_changed = top->answered_number != top->asked_number;
	top->answered_number = top->asked_number;
	*rereads_ret = top->rereads;
	top->rereads = false;
	pthread_mutex_unlock(&top->lock);
	return has_changed;
}

static void look_once(struct top_tape *top, struct err **trouble)
{
	struct tape *tape = tapes_first(top->tapes);
	const struct sweep_limits limits = { .cancel = &top->is_stopping };
	struct ctl_reply reply = { 0 };
	struct top_asked asked;
	struct tape_look now;
	bool rereads, has_changed = asked_get(top, &asked, &rereads);
	const bool is_live = is_recorded(top, tape, &reply);
	struct err *err;

	if (rereads)
		tapes_settle(top->tapes, &limits);
	now = tapes_look(tape);
	err = ask(top, tape, &now, &asked, has_changed || rereads);
	if (err || has_changed) { /* a filter that is wrong stays so */
		err_destroy(*trouble);
		*trouble = err;
	}
	look_make(top, &now, is_live ? &reply : NULL, *trouble);
	if (findings_are_due(top, &now)) {
		err_destroy(findings_ask(top, tape));
		look_make(top, &now, is_live ? &reply : NULL, *trouble);
	}
	tapes_release(now.loaded);
	free(now.error);
}

/* Until something else is asked, or the time has come: soon while it is read for the first time. */
static void wait(struct top_tape *top, uint64_t until_ns)
{
	const struct timespec until = { (time_t)(until_ns / 1000000000),
					(long)(until_ns % 1000000000) };

	pthread_mutex_lock(&top->lock);
	while (!top->is_stopping && top->answered_number == top->asked_number && !top->rereads &&
	       pthread_cond_timedwait(&top->changed, &top->lock, &until) == 0)
		;
	pthread_mutex_unlock(&top->lock);
}

static void *follow(void *context)
{
	enum { FIRST_NS = 50000000 };
	struct top_tape *top = context;
	struct err *trouble = NULL;

	while (!__atomic_load_n(&top->is_stopping, __ATOMIC_RELAXED)) {
		const uint64_t begin_ns = monotonic_ns();

		look_once(top, &trouble);
		wait(top, begin_ns + (top->now ? top->settings.interval_ns : FIRST_NS));
	}
	err_destroy(trouble);
	return NULL;
}

/* --- from outside ----------------------------------------------------------------------------- */

static void top_free(struct top_tape *top)
{
	top_part_drop(top->now);
	top_part_drop(top->findings);
	top_look_destroy(top->look);
	if (top->event_fd >= 0)
		close(top->event_fd);
	pthread_cond_destroy(&top->changed);
	pthread_mutex_destroy(&top->lock);
	/* A load that cannot be stopped still uses the rest. */
	if (top->tapes && !tapes_destroy(top->tapes))
		return;
	suppressing_deinit(&top->suppressing);
	reading_symbols_deinit(&top->symbols);
	free(top->path);
	free(top);
}

void top_tape_close(struct top_tape *top)
{
	if (!top)
		return;
	if (top->has_thread) {
		pthread_mutex_lock(&top->lock);
		__atomic_store_n(&top->is_stopping, true, __ATOMIC_RELAXED);
		pthread_cond_broadcast(&top->changed);
		pthread_mutex_unlock(&top->lock);
		pthread_join(top->thread, NULL);
	}
	top_free(top);
}

static void lock_init(struct top_tape *top)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&top->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&top->changed, &attr);
	pthread_condattr_destroy(&attr);
}

/* What was recorded until now is on the tape when it is read for the first time. */
static struct err *show_first(const char *path)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	struct ctl_reply reply;
	struct err *err = capture_open(path, &capture);

	if (!err)
		err_destroy(show((pid_t)capture_header(capture)->pid, CTL_SHOW, &reply));
	return err;
}

/* Signals are for the thread that has the terminal. */
static struct err *begin(struct top_tape *top)
{
	sigset_t all, saved;
	struct err *err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	err = show_first(top->path);
	if (!err)
		err = tapes_create(&top->source, 1, &top->tapes);
	if (!err) {
		tapes_set_period(top->tapes, period_ns(top, 0));
		top->has_thread = pthread_create(&top->thread, NULL, follow, top) == 0;
		err = top->has_thread ? NULL : err_nomem();
	}
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	return err;
}

struct err *top_tape_open(const char *path, const struct top_settings *settings,
			  struct top_tape **tape_ret)
{
	CLEAN(top_tape_close) struct top_tape *top = calloc(1, sizeof(*top));
	struct err *err;

	assert(settings->interval_ns > 0 && settings->cost_percent > 0);
	if (!top)
		return err_nomem();
	lock_init(top);
	top->settings = *settings;
	top->asked = settings->asked;
	top->asked_number = 1;
	top->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	top->path = strdup(path);
	if (top->event_fd < 0 || !top->path)
		return err_nomem();
	err = suppressing_load(&top->suppressing, NULL);
	if (!err)
		err = reading_symbols_init(&top->symbols, settings->symbols, top->path);
	top->source =
		(struct tape_source) { top->path, &top->symbols.options, &top->suppressing.rules };
	if (!err)
		err = begin(top);
	if (err)
		return err;
	*tape_ret = steal(top);
	return NULL;
}

uint64_t top_tape_pid(const struct top_tape *top)
{
	return tapes_first(top->tapes)->pid;
}

const char *top_tape_path(const struct top_tape *top)
{
	return top->path;
}

void top_tape_ask(struct top_tape *top, const struct top_asked *asked, bool rereads)
{
	assert(asked->last);
	pthread_mutex_lock(&top->lock);
	top->asked = *asked;
	top->asked_number++;
	top->rereads |= rereads;
	pthread_cond_broadcast(&top->changed);
	pthread_mutex_unlock(&top->lock);
}

struct top_look *top_tape_take(struct top_tape *top)
{
	struct top_look *look;
	eventfd_t count;

	eventfd_read(top->event_fd, &count);
	pthread_mutex_lock(&top->lock);
	look = steal(top->look);
	pthread_mutex_unlock(&top->lock);
	return look;
}

int top_tape_fd(const struct top_tape *top)
{
	return top->event_fd;
}
