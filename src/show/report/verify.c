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

struct err *verification_write(const struct verification *found, const char *tape, FILE *out)
{
	CLEAN(str_deinit) struct str text = { 0 };

	for (size_t i = 0; i < found->damage.count; i++)
		add_damage(&text, tape, &((const struct damage *)found->damage.items)[i]);
	str_add_terminal(&text, tape);
	str_add(&text, found->sound ? ": sound, " : ": damaged; readable are ");
	str_add_grouped(&text, found->events);
	str_add(&text, " events in ");
	str_add_grouped(&text, found->chunks);
	str_add(&text, " chunks, ");
	str_add_iec(&text, found->file_bytes);
	if (found->open_chunks > 0) {
		str_add(&text, "; ");
		str_add_grouped(&text, found->open_chunks);
		str_add(&text, " chunks were never closed (killed, or still running)");
	}
	str_add_char(&text, '\n');
	if (found->killed) {
		str_add(&text, found->killed);
		str_add_char(&text, '\n');
	}
	if (text.failed)
		return err_nomem();
	return fwrite(text.ptr, 1, text.len, out) == text.len ? NULL : err_errno("write");
}

static struct err *text(const struct report_context *context, const void *answer, FILE *out)
{
	const char *tape = context->settings->tape_path;

	return verification_write(answer, tape ? tape : "the tape", out);
}

const struct report report_verify = {
	.question = &question_verify,
	.text = text,
};
