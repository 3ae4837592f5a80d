#include "answer/sum.h"

static const struct member sum_members[] = {
	MEMBER(struct model_sum, count, COUNT, "blocks"),
	MEMBER(struct model_sum, bytes, BYTES, NULL),
};
const struct shape shape_sum = SHAPE("Sum", struct model_sum, sum_members);
