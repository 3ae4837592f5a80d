#include "tapes/tapes.h"

static const char *const kind_words[] = { "tape", "session", "unreadable", NULL };

static const struct member row_members[] = {
	MEMBER(struct tapes_row, id, TEXT, "of the recording; of a session, of its folder",
	       .is_wide = true),
	MEMBER(struct tapes_row, path, TEXT, NULL, .is_wide = true),
	MEMBER(struct tapes_row, kind, TEXT, NULL, .words = kind_words, .left = true),
	MEMBER(struct tapes_row, live, FLAG, "whether it is being written, or received"),
	MEMBER(struct tapes_row, link, FLAG, "whether its name is a symbolic link",
	       .is_wide = true),
	MEMBER(struct tapes_row, program, TEXT, NULL, .left = true, .nullable = true),
	MEMBER(struct tapes_row, host, TEXT, "if its name or its manifest says so", .left = true,
	       .nullable = true),
	MEMBER(struct tapes_row, pid, PLAIN, NULL, .title = "PID", .nullable = true),
	MEMBER(struct tapes_row, age_ns, NS, "since it was last written", .title = "age"),
	MEMBER(struct tapes_row, duration_ns, NS, "how long was recorded", .title = "recorded",
	       .nullable = true),
	MEMBER(struct tapes_row, size_bytes, BYTES, "on the disk, with its index and spool",
	       .title = "size"),
	MEMBER(struct tapes_row, peak_bytes, BYTES, "most that was live", .title = "peak",
	       .nullable = true),
	MEMBER(struct tapes_row, live_bytes, BYTES, "at the end, or so far", .title = "at the end",
	       .nullable = true),
	MEMBER(struct tapes_row, end, TEXT, "exited 0, killed by SIGKILL ...", .left = true,
	       .nullable = true),
	MEMBER(struct tapes_row, tape_count, COUNT, "of a session: its tapes", .title = "tapes",
	       .nullable = true),
	MEMBER(struct tapes_row, begin_realtime_ns, TEXT,
	       "when it began, since 1970; a text, for it is more than 2^53", .is_data = true,
	       .nullable = true),
	MEMBER(struct tapes_row, release, TEXT, "the program's build-id", .nullable = true,
	       .is_wide = true),
	MEMBER(struct tapes_row, command, TEXT, "its arguments; the first 1,024 bytes of them",
	       .nullable = true, .is_wide = true),
	MEMBER(struct tapes_row, curve, NUMBERS,
	       "most that was live in each of equal parts of the duration; empty: not read yet",
	       .is_data = true),
	MEMBER(struct tapes_row, trouble, TEXT, "why it could not be read", .left = true,
	       .nullable = true, .is_wide = true),
	MEMBER(struct tapes_row, file, TEXT, "its name without folders", .title = "name",
	       .left = true, .elastic = true),
};
static const struct shape shape_row = SHAPE("FolderTape", struct tapes_row, row_members);

static const struct member tapes_members[] = {
	MEMBER(struct tapes_answer, folder, TEXT, "its path"),
	MEMBER(struct tapes_answer, count, COUNT, "tapes and sessions in it, without links"),
	MEMBER(struct tapes_answer, size_bytes, BYTES, "of these, on the disk"),
	MEMBER(struct tapes_answer, match_count, COUNT, "that were asked for, also beyond `limit`"),
	MEMBER(struct tapes_answer, unread, COUNT, "of which more will be known in a moment"),
	MEMBER(struct tapes_answer, tapes, ROWS, NULL, .shape = &shape_row),
};
const struct shape shape_tapes = SHAPE("FolderTapes", struct tapes_answer, tapes_members);
