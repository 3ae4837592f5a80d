/*
 * speedscope's file: frames once, and a profile of weighted stacks per metric, selectable on its
 * page. The one named by --metric is shown first. Stacks that look the same are merged, because a
 * browser reads the whole file at once.
 */
#include "export/paths.h"
#include "export/text_file.h"

static void frames_write(struct text_file *file, const struct paths *paths)
{
	str_add(&file->text, ",\n\"shared\":{\"frames\":[");
	for (uint32_t i = 0; i < paths->frames.count && text_file_step(file); i++) {
		const struct path_frame *frame = &paths->frames.items[i];

		text_file_json(
			file, i ? ",\n{\"name\":" : "\n{\"name\":", paths_name(paths, i)->function);
		if (frame->file)
			text_file_json(file, ",\"file\":", frame->file);
		if (frame->line)
			text_file_u64(file, ",\"line\":", frame->line);
		str_add_char(&file->text, '}');
	}
	str_add(&file->text, "\n]}");
}

static void samples_write(struct text_file *file, struct paths *paths, enum metric metric)
{
	const char *before = "";

	str_add(&file->text, ",\n\"samples\":[");
	for (uint32_t i = 0; i < paths->nodes.count && text_file_step(file); i++) {
		const struct vec_u32 *path;

		if (metric_value(metric, &paths->nodes.items[i].self) == 0)
			continue;
		path = paths_frames(paths, i);
		str_add(&file->text, before);
		before = ",\n";
		for (size_t at = 0; at < path->count; at++)
			text_file_u64(file, at ? "," : "[", path->items[at]);
		str_add_char(&file->text, ']');
	}
	str_add(&file->text, "],\n\"weights\":[");
	before = "";
	for (uint32_t i = 0; i < paths->nodes.count && text_file_step(file); i++) {
		const uint64_t value = metric_value(metric, &paths->nodes.items[i].self);

		if (value == 0)
			continue;
		text_file_u64(file, before, value);
		before = ",";
	}
	str_add(&file->text, "]}");
}

static void profile_write(struct text_file *file, struct paths *paths, enum metric metric)
{
	const uint64_t total = metric_value(metric, &paths->context->sums.total);

	text_file_json(file,
		       metric ? ",\n{\"type\":\"sampled\",\"name\":"
			      : "\n{\"type\":\"sampled\",\"name\":",
		       metric_title(metric));
	str_add(&file->text,
		metric_is_bytes(metric) ? ",\"unit\":\"bytes\"" : ",\"unit\":\"none\"");
	text_file_u64(file, ",\"startValue\":0,\"endValue\":", total);
	samples_write(file, paths, metric);
}

static struct err *speedscope_write(const struct export_context *context, FILE *out)
{
	CLEAN(paths_deinit) struct paths paths = { .context = context };
	struct text_file file = { .out = out };
	struct err *err = paths_build(&paths, &context->sums);

	if (err)
		return err;
	str_add(&file.text, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\"");
	text_file_json(&file, ",\n\"name\":", names_short_path(model_process(context->model)->exe));
	text_file_u64(&file, ",\"exporter\":\"memtape\",\"activeProfileIndex\":", context->metric);
	frames_write(&file, &paths);
	str_add(&file.text, ",\n\"profiles\":[");
	for (int metric = 0; metric < METRICS; metric++)
		profile_write(&file, &paths, (enum metric)metric);
	str_add(&file.text, "\n]}\n");
	file.text.failed |= paths.failed;
	return text_file_end(&file);
}

const struct export_format export_speedscope = {
	.name = "speedscope",
	.summary = "speedscope's file, with a flame graph for every metric",
	.suffix = ".speedscope.json",
	.kind = EXPORT_SUMS,
	.depth = MODEL_SUMMARY,
	.write = speedscope_write,
};
