#include "report/answered.h"

#include <assert.h>

#include "report/quality.h"
#include "report/suppressed.h"

struct asked answered_of(const struct report_context *context)
{
	static const struct report_settings none;
	const struct report_settings *settings = context->settings ? context->settings : &none;

	assert(!context->selection || context->selection->model == context->model);
	return (struct asked) {
		.model = context->model,
		.names = context->names,
		.tape_path = settings->tape_path,
		.selection = context->selection,
		.arena = context->arena,
		.limits = context->selection ? &context->selection->limits : NULL,
		.with = &settings->with,
		.source_opener = &settings->source_opener,
		.mode = context->mode,
		.is_for_table = settings->format != EMIT_JSON,
		.tells_leaks = context->tells_leaks,
		.has_window = context->has_window,
	};
}

static struct err *structured(const struct report *report, const struct report_context *context,
			      const void *answer, FILE *out)
{
	const struct emit_settings settings = { .format = context->settings->format };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &settings);
	const struct speaker speaker = { emit, context->model, context->names, context->mode };
	struct err *err;

	if (!emit)
		return err_nomem();
	if (settings.format == EMIT_CSV) {
		err = speak_table(&speaker, report->question->shape, answer);
		return err ? err : emit_finish(emit);
	}
	err = report->question->is_list
		      ? speak_list_alone(&speaker, report->question->shape, answer)
		      : speak_object(&speaker, report->question->shape, answer);
	return err ? err : emit_finish(emit);
}

typedef struct err *speak_all(const struct speaker *speaker, const struct shape *shape,
			      const void *value);

static struct err *spoken(speak_all *speak, const struct question *question,
			  const struct report_context *context, const void *answer, FILE *out)
{
	const struct report_settings *settings = context->settings;
	const struct emit_settings emit_settings = { .format = EMIT_TEXT,
						     .colour = settings->colour,
						     .width = settings->width };
	CLEAN(emit_destroy) struct emit *emit = emit_create(out, &emit_settings);
	const struct speaker speaker = { emit, context->model, context->names, context->mode };
	struct err *err = emit ? speak(&speaker, question->shape, answer) : err_nomem();

	assert(settings->format == EMIT_TEXT);
	assert(question->shape);
	return err ? err : emit_finish(emit);
}

struct err *answered_table(const struct question *question, const struct report_context *context,
			   const void *answer, FILE *out)
{
	return spoken(speak_table, question, context, answer, out);
}

struct err *answered_document(const struct question *question, const struct report_context *context,
			      const void *answer, FILE *out)
{
	return spoken(speak_object, question, context, answer, out);
}

/* The table, and warnings about it. */
static struct err *plain_text(const struct report *report, const struct report_context *context,
			      const void *answer, FILE *out)
{
	const struct member *list = speak_list(report->question->shape, answer);
	const char *none = context->has_window ? report->none_then : report->none;
	CLEAN(text_deinit) struct text text = text_begin(context->settings);
	struct err *err = answered_table(report->question, context, answer, out);

	if (err)
		return err;
	if (none && ((const struct shape_rows *)member_field(list, answer))->count == 0) {
		text_add(&text, TEXT_DIM, none);
		str_add_char(&text.out, '\n');
	}
	suppressed_line(&text, context);
	quality_text(&text, context);
	return text_write(&text, out);
}

struct err *answered_report_run(const struct report *report, const struct report_context *context,
				FILE *out)
{
	struct parameters with = context->settings->with;
	struct asked asked = answered_of(context);
	const void *answer = NULL;
	struct err *err;

	assert(report->question->shape);
	if (report->for_text && context->settings->format == EMIT_TEXT &&
	    context->settings->style == REPORT_OWN)
		report->for_text(&with);
	asked.with = &with;
	err = question_prepare(report->question, &asked);
	if (!err)
		err = question_ask(report->question, &asked, &answer);
	if (err)
		return err;
	if (report->fails && context->settings->fails_ret)
		*context->settings->fails_ret = report->fails(context->settings, answer);
	if (context->settings->format != EMIT_TEXT)
		return structured(report, context, answer, out);
	return report->text ? report->text(context, answer, out)
			    : plain_text(report, context, answer, out);
}
