#include "cli/diff_times.h"

#include <stdlib.h>
#include <string.h>

#include "compare/diff.h"
#include "select/moment.h"

/* Past "mark(NAME)", whose name may contain anything. */
static const char *mark_end(const char *text)
{
	const char *end = strchr(text, ')');

	while (end && end[1] && end[1] != ',' && strncmp(end + 1, "..", 2) != 0)
		end = strchr(end + 1, ')');
	return end ? end + 1 : text + strlen(text);
}

static const char *comma_find(const char *text)
{
	while (*text && *text != ',')
		text = strncmp(text, "mark(", strlen("mark(")) == 0 ? mark_end(text) : text + 1;
	return *text ? text : NULL;
}

struct err *diff_times_split(const char *text, char **texts)
{
	const char *comma = comma_find(text);

	texts[DIFF_A] = comma ? strndup(text, (size_t)(comma - text)) : strdup(text);
	texts[DIFF_B] = strdup(comma ? comma + 1 : text);
	return texts[DIFF_A] && texts[DIFF_B] ? NULL : err_nomem();
}

struct err *diff_span_split(const char *text, char **ends)
{
	const char *dots = strstr(text, "..");
	struct moment_span span;
	struct err *err = moment_span_parse(text, &span);

	if (err)
		return err;
	if (dots > text)
		ends[0] = strndup(text, (size_t)(dots - text));
	if (dots[2])
		ends[1] = strdup(dots + 2);
	return (dots > text && !ends[0]) || (dots[2] && !ends[1]) ? err_nomem() : NULL;
}
