/*
 * /api/v1/export/report.html: the page of `memtape report --html`. It comes from a tape that is opened once more, by itself: what
 * the page's requests are answered with is of one moment, and nothing of the other tapes of the server can get into it.
 */
#include <stdlib.h>

#include "http/html_report.h"

#include "http/api_parts.h"
#include "http/server.h"

static struct err *run(struct call *call)
{
	const struct tape_source *source = call->tape->source;
	const struct html_report report = {
		.tape_path = source->path,
		.symbols = &call->loaded->symbols,
		.suppressions = source->suppressions,
		.version = call->server->settings.version,
		.max_bytes = HTML_REPORT_BYTES,
		.home = getenv("HOME"),
	};

	call->file_name = api_file_name(call, "html");
	return call->file_name ? html_report_write(&report, call->out) : err_nomem();
}

const struct route route_api_html = {
	.path = HTML_REPORT_PATH,
	.summary = "the app with this tape as one file, which needs no server",
	.type = "application/octet-stream",
	.flags = ROUTE_TAPE | ROUTE_FILE,
	.run = run,
};
