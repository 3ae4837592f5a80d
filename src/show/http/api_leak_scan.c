/*
 * /api/v1/leak-scan: looks for leaks while the recording goes on.
 */
#include <time.h>

#include "http/call.h"
#include "http/server.h"

enum { ASK_AGAIN_NS = 50 * 1000 * 1000 };

struct leak_scan_made {
	uint64_t scan, pause_ns;
};

static const struct member scan_members[] = {
	MEMBER(struct leak_scan_made, scan, PLAIN, "its number on the tape"),
	MEMBER(struct leak_scan_made, pause_ns, NS, "how long the program stood still"),
};
static const struct shape shape_scan = SHAPE("LeakScanMade", struct leak_scan_made, scan_members);

/* Marks, pauses and stops are not kept waiting meanwhile. */
static struct err *find(struct call *call, void *answer)
{
	struct leak_scan_made *made = answer;
	struct control_word word = { 0 };
	struct err *err = control_scan(server_control(call->server), 0, &word);

	while (!err && word.is_scanning) {
		err = call_check(call);
		if (err)
			return err_wrap(err, "the leak scan goes on");
		nanosleep(&(struct timespec) { .tv_nsec = ASK_AGAIN_NS }, NULL);
		err = control_scan(server_control(call->server), word.scan, &word);
	}
	made->scan = word.scan;
	made->pause_ns = word.pause_ns;
	return err;
}

const struct route route_api_leak_scan = {
	.path = "/api/v1/leak-scan",
	.summary = "looks for leaks in what `memtape record --serve` records, now",
	.shape = &shape_scan,
	.flags = ROUTE_POST | ROUTE_UNCACHED | ROUTE_PATIENT,
	.find = find,
};
