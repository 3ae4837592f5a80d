#include "http/answered.h"

#include <assert.h>

#include "answer/speak.h"
#include "http/api_parts.h"
#include "http/server.h"
#include "http/source_text.h"
#include "sums/files.h"

struct err *answered_check(struct call *call, const struct question *question,
			   const struct parameters *with)
{
	enum parameter_id wrong = PARAMETER_COUNT;
	struct err *err = question_check(question, with, &wrong);

	if (!err || wrong == PARAMETER_COUNT)
		return err;
	return call_blame(call, wrong == PARAMETER_filter ? "q" : parameter_table[wrong].name, err);
}

/* Fills in the parameters, each already checked by itself. */
static struct err *parameters_fill(struct call *call, struct parameters *with)
{
	const struct question *question = call->route->question;

	*with = parameters_usual();
	call_fill(call, with);
	if (question->selects)
		with->filter = call_text(call, "q");
	if (question->selects || question->has_window) {
		with->from = call_text(call, "from");
		with->until = call_text(call, "until");
	}
	return answered_check(call, question, with);
}

struct source_opener answered_source_opener(struct call *call)
{
	return (struct source_opener) { source_text_open, &call->server->settings.source_roots };
}

struct err *answered_source_choose(struct call *call, struct names *names, const char **file)
{
	const char *id = *file;
	const struct selection *whole;
	struct err *err;

	assert(file && *file);
	if (strlen(id) != 16 || strspn(id, "0123456789abcdef") != 16)
		return err_new(ERR_USAGE, "expected the id of a file, 16 hexadecimal digits: "
					  "/api/v1/files has them");
	err = call_select_part(call, NULL, NULL, NULL, CALL_LEAKS, &whole);
	if (err)
		return err;
	*file = source_file_path(&whole->sums, names, strtoull(id, NULL, 16));
	return *file ? NULL : err_new(ERR_NOT_FOUND, "no function of this tape in that file");
}

/* names: private to the answer, so that modules without names are those that it shows. */
static struct err *asked_fill(struct call *call, struct parameters *with, struct names *names,
			      struct asked *asked)
{
	const struct question *question = call->route->question;
	struct err *err = parameters_fill(call, with);
	struct selection_settings part = question_selection(question, with);

	*asked = (struct asked) {
		.model = call->model,
		.names = names,
		.tape_path = call->tape->source->path,
		.arena = call->arena,
		.limits = &call->limits,
		.with = with,
	};
	if (!err)
		err = call_select_part(call, part.filter, part.from, part.until,
				       part.ignores_leaks ? CALL_ALIVE : CALL_LEAKS,
				       &asked->selection);
	if (err)
		return call_blame_filter(call, part.filter, err);
	err = question_prepare(question, asked);
	return question->has_window ? call_blame(call, "from", err) : err;
}

static struct err *question_run(struct call *call)
{
	const struct question *question = call->route->question;
	CLEAN(names_destroy) struct names *names = NULL;
	const struct source_opener opener = answered_source_opener(call);
	struct speaker speaker = { .emit = call->emit, .model = call->model };
	const void *answer = NULL;
	struct parameters with;
	struct asked asked;
	struct err *err = call_names_view(call, &names);

	if (!err)
		err = asked_fill(call, &with, names, &asked);
	if (!err && with.file)
		err = call_blame(call, "file", answered_source_choose(call, names, &with.file));
	asked.source_opener = &opener;
	if (!err)
		err = question_ask(question, &asked, &answer);
	if (err)
		return err;
	speaker.names = names;
	speaker.mode = asked.mode;
	return speak_members(&speaker, question->shape, answer);
}

/* A route without a question: it uses the server's names. */
static struct err *route_run(struct call *call)
{
	const struct shape *shape = call->route->shape;
	const struct speaker speaker = {
		.emit = call->emit,
		.model = call->model,
		.names = call->loaded ? tapes_names_unready(call->loaded) : NULL,
		.mode = WALK_ALL,
	};
	void *answer = arena_alloc(call->arena, shape->bytes);
	struct err *err = answer ? call->route->find(call, answer) : err_nomem();

	return err ? err : speak_members(&speaker, shape, answer);
}

struct err *answered_run(struct call *call)
{
	assert(!call->route->question != !(call->route->find || call->route->run));
	return call->route->question ? question_run(call) : route_run(call);
}
