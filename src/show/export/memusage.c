/*
 * The data file of glibc's memusage, for memusagestat, plot-memusage and similar tools.
 */
#include "export/export.h"
#include "memusage/memusage_file.h"

static struct err *memusage_write(const struct export_context *context, FILE *out)
{
	const struct calls_settings settings = { 0 };
	const struct selection *selection = context->selection;
	CLEAN(free) struct calls *calls = malloc(sizeof(*calls));
	struct err *err;

	if (selection->bits || selection->from_ns > 0 || selection->until_ns < UINT64_MAX)
		return err_new(ERR_USAGE, "memusage: a data file is of a whole tape");
	err = calls ? calls_count(context->tape_path, &settings, calls) : err_nomem();
	return err ? err : memusage_file_write(context->tape_path, false, calls, out);
}

const struct export_format export_memusage = {
	.name = "memusage",
	.summary = "the data file of glibc's memusage, for memusagestat",
	.suffix = ".dat",
	.kind = EXPORT_COURSE,
	.depth = MODEL_SUMMARY,
	.write = memusage_write,
};
