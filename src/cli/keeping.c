#include "cli/keeping.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "session/session.h"

enum { PERIOD_S = 60 };

struct keeping {
	struct keep_rules rules;
	const char *folder; /* borrowed */
	bool is_quiet;
	uint64_t failed_count; /* the last time; said when there are more */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_wanted, is_stopping;
};

struct err *keeping_rules(const struct option_list *options, const char *folder,
			  struct keep_rules *rules)
{
	struct err *err = NULL;

	*rules = (struct keep_rules) { KEEP_ALL, KEEP_ALL, KEEP_ALL };
	for (size_t i = 0; i < options->count && !err; i++)
		err = keep_parse(options->items[i], rules);
	if (!err && session_is(folder))
		err = err_new(
			ERR_USAGE,
			"--keep: %s is the recording of a process tree, of which all is kept or "
			"nothing; name the folder that it is in",
			folder);
	return err;
}

uint64_t keeping_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void say(void *context, const struct prune_step *step)
{
	const struct keeping *keeping = context;
	CLEAN(str_deinit) struct str line = { 0 };

	if (step->outcome != PRUNE_REMOVED || keeping->is_quiet)
		return;
	str_add_terminal(&line, step->tape->file);
	printf("%s: removed\n", str_text(&line));
	fflush(stdout);
}

static void look(struct keeping *keeping)
{
	CLEAN(folder_close) struct folder folder = { .count = 0 };
	CLEAN(err_destroy) struct err *err = folder_read(keeping->folder, &folder);
	struct prune_counts counts;

	if (err) {
		fprintf(stderr, "memtape: --keep: %s\n", err_message(err));
		return;
	}
	counts = folder_prune(&folder, &keeping->rules, keeping_now_ns(), false, say, keeping);
	if (counts.failed_count > keeping->failed_count)
		fprintf(stderr,
			"memtape: --keep: %llu tapes could not be removed; `memtape prune` says "
			"why\n",
			(unsigned long long)counts.failed_count);
	keeping->failed_count = counts.failed_count;
}

struct err *keeping_once(const struct option_list *options, const char *folder)
{
	struct keeping keeping = { .folder = folder, .is_quiet = true };
	struct err *err = keeping_rules(options, folder, &keeping.rules);

	if (!err && options->count > 0)
		look(&keeping);
	return err;
}

static void *keeping_run(void *context)
{
	struct keeping *keeping = context;

	pthread_mutex_lock(&keeping->lock);
	while (!keeping->is_stopping) {
		struct timespec until;

		keeping->is_wanted = false;
		pthread_mutex_unlock(&keeping->lock);
		look(keeping);
		pthread_mutex_lock(&keeping->lock);
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += PERIOD_S;
		while (!keeping->is_wanted && !keeping->is_stopping &&
		       pthread_cond_timedwait(&keeping->changed, &keeping->lock, &until) == 0)
			;
	}
	pthread_mutex_unlock(&keeping->lock);
	return NULL;
}

struct err *keeping_begin(const struct option_list *options, const char *folder, bool is_quiet,
			  struct keeping **keeping_ret)
{
	struct keeping *keeping;
	pthread_condattr_t attr;
	struct err *err;
	int rc;

	if (options->count == 0)
		return NULL;
	keeping = calloc(1, sizeof(*keeping));
	if (!keeping)
		return err_nomem();
	keeping->folder = folder;
	keeping->is_quiet = is_quiet;
	err = keeping_rules(options, folder, &keeping->rules);
	if (err) {
		free(keeping);
		return err;
	}
	pthread_mutex_init(&keeping->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&keeping->changed, &attr);
	pthread_condattr_destroy(&attr);
	rc = pthread_create(&keeping->thread, NULL, keeping_run, keeping);
	if (rc != 0) {
		free(keeping);
		return err_errno_new(rc, "start a thread");
	}
	*keeping_ret = keeping;
	return NULL;
}

void keeping_look(struct keeping *keeping)
{
	if (!keeping)
		return;
	pthread_mutex_lock(&keeping->lock);
	keeping->is_wanted = true;
	pthread_cond_signal(&keeping->changed);
	pthread_mutex_unlock(&keeping->lock);
}

void keeping_end(struct keeping *keeping)
{
	if (!keeping)
		return;
	pthread_mutex_lock(&keeping->lock);
	keeping->is_stopping = true;
	pthread_cond_signal(&keeping->changed);
	pthread_mutex_unlock(&keeping->lock);
	pthread_join(keeping->thread, NULL);
	pthread_cond_destroy(&keeping->changed);
	pthread_mutex_destroy(&keeping->lock);
	free(keeping);
}
