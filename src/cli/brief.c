#include "cli/brief.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/input.h"

struct err *brief_show(const struct brief *brief, const char *path)
{
	const char *const words[] = { brief->report, path, NULL };
	struct report_settings settings = {
		.with = brief->with,
		.tape_path = path,
		.operands = words + 2,
		.format = brief->is_json ? EMIT_JSON : EMIT_TEXT,
		.colour = reading_wants_colour(stdout),
		.width = reading_width(stdout),
	};
	CLEAN(reading_symbols_deinit) struct reading_symbols symbols = { 0 };
	CLEAN(suppressing_deinit) struct suppressing suppressing = { 0 };
	CLEAN(model_destroy) struct model *model = NULL;
	const struct report *report = report_find(brief->report);
	struct err *err;

	assert(report);
	err = report_settle(report, &settings);
	if (!err)
		err = suppressing_load(&suppressing, brief->suppressing);
	if (!err)
		err = reading_symbols_init(&symbols, brief->symbols, path);
	if (err)
		return err;
	settings.symbols = &symbols.options;
	settings.suppressions = &suppressing.rules;
	err = reading_model(path, report_depth(report, &settings), NULL, &model);
	return err ? err : report_run_model(report, model, &settings, stdout);
}

/* In a folder of its own, for the tape may have an index beside it. */
struct err *brief_show_made(struct brief *brief,
			    struct err *(*make)(void *context, const char *path), void *context)
{
	const char *directory = getenv("TMPDIR") && *getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
	CLEAN(str_deinit) struct str folder = { 0 };
	CLEAN(str_deinit) struct str path = { 0 };
	struct err *err;

	str_printf(&folder, "%s/memtape-XXXXXX", directory);
	if (folder.failed)
		return err_nomem();
	if (!mkdtemp(folder.ptr))
		return err_errno("%s", folder.ptr);
	str_printf(&path, "%s/now.mtape", folder.ptr);
	err = path.failed ? err_nomem() : make(context, str_text(&path));
	if (!err)
		err = brief_show(brief, str_text(&path));
	unlink(str_text(&path));
	rmdir(folder.ptr);
	return err;
}
