#include "report/report.h"

const struct report *report_find(const char *name)
{
	for (const struct report *const *at = report_table; *at; at++) {
		if (strcmp((*at)->name, name) == 0)
			return *at;
	}
	return NULL;
}

struct err *report_run_model(const struct report *report, const struct model *model,
			     const struct report_settings *settings, FILE *out)
{
	CLEAN(names_destroy) struct names *names = names_create(model, settings->symbols);
	CLEAN(arena_deinit) struct arena arena = { 0 };
	const struct report_context context = {
		.model = model,
		.names = names,
		.settings = settings,
		.mode = settings->shows_all ? WALK_ALL : WALK_FOLD,
		.arena = &arena,
	};

	if (!names)
		return err_nomem();
	return report->run(&context, out);
}

struct err *report_run(const struct report *report, const char *tape_path,
		       const struct report_settings *settings, FILE *out)
{
	CLEAN(model_destroy) struct model *model = NULL;
	struct err *err = model_load(tape_path, report->depth, &model);

	if (err)
		return err;
	return report_run_model(report, model, settings, out);
}
