#include "cli/serve_attach.h"

#include <sys/wait.h>
#include <time.h>

#include "base/monotonic.h"
#include "base/str.h"
#include "cli/beside.h"
#include "cli/process_list.h"

#define TAPE_NAME "memtape.%e.%p.%n.mtape"

enum { PAUSE_MS = 10, PATIENCE_S = 20 };

/* A percent sign of the folder's name is none of the pattern. */
static void pattern_add(struct str *pattern, const char *folder)
{
	for (const char *at = folder; *at; at++)
		str_printf(pattern, *at == '%' ? "%%%%" : "%c", *at);
	str_add(pattern, "/" TAPE_NAME);
}

static struct err *launch(const struct serve_attach *attach, uint64_t pid, struct beside *beside)
{
	enum { CONTROL_AT = 4 };
	CLEAN(str_deinit) struct str pattern = { 0 };
	char process[24];

	str_format(process, sizeof(process), "%llu", (unsigned long long)pid);
	pattern_add(&pattern, attach->folder);
	if (pattern.failed)
		return err_nomem();
	return beside_start(beside,
			    (const char *[]) { "memtape", "attach", "--quiet", "--control", NULL,
					       "--output", pattern.ptr, "--", process, NULL },
			    CONTROL_AT, false);
}

/* It says its tape's path, and then that it records; or else what is wrong. */
static struct err *wait_for_it(const struct beside *beside, struct control *control,
			       struct arena *arena, struct processes_begun *begun)
{
	char line[BESIDE_LINE_BYTES];
	struct control_word word;
	struct err *err;

	if (!beside_line(beside, line))
		return err_new(ERR_STATE, "memtape attach did not start");
	if (beside_trouble(line))
		return err_new(ERR_STATE, "%s", beside_trouble(line));
	begun->path = arena_strdup(arena, line);
	if (!begun->path)
		return err_nomem();
	err = control_begun(control, &word);
	if (!err) {
		begun->pause_ns = word.pause_ns;
		begun->control = control;
		return NULL;
	}
	if (control_is_open(control) || !beside_line(beside, line) || !beside_trouble(line))
		return err;
	err_destroy(err);
	return err_new(ERR_STATE, "%s", beside_trouble(line));
}

/* Those that have ended are seen to. */
static void reap(struct serve_attach *attach)
{
	for (size_t i = 0; i < attach->count; i++)
		if (attach->items[i]->memtape > 0 &&
		    waitpid(attach->items[i]->memtape, NULL, WNOHANG) != 0)
			attach->items[i]->memtape = 0;
}

static void wait_for_end(pid_t memtape, uint64_t until_ns)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };

	while (memtape > 0 && waitpid(memtape, NULL, WNOHANG) == 0 && monotonic_ns() < until_ns)
		nanosleep(&pause, NULL);
}

/* What is not needed any more lets its process go. */
static void give_up(struct serve_attached *item)
{
	control_deinit(&item->control);
	wait_for_end(item->memtape, monotonic_ns() + PATIENCE_S * UINT64_C(1000000000));
	free(item);
}

static struct err *attach_one(void *context, uint64_t pid, struct arena *arena,
			      struct processes_begun *begun)
{
	struct serve_attach *attach = context;
	struct serve_attached *item;
	struct beside beside;
	struct err *err;

	reap(attach);
	if (attach->count == array_size(attach->items))
		return err_new(ERR_LIMIT, "already %zu recordings", attach->count);
	item = calloc(1, sizeof(*item));
	err = item ? launch(attach, pid, &beside) : err_nomem();
	if (err) {
		free(item);
		return err;
	}
	*item = (struct serve_attached) { .control.fd = beside.control, .memtape = beside.pid };
	err = control_init(&item->control, beside.control);
	if (!err)
		err = wait_for_it(&beside, &item->control, arena, begun);
	close(beside.out);
	if (err)
		give_up(item);
	else
		attach->items[attach->count++] = item;
	return err;
}

static struct err *list(void *context, struct arena *arena, struct process_list *list)
{
	(void)context;
	return process_list_find(arena, list);
}

void serve_attach_init(struct serve_attach *attach, const char *folder)
{
	*attach = (struct serve_attach) {
		.folder = folder,
		.source = { .list = list, .attach = attach_one, .context = attach },
	};
}

/* Without the server at the other end of its socket each of them ends. */
void serve_attach_deinit(struct serve_attach *attach)
{
	const uint64_t until_ns = monotonic_ns() + PATIENCE_S * UINT64_C(1000000000);

	for (size_t i = 0; i < attach->count; i++)
		control_deinit(&attach->items[i]->control);
	for (size_t i = 0; i < attach->count; i++) {
		wait_for_end(attach->items[i]->memtape, until_ns);
		free(attach->items[i]);
	}
	attach->count = 0;
}
