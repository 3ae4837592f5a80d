#include "cli/top_tape.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/monotonic.h"
#include "base/str.h"
#include "cli/top_pace.h"
#include "cli/suppressing.h"
#include "cli/top_part.h"
#include "cli/top_recorder.h"
#include "questions/questions.h"

enum { FINDINGS_TOP = 50 };

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
	struct top_pace pace;
	struct top_follow *follow; /* NULL: the tape is not followed, or not at present */
	bool cannot_follow;
	bool was_followed; /* and the whole tape was not brought up to date since */
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

static struct parameters now_parameters(const struct top_asked *asked)
{
	struct parameters with = parameters_usual();

	with.sort = now_orders[asked->order];
	with.last = asked->last;
	with.points = asked->points;
	with.top = asked->top;
	with.filter = asked->filter[0] ? asked->filter : NULL;
	return with;
}

/* The new part becomes the figures. */
static struct err *now_take(struct top_tape *top, struct err *err, struct top_part *part)
{
	if (err)
		return err;
	top_part_drop(top->now);
	top->now = part;
	top->now_reading = top_part_reading(part);
	return NULL;
}

static struct err *now_ask(struct top_tape *top, struct tape *tape, const struct top_asked *asked)
{
	const struct parameters with = now_parameters(asked);
	struct top_part *part = NULL;
	struct err *err = top_part_make(tape, &question_now, &with, &top->is_stopping, &part);

	return now_take(top, err, part);
}

static struct err *findings_ask(struct top_tape *top, struct tape *tape)
{
	const uint64_t begin_ns = top_pace_cpu_ns();
	struct parameters with = parameters_usual();
	struct top_part *part;
	struct err *err;

	with.top = FINDINGS_TOP;
	err = top_part_make(tape, &question_findings, &with, &top->is_stopping, &part);
	top_pace_findings(&top->pace, top_pace_cpu_ns() - begin_ns);
	if (err)
		return err;
	top_part_drop(top->findings);
	top->findings = part;
	top->findings_reading = top_part_reading(part);
	return NULL;
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

/* --- following -------------------------------------------------------------------------------- */

/* Whether what is asked can be had from a tape that is followed. */
static bool wants_follow(const struct top_tape *top, const struct top_asked *asked, bool is_live)
{
	return top->settings.follows && is_live && !top->cannot_follow && !asked->filter[0];
}

static struct err *follow_ask(struct top_tape *top, const struct top_asked *asked,
			      const struct top_clocks *clocks)
{
	const struct parameters with = now_parameters(asked);
	struct top_part *part = NULL;
	struct err *err =
		top_follow_look(top->follow, clocks, top->pace.late_ns, &top->is_stopping);

	if (!err)
		err = top_part_make_followed(top->follow, &with, &top->is_stopping, &part);
	return now_take(top, err, part);
}

/*
 * The figures, from what was appended. What cannot be followed is read as a whole from now on; what was
 * replaced, or had an event that came late, is begun anew when that is due.
 */
static void follow_on(struct top_tape *top, const struct top_asked *asked,
		      const struct top_clocks *clocks)
{
	const uint64_t begin_ns = top_pace_thread_ns();
	struct err *err = NULL;
	enum err_code code;

	if (!top->follow && !top_pace_follow_is_due(&top->pace))
		return;
	if (!top->follow)
		err = top_follow_open(top->path, &top->symbols.options, &top->follow);
	if (!err)
		err = follow_ask(top, asked, clocks);
	top_pace_followed(&top->pace, top_pace_thread_ns() - begin_ns, err != NULL);
	top->was_followed |= !err;
	if (!err)
		return;
	code = err_code_of(err);
	if (code == ERR_STATE)
		top_pace_late(&top->pace);
	else if (top->follow || code == ERR_UNSUPPORTED) /* else it is being replaced */
		top->cannot_follow = code != ERR_NOT_FOUND;
	top_follow_drop(steal(top->follow));
	err_destroy(err);
}

/* --- looks at the whole tape ------------------------------------------------------------------ */

static struct err *ask(struct top_tape *top, struct tape *tape, const struct tape_look *now,
		       const struct top_asked *asked, bool has_changed)
{
	const bool is_new_one = is_new(now, top->now_reading);

	return now->loaded && (has_changed || is_new_one) ? now_ask(top, tape, asked) : NULL;
}

/* After the figures have been shown. */
static bool findings_are_due(const struct top_tape *top, const struct tape_look *now)
{
	return is_new(now, top->findings_reading) && top_pace_findings_are_due(&top->pace);
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

/*
 * What is known of the whole tape. What was read before it was followed is of the past, and no figures
 * are made of it.
 */
static struct tape_look whole_look(struct top_tape *top, bool rereads, bool is_live,
				   bool is_followed)
{
	const struct sweep_limits limits = { .cancel = &top->is_stopping };
	struct tape_look now;

	if ((rereads || (top->was_followed && !is_followed)) && tapes_settle(top->tapes, &limits))
		top->was_followed &= is_followed;
	now = tapes_look(tapes_first(top->tapes));
	top_pace_look(&top->pace, &now, top->settings.follows && is_live && !top->cannot_follow);
	tapes_set_period(top->tapes, top_pace_period_ns(&top->pace));
	return now;
}

static void look_once(struct top_tape *top, struct err **trouble)
{
	struct tape *tape = tapes_first(top->tapes);
	const struct top_clocks clocks = top_clocks_now();
	struct ctl_reply reply = { 0 };
	struct top_asked asked;
	struct tape_look now;
	bool rereads, has_changed = asked_get(top, &asked, &rereads), is_followed;
	const bool is_live = top_recorder_shows(top->path, (pid_t)tape->pid, &reply);
	const bool follows = wants_follow(top, &asked, is_live);
	struct err *err = NULL;

	if (follows)
		follow_on(top, &asked, &clocks);
	else
		top_follow_drop(steal(top->follow));
	is_followed = follows && !top->cannot_follow && top->was_followed;
	now = whole_look(top, rereads, is_live, is_followed);
	if (!top->was_followed)
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
	top_follow_drop(top->follow);
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
		tapes_stop(top->tapes);
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

/* Signals are for the thread that has the terminal. */
static struct err *begin(struct top_tape *top)
{
	sigset_t all, saved;
	struct err *err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	err = top_recorder_show_first(top->path);
	if (!err)
		err = tapes_create(&top->source, 1, &top->tapes);
	if (!err) {
		tapes_set_period(top->tapes, top_pace_period_ns(&top->pace));
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
	top->pace =
		top_pace_begin(settings->interval_ns, settings->cost_percent, settings->follows);
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
