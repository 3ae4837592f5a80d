#include "export/text_file.h"

#include <assert.h>

enum { PIECE_BYTES = 1 << 16 };

static void flush(struct text_file *file)
{
	struct str *text = &file->text;

	if (text->failed && !file->err)
		file->err = err_nomem();
	if (!file->err && text->len > 0 && fwrite(text->ptr, 1, text->len, file->out) != text->len)
		file->err = err_errno("write");
	text->len = 0;
}

bool text_file_step(struct text_file *file)
{
	assert(file->out);
	if (file->text.len >= PIECE_BYTES || file->text.failed)
		flush(file);
	return !file->err;
}

struct err *text_file_end(struct text_file *file)
{
	assert(file->out);
	flush(file);
	str_deinit(&file->text);
	return steal(file->err);
}
