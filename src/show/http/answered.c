#include "http/answered.h"

#include "answer/speak.h"
#include "http/api_parts.h"

static struct err *window_find(struct call *call, struct asked *asked)
{
	struct api_range range;
	struct err *err = api_range(call, &range);

	if (err)
		return err;
	asked->has_window = call_has(call, "from") || call_has(call, "until");
	asked->from_ns = range.from_ns;
	asked->until_ns = call_has(call, "until") ? range.until_ns - 1 : UINT64_MAX;
	return NULL;
}

static struct err *sort_find(struct call *call, const struct question *question, unsigned *sort_ret)
{
	const char *word = call_text(call, "sort");
	CLEAN(str_deinit) struct str known = { 0 };

	*sort_ret = question->sort;
	for (unsigned i = 0; word && question->sorts[i]; i++) {
		if (strcmp(question->sorts[i], word) == 0) {
			*sort_ret = i;
			return NULL;
		}
		str_printf(&known, "%s%s", i ? ", " : "", question->sorts[i]);
	}
	if (!word)
		return NULL;
	return call_blame(call, "sort", err_new(ERR_USAGE, "not one of %s", str_text(&known)));
}

static struct err *asked_fill(struct call *call, struct asked *asked)
{
	const struct question *question = call->route->question;
	struct err *err = NULL;

	*asked = (struct asked) {
		.model = call->model,
		.arena = call->arena,
		.limits = &call->limits,
		.mode = call_flag(call, "all-frames") ? WALK_ALL : WALK_FOLD,
		.tells_leaks = question->selects && !question->ignores_leaks,
		.top = call_number(call, "top"),
	};
	if (question->sorts)
		err = sort_find(call, question, &asked->sort);
	if (err)
		return err;
	if (question->selects)
		asked->filter = call_text(call, "q");
	if (question->selects || question->has_window) {
		asked->from = call_text(call, "from");
		asked->until = call_text(call, "until");
	}
	err = call_names(call, &asked->names);
	if (!err)
		err = question->selects ? call_select(call, &asked->selection)
					: call_select_part(call, NULL, NULL, NULL, CALL_LEAKS,
							   &asked->selection);
	return err || !question->has_window ? err : window_find(call, asked);
}

struct err *answered_route_run(struct call *call)
{
	const struct question *question = call->route->question;
	struct speaker speaker = { .emit = call->emit, .model = call->model };
	const void *answer = NULL;
	struct asked asked;
	struct err *err = asked_fill(call, &asked);

	if (!err)
		err = question_ask(question, &asked, &answer);
	speaker.names = asked.names;
	speaker.mode = asked.mode;
	return err ? err : speak_members(&speaker, question->shape, answer);
}
