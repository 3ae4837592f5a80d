/* written_tape: the model of a tape that a test has written. */
#ifndef MEMTAPE_UNIT_MODEL_WRITTEN_TAPE_H
#define MEMTAPE_UNIT_MODEL_WRITTEN_TAPE_H

#include "../tape_writer.h"
#include "row_value.h"

/* Ends the writer; the file is gone. */
static inline struct model *load(struct writer *writer, enum model_depth depth)
{
	struct model *model = NULL;
	char path[64];

	writer_path(path);
	writer_save(writer, path);
	assert_null(model_load(path, depth, &model));
	unlink(path);
	return model;
}

#endif
