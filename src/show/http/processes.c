#include "http/processes.h"

static const struct member process_members[] = {
	MEMBER(struct process_row, pid, PLAIN, NULL, .title = "PID"),
	MEMBER(struct process_row, user, TEXT, NULL, .left = true),
	MEMBER(struct process_row, rss_bytes, BYTES, "resident memory", .title = "RSS"),
	MEMBER(struct process_row, age_ns, NS, "how long it has run", .title = "Running for"),
	MEMBER(struct process_row, start_realtime_ns, TEXT,
	       "when it began, since 1970; a text, for it is more than 2^53", .is_data = true),
	MEMBER(struct process_row, obstacle, TEXT,
	       "why it cannot be attached to, in a word; null: it can be", .title = "Obstacle",
	       .left = true, .nullable = true),
	MEMBER(struct process_row, name, TEXT, "of its program's file", .left = true),
	MEMBER(struct process_row, command, TEXT, "its arguments", .left = true, .elastic = true),
	MEMBER(struct process_row, refusal, TEXT, "the same in a sentence, of `memtape attach`",
	       .nullable = true, .is_wide = true),
	MEMBER(struct process_row, tape, TEXT, "where memtape records it; null: it does not",
	       .nullable = true, .is_wide = true),
};
static const struct shape shape_process = SHAPE("Process", struct process_row, process_members);

static const struct member list_members[] = {
	MEMBER(struct process_list, processes, ROWS, "those that use the most memory first",
	       .shape = &shape_process),
};
const struct shape shape_process_list = SHAPE("ProcessList", struct process_list, list_members);
