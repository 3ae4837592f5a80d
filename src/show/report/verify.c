#include "questions/questions.h"
#include "report/verification.h"

static void add_damage(struct str *out, const char *tape, const struct damage *damage)
{
	str_add_terminal(out, tape);
	str_add(out, ": at byte ");
	str_add_u64(out, damage->offset);
	str_add(out, ": ");
	str_add_terminal(out, damage->text);
	str_add_char(out, '\n');
}

struct err *verification_write(const struct verification *found, const char *tape, unsigned width,
			       FILE *out)
{
	CLEAN(str_deinit) struct str text = { 0 };
	CLEAN(str_deinit) struct str folded = { 0 };

	for (size_t i = 0; i < found->damage.count; i++)
		add_damage(&text, tape, &((const struct damage *)found->damage.items)[i]);
	str_add_terminal(&text, tape);
	str_add(&text, found->sound ? ": sound, " : ": damaged; readable are ");
	str_add_counted(&text, found->events, "event");
	str_add(&text, " in ");
	str_add_counted(&text, found->chunks, "chunk");
	str_add(&text, ", ");
	str_add_iec(&text, found->file_bytes);
	if (found->open_chunks > 0) {
		str_add(&text, "; ");
		str_add_counted(&text, found->open_chunks, "chunk");
		str_add(&text, " never closed (killed, or still running)");
	}
	str_add_char(&text, '\n');
	if (found->killed) {
		str_add(&text, found->killed);
		str_add_char(&text, '\n');
	}
	str_add_wrapped(&folded, str_text(&text), width);
	if (text.failed || folded.failed)
		return err_nomem();
	return fwrite(folded.ptr, 1, folded.len, out) == folded.len ? NULL : err_errno("write");
}

static struct err *text(const struct report_context *context, const void *answer, FILE *out)
{
	const char *tape = context->settings->tape_path;

	return verification_write(answer, tape ? tape : "the tape", context->settings->width, out);
}

const struct report report_verify = {
	.question = &question_verify,
	.text = text,
};
