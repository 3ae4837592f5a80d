/*
 * sum: blocks and their bytes, as used in results.
 */
#ifndef MEMTAPE_ANSWER_SUM_H
#define MEMTAPE_ANSWER_SUM_H

#include "answer/shape.h"
#include "model/model.h"

/* struct model_sum as {"count", "bytes"} */
extern const struct shape shape_sum;

#endif
