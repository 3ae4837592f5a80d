#include "convert/valgrind_place.h"

#include "convert/scan.h"

void valgrind_place_deinit(struct valgrind_place *place)
{
	str_deinit(&place->function);
	str_deinit(&place->file);
	str_deinit(&place->object);
}

static bool is_number(const char *begin, const char *end)
{
	for (const char *at = begin; at < end; at++)
		if (*at < '0' || *at > '9')
			return false;
	return begin < end;
}

/* The colon before the line in "(t.c:10)", or in "(t.rs:10:5)", where a column follows. */
static const char *line_colon(const char *begin, const char *end)
{
	const char *last = memrchr(begin, ':', (size_t)(end - begin));
	const char *before = last ? memrchr(begin, ':', (size_t)(last - begin)) : NULL;

	return before && is_number(before + 1, last) && is_number(last + 1, end) ? before : last;
}

/* "main (t.c:10)", "malloc (in /usr/lib/x.so)", "???" */
static void place_name(struct valgrind_place *place, const char *text)
{
	const size_t len = strlen(text);
	const char *end = len > 0 && text[len - 1] == ')' ? text + len - 1 : NULL;
	const char *begin = NULL, *colon;
	uint64_t line;

	for (const char *at = strstr(text, " ("); at && end; at = strstr(at + 1, " (")) {
		begin = at;
		if (strncmp(at, " (in ", 5) == 0)
			break; /* a path may contain anything */
	}
	str_add_bytes(&place->function, text, begin ? (size_t)(begin - text) : len);
	if (!begin)
		return;
	if (strncmp(begin, " (in ", 5) == 0) {
		str_add_bytes(&place->object, begin + 5, (size_t)(end - begin - 5));
		return;
	}
	colon = line_colon(begin, end);
	text = colon ? colon + 1 : end;
	if (colon && scan_number(&text, &line) && (text == end || *text == ':') &&
	    line <= UINT32_MAX) {
		str_add_bytes(&place->file, begin + 2, (size_t)(colon - begin - 2));
		place->line = (uint32_t)line;
	} else { /* "operator() (int)": part of the name */
		str_add_bytes(&place->function, begin, strlen(begin));
	}
}

void valgrind_place_read(struct valgrind_place *place, const char *text)
{
	uint64_t address = 0;
	const char *at = text;

	str_clear(&place->function);
	str_clear(&place->file);
	str_clear(&place->object);
	place->line = 0;
	if (!scan_text(&at, "0x") || !scan_hex(&at, &address) || !scan_text(&at, ": "))
		at = text;
	place_name(place, at);
	if (at > text && strcmp(str_text(&place->function), "???") == 0) {
		str_clear(&place->function);
		str_add_hex(&place->function, address);
	}
}

uint32_t valgrind_place_frame(const struct valgrind_place *place, struct composer *composer)
{
	const struct compose_name name = { .function = str_text(&place->function),
					   .file = place->file.len ? place->file.ptr : NULL,
					   .line = place->line };
	struct compose_frame frame = { .names = &name, .name_count = 1 };

	if (place->object.len > 0)
		frame.module = composer_module(
			composer, &(struct compose_module) { .path = place->object.ptr });
	return composer_frame(composer, &frame);
}

bool valgrind_place_is_own(const struct valgrind_place *place)
{
	const char *slash = strrchr(str_text(&place->object), '/');
	const char *at = slash ? slash + 1 : str_text(&place->object);

	return scan_text(&at, "vgpreload_");
}
