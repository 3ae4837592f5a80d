/* The frames as JSON, for the script that is behind them. */
#include "plot/flame_assets.h"
#include "plot/flame_parts.h"

/* As JSON, which stands in XML: escaped twice. */
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
	str_add_char(picture->out, ']');
}

static void data_facts(struct flame_picture *picture)
{
	const struct flame_settings *settings = picture->settings;

	str_add(picture->out, "{\"metric\":");
	add_json(picture,
		 settings->is_time ? "time in the allocator" : metric_title(picture->metric));
	str_printf(picture->out,
		   ",\"is_diff\":%s,\"scale\":%llu,\"is_bytes\":%s,\"is_time\":%s,\"icicle\":%s,"
		   "\"is_inverted\":%s,\n"
		   "\"layout\":{\"row\":%d,\"margin\":%d,\"top\":%d,\"char\":%d.%d,"
		   "\"width\":%d,\"width_min\":640,\"height\":%u},\n",
		   picture->is_diff ? "true" : "false", (unsigned long long)picture->scale,
		   metric_is_bytes(picture->metric) ? "true" : "false",
		   settings->is_time ? "true" : "false", settings->is_icicle ? "true" : "false",
		   settings->is_inverted ? "true" : "false", FLAME_ROW, FLAME_MARGIN, FLAME_TOP,
		   FLAME_CHAR_HUNDREDTHS / 100, FLAME_CHAR_HUNDREDTHS % 100, FLAME_WIDTH,
		   flame_height(picture));
}

bool flame_data_write(struct flame_picture *picture)
{
	struct str *out = picture->out;

	str_add(out, "<g id=\"tip\" style=\"visibility:hidden\">"
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
