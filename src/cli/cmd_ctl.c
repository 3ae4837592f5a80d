/*
 * ctl: controls a recording that is under way, from another terminal or a script.
 */
#include <stdio.h>

#include "answer/speak.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/pid_operand.h"
#include "capture/pack.h"
#include "collect/ctl.h"
#include "collect/so_far.h"

struct ctl_options {
	const char *output;
	bool force;
	bool json;
	bool quiet;
};

static const struct option_row rows[] = {
	{ "output", 'o', "FILE", OPTION_TEXT, offsetof(struct ctl_options, output),
	  "with snapshot: save what is recorded so far as a tape of its own" },
	OUTPUT_FORCE_OPTION(struct ctl_options, force),
	{ "json", 'j', NULL, OPTION_FLAG, offsetof(struct ctl_options, json), "print JSON" },
	{ "quiet", 'q', NULL, OPTION_FLAG, offsetof(struct ctl_options, quiet),
	  "print errors only" },
};

/* What can be said to a recording, and what is said when it has been done. */
struct word {
	const char *name;
	enum ctl_command command;
	bool has_text;
	const char *text; /* of its mark, where none is given */
	const char *done, *unchanged;
};

static const struct word words[] = {
	{ "status", CTL_STATUS, false, "", NULL, NULL },
	{ "start", CTL_START, false, "", "allocations are recorded again",
	  "allocations are recorded already" },
	{ "stop", CTL_STOP, false, "", "allocations are recorded no more, until `start`",
	  "it is paused already" },
	{ "mark", CTL_MARK, true, "", "marked", NULL },
	{ "snapshot", CTL_SNAPSHOT, true, "snapshot", "resident memory was looked at, and marked",
	  NULL },
	{ "leak-scan", CTL_LEAK_SCAN, false, "", "scanned for leaks", NULL },
};

/* --- status ---------------------------------------------------------------------------------- */

struct status {
	uint64_t pid;
	const char *name, *state, *tape;
	uint64_t duration_ns, tape_bytes, events, lost_events, rss_bytes, leak_scans, memtape_pid;
	bool attached;
};

static const char *const state_words[] = { "recording", "paused", "ended", NULL };

static const struct member status_members[] = {
	MEMBER(struct status, pid, PLAIN, "of the recorded process"),
	MEMBER(struct status, name, TEXT, "of its program"),
	MEMBER(struct status, state, TEXT, NULL, .words = state_words),
	MEMBER(struct status, attached, FLAG, "recording began while it ran"),
	MEMBER(struct status, duration_ns, NS, "since recording began", .title = "Recorded for"),
	MEMBER(struct status, events, COUNT, "on the tape so far", .nullable = true),
	MEMBER(struct status, lost_events, COUNT, "not on it, for lack of space"),
	MEMBER(struct status, tape_bytes, BYTES, NULL, .title = "Tape"),
	MEMBER(struct status, rss_bytes, BYTES, "of the last sample", .title = "RSS",
	       .nullable = true),
	MEMBER(struct status, leak_scans, COUNT, NULL),
	MEMBER(struct status, memtape_pid, PLAIN,
	       "of the memtape that records; 0: the process does so itself"),
	MEMBER(struct status, tape, TEXT, "its path"),
};
static const struct shape shape_status = SHAPE("CtlStatus", struct status, status_members);

static void name_read(pid_t pid, char name[STR_SHORT_BYTES])
{
	char path[STR_SHORT_BYTES];
	CLEAN(fclose)
	FILE *file = fopen(str_format(path, sizeof(path), "/proc/%d/comm", (int)pid), "re");

	name[0] = '\0';
	if (file && fgets(name, STR_SHORT_BYTES, file))
		name[strcspn(name, "\n")] = '\0';
}

static struct err *status_write(pid_t pid, const struct ctl_reply *reply, bool is_json)
{
	char name[STR_SHORT_BYTES];
	const struct status status = {
		.pid = (uint64_t)pid,
		.name = name,
		.state = !reply->is_recording ? "ended"
			 : reply->is_paused   ? "paused"
					      : "recording",
		.attached = reply->is_attached,
		.tape = reply->tape_path,
		.duration_ns = reply->duration_ns,
		.tape_bytes = reply->tape_bytes,
		.events = reply->event_count == UINT64_MAX ? SHAPE_NONE : reply->event_count,
		.lost_events = reply->missing_count,
		.rss_bytes = reply->rss_bytes == UINT64_MAX ? SHAPE_NONE : reply->rss_bytes,
		.leak_scans = reply->scan_count,
		.memtape_pid = reply->collector_pid,
	};
	CLEAN(emit_destroy)
	struct emit *emit = emit_create(
		stdout, &(struct emit_settings) { .format = is_json ? EMIT_JSON : EMIT_TEXT });
	const struct speaker speaker = { .emit = emit, .is_document = true };
	struct err *err;

	name_read(pid, name);
	err = emit ? speak_object(&speaker, &shape_status, &status) : err_nomem();
	return err ? err : emit_finish(emit);
}

/* --- which recording ------------------------------------------------------------------------- */

static struct err *list_write(const pid_t *pids, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char name[STR_SHORT_BYTES];

		name_read(pids[i], name);
		printf("%d %s\n", (int)pids[i], name);
	}
	return count > 0 ? NULL : err_new(ERR_NOT_FOUND, "no process is being recorded");
}

/* ERR_NOT_FOUND: none of that name is recorded; ERR_USAGE: several are. */
static struct err *find_named(const char *name, pid_t *pid_ret)
{
	CLEAN(free) pid_t *pids = NULL;
	CLEAN(str_deinit) struct str others = { 0 };
	size_t count = 0, found = 0;
	struct err *err = ctl_list(&pids, &count);

	for (size_t i = 0; i < count && !err; i++) {
		char own[STR_SHORT_BYTES];

		name_read(pids[i], own);
		if (strcmp(own, name) != 0)
			continue;
		*pid_ret = pids[i];
		str_printf(&others, "%s%d", found++ ? ", " : "", (int)pids[i]);
	}
	if (err || found == 1)
		return err;
	return found ? err_new(ERR_USAGE, "several processes called %s are recorded: %s", name,
			       str_text(&others))
		     : err_new(ERR_NOT_FOUND,
			       "no process called %s is being recorded; `memtape ctl` lists those "
			       "that are",
			       name);
}

static struct err *process_find(char *operand, pid_t *pid_ret)
{
	if (strspn(operand, "0123456789") == strlen(operand))
		return pid_operand(1, &operand, pid_ret);
	return find_named(operand, pid_ret);
}

/* --- what is said to it ---------------------------------------------------------------------- */

static struct err *word_find(const char *text, const struct word **word_ret)
{
	CLEAN(str_deinit) struct str names = { 0 };

	for (size_t i = 0; i < array_size(words); i++) {
		if (strcmp(words[i].name, text) == 0) {
			*word_ret = &words[i];
			return NULL;
		}
		str_printf(&names, "%s%s", i ? ", " : "", words[i].name);
	}
	return err_new(ERR_USAGE, "%s is none of %s", text, str_text(&names));
}

static struct err *request_make(const struct ctl_options *options, const struct word *word,
				int text_count, char **texts, struct ctl_request *request)
{
	const char *text = text_count > 0 ? texts[0] : word->text;

	if (text_count > 1 || (text_count == 1 && !word->has_text))
		return err_new(ERR_USAGE, "%s takes %s", word->name,
			       word->has_text ? "one text; quote it" : "no text");
	if (word->command == CTL_MARK && text_count == 0)
		return err_new(ERR_USAGE, "mark needs a text");
	if (strlen(text) >= sizeof(request->text))
		return err_new(ERR_USAGE, "the text has more than %zu bytes",
			       sizeof(request->text) - 1);
	if (options->output && word->command != CTL_SNAPSHOT)
		return err_new(ERR_USAGE, "--output is for snapshot");
	*request = (struct ctl_request) { .magic = CTL_MAGIC,
					  .version = CTL_VERSION,
					  .command = word->command,
					  .heuristics = CTL_USUAL,
					  .wants_copy = options->output != NULL };
	strcpy(request->text, text);
	return NULL;
}

static struct err *done_write(const struct word *word, pid_t pid, const struct ctl_reply *reply)
{
	CLEAN(str_deinit) struct str text = { 0 };

	str_printf(&text, "process %d: %s", (int)pid,
		   reply->result == CTL_UNCHANGED && word->unchanged ? word->unchanged
								     : word->done);
	if (word->command == CTL_LEAK_SCAN) {
		str_add(&text, "; it stood still for ");
		str_add_duration(&text, reply->pause_ns);
		str_printf(&text, ". `memtape report %s leak-classes` has the result",
			   reply->tape_path);
	}
	fprintf(stderr, "memtape: %s\n", str_text(&text));
	return NULL;
}

static struct err *speak_to(const struct ctl_options *options, int operand_count, char **operands)
{
	const struct word *word = &words[0];
	struct ctl_request request;
	struct ctl_reply reply;
	pid_t pid = 0;
	struct err *err = NULL;

	if (operand_count > 1)
		err = word_find(operands[1], &word);
	if (!err)
		err = request_make(options, word, operand_count > 2 ? operand_count - 2 : 0,
				   operands + 2, &request);
	if (!err)
		err = output_check_file(options->output, options->force);
	if (!err)
		err = process_find(operands[0], &pid);
	if (!err)
		err = options->output ? so_far_snapshot(pid, &request, options->output,
							CAPTURE_PACK_LEVEL, &reply)
				      : ctl_call(pid, &request, &reply, NULL);
	if (!err && reply.result == CTL_REFUSED)
		err = err_new(ERR_STATE, "process %d: %s", (int)pid, reply.text);
	if (err)
		return err;
	if (options->json || (word->command == CTL_STATUS && !options->quiet))
		return status_write(pid, &reply, options->json);
	return options->quiet ? NULL : done_write(word, pid, &reply);
}

static struct err *ctl_run(const struct command *command, int argc, char **argv, int *exit_code)
{
	struct ctl_options options = { 0 };
	CLEAN(free) pid_t *pids = NULL;
	int operand_count = 0;
	size_t count = 0;
	struct err *err = options_parse(&command->options, argc, argv, &options, &operand_count);

	(void)exit_code;
	if (err)
		return err;
	if (operand_count > 0)
		return speak_to(&options, operand_count, argv + 1);
	err = ctl_list(&pids, &count);
	return err ? err : list_write(pids, count);
}

const struct command cmd_ctl = {
	.name = "ctl",
	.summary = "pause, resume, mark or scan a recording that is under way",
	.options = {
		.usage = "memtape ctl [options] PID|NAME [status|start|stop|mark TEXT|snapshot [TEXT]|leak-scan]\n"
			 "       memtape ctl",
		.about = "Controls the recording of process PID, or of the one recorded process called NAME, which memtape record, or memtape attach, has under way. Without operands, lists the processes that are being recorded.",
		.rows = rows,
		.row_count = array_size(rows),
	},
	.run = ctl_run,
};
