/*
 * CSV (RFC 4180): a row per call site - the line of the innermost function that is not allocation
 * machinery - with all sums, sorted by the metric in descending order.
 */
#include "base/sort.h"
#include "export/paths.h"
#include "export/text_file.h"

static const enum metric shown[] = {
	METRIC_COUNT,	     METRIC_ALLOCATED, METRIC_PEAK_COUNT, METRIC_PEAK,
	METRIC_LEAKED_COUNT, METRIC_LEAKED,    METRIC_TEMPORARY,  METRIC_TEMPORARY_BYTES,
};

static void row_write(struct text_file *file, const struct paths *paths,
		      const struct path_node *node)
{
	const struct path_frame *frame = &paths->frames.items[node->frame];
	const struct name *name = paths_name(paths, node->frame);
	struct str *text = &file->text;

	str_add_csv(text, name->function);
	str_add_char(text, ',');
	str_add_csv(text, frame->file ? frame->file : "");
	str_add_char(text, ',');
	if (frame->line)
		str_add_u64(text, frame->line);
	str_add_char(text, ',');
	str_add_csv(text, name->module);
	text_file_u64(file, ",", node->stack_count);
	for (size_t i = 0; i < array_size(shown); i++)
		text_file_u64(file, ",", metric_value(shown[i], &node->self));
	str_add(text, "\r\n");
}

static int compare(const void *context, const void *a, const void *b)
{
	const enum metric *metric = context;
	const struct path_node *left = a, *right = b;

	return sort_compare_u64(metric_value(*metric, &right->self),
				metric_value(*metric, &left->self));
}

static struct err *csv_write(const struct export_context *context, FILE *out)
{
	CLEAN(paths_deinit)
	struct paths paths = {
		.context = context,
		.is_inverted = true,
		.depth_max = 1,
	};
	struct text_file file = { .out = out };
	struct err *err = paths_build(&paths, &context->sums);

	if (err)
		return err;
	if (!sort_stable(paths.nodes.items + 1, paths.nodes.count - 1, sizeof(*paths.nodes.items),
			 compare, &context->metric))
		return err_nomem();
	str_add(&file.text, "function,file,line,module,stacks");
	for (size_t i = 0; i < array_size(shown); i++)
		str_printf(&file.text, ",%s", metric_key(shown[i]));
	str_add(&file.text, "\r\n");
	for (size_t i = 1; i < paths.nodes.count && text_file_step(&file); i++)
		row_write(&file, &paths, &paths.nodes.items[i]);
	return text_file_end(&file);
}

const struct export_format export_csv = {
	.name = "csv",
	.summary = "a row for each call site with all sums, for spreadsheets and scripts",
	.suffix = ".csv",
	.kind = EXPORT_SUMS,
	.depth = MODEL_SUMMARY,
	.write = csv_write,
};
