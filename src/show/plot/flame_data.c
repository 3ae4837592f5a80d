/* The frames as JSON, for the script after them. */
#include "plot/flame_assets.h"
#include "plot/flame_parts.h"

/* As JSON within XML: escaped twice. */
static void add_json(struct flame_picture *picture, const char *text)
{
	CLEAN(str_deinit) struct str json = { 0 };

	str_add_json(&json, text);
	str_add_xml(picture->out, str_text(&json));
	picture->out->failed |= json.failed;
}

static bool data_names(struct flame_picture *picture)
{
	uint64_t count = 0;

	str_add(picture->out, "\"names\":[\n");
	for (size_t i = 0; i < picture->layout.count; i++) {
		const struct name *name = picture->facts[i].name;
		uint64_t *place = map_put(&picture->name_numbers, (uintptr_t)name, NULL);

		if (!place)
			return false;
		if (*place)
			continue;
		*place = ++count;
		str_add(picture->out, count == 1 ? "[" : ",\n[");
		add_json(picture, name->function);
		str_add_char(picture->out, ',');
		add_json(picture, name->module);
		str_add_char(picture->out, ']');
	}
	str_add(picture->out, "],\n");
	return true;
}

/*
 * All metrics, regardless of the one drawn. One that is no member of sums is where temporary
 * allocations would be: these are then left out.
 */
static void data_sums(struct str *out, enum metric metric, const struct model_stack_sums *sums)
{
	const struct model_sum all[] = { sums->peak, sums->leaked, sums->allocated,
					 sums->temporary };
	const size_t count = array_size(all) - !metric_is_member(metric);

	for (size_t i = 0; i < count; i++)
		str_printf(out, "%s%llu,%llu", i ? "," : ",[", (unsigned long long)all[i].bytes,
			   (unsigned long long)all[i].count);
	str_add_char(out, ']');
}

static void data_frame(struct flame_picture *picture, size_t index)
{
	const struct flame_frame *frame = &picture->layout.frames[index];
	const struct flame_facts *facts = &picture->facts[index];
	const uint64_t *name = map_find(&picture->name_numbers, (uintptr_t)facts->name);
	int64_t file = -1;

	if (facts->file)
		file = interner_put(&picture->files, facts->file, strlen(facts->file));
	str_printf(picture->out, "[%d,%llu,%llu,%llu,%llu,%llu,%lld,%u",
		   frame->parent == UINT32_MAX ? -1 : (int)frame->parent,
		   (unsigned long long)*name - 1, (unsigned long long)frame->value,
		   (unsigned long long)facts->calls, (unsigned long long)facts->bytes,
		   (unsigned long long)facts->self, (long long)file, facts->line);
	if (picture->is_diff)
		str_printf(picture->out, ",%llu,%llu", (unsigned long long)facts->before,
			   (unsigned long long)facts->after);
	else if (facts->sums)
		data_sums(picture->out, picture->metric, facts->sums);
	str_add_char(picture->out, ']');
}

static void add_text(struct flame_picture *picture, const char *key, const char *text)
{
	str_add(picture->out, key);
	if (text)
		add_json(picture, text);
	else
		str_add(picture->out, "\"\"");
}

static const char *bool_word(bool value)
{
	return value ? "true" : "false";
}

static void data_facts(struct flame_picture *picture)
{
	const struct flame_settings *settings = picture->settings;
	const unsigned letter = flame_char_hundredths(picture);
	const char *metric = settings->is_time
				     ? "time in the allocator"
				     : metric_title_of(picture->metric, settings->goes_on);

	add_text(picture,
		 "{\"metric\":", settings->look.count_name ? settings->look.count_name : metric);
	add_text(picture, ",\"name_type\":", settings->look.name_type);
	str_printf(picture->out,
		   ",\"is_diff\":%s,\"scale\":%llu,\"is_bytes\":%s,\"is_time\":%s,\"icicle\":%s,"
		   "\"is_inverted\":%s,\"is_moment\":%s,\"is_retained\":%s,\"is_stale\":%s,\"is_"
		   "kernel\":%s,\n"
		   "\"layout\":{\"row\":%u,\"base\":%u,\"margin\":%d,\"top\":%u,\"char\":%u.%02u,"
		   "\"width\":%u,\"width_min\":%d,\"is_fixed\":%s,\"height\":%u},\n",
		   bool_word(picture->is_diff), (unsigned long long)picture->scale,
		   bool_word(metric_is_bytes(picture->metric)), bool_word(settings->is_time),
		   bool_word(settings->is_icicle), bool_word(settings->is_inverted),
		   bool_word(settings->is_moment), bool_word(picture->metric == METRIC_RETAINED),
		   bool_word(picture->metric == METRIC_STALE),
		   bool_word(metric_is_of_kernel(picture->metric)), picture->row,
		   flame_baseline(picture), FLAME_MARGIN, picture->top, letter / 100, letter % 100,
		   picture->width, FLAME_WIDTH_MIN, bool_word(settings->look.width > 0),
		   flame_height(picture));
}

bool flame_data_write(struct flame_picture *picture)
{
	struct str *out = picture->out;

	str_add(out, "<g id=\"tip\" visibility=\"hidden\">"
		     "<rect width=\"430\" height=\"10\" rx=\"8\"/><g/></g>\n"
		     "<script type=\"application/json\" id=\"data\">");
	data_facts(picture);
	if (!data_names(picture))
		return false;
	str_add(out, "\"frames\":[");
	for (size_t i = 0; i < picture->layout.count; i++) {
		str_add(out, i ? ",\n" : "\n");
		data_frame(picture, i);
	}
	str_add(out, "],\n\"files\":[");
	for (uint32_t i = 0; i < picture->files.count; i++) {
		str_add(out, i ? ",\n" : "\n");
		add_json(picture, picture->files.texts[i]);
	}
	str_add(out, "]}\n</script>\n<script><![CDATA[\n");
	str_add(out, flame_js);
	str_add(out, "]]></script>\n");
	return true;
}
