#include "query/sums.h"

struct sums sums_of_model(const struct model *model)
{
	return (struct sums) {
		.model = model,
		.stacks = model_stack_sums(model),
		.total = metric_totals(model),
	};
}
