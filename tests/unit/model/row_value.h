/* row_value: a value of a model's row, for tests. */
#ifndef MEMTAPE_UNIT_MODEL_ROW_VALUE_H
#define MEMTAPE_UNIT_MODEL_ROW_VALUE_H

#include "model/model.h"

static inline uint64_t get(const struct model *model, enum model_column column, uint64_t row)
{
	uint64_t value;

	model_rows_read(model, column, row, 1, &value);
	return value;
}

#endif
