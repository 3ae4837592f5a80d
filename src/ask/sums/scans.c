#include "sums/scans.h"

#include <inttypes.h>

const struct model_scan *scan_last(const struct model *model)
{
	const size_t count = model_scan_count(model);

	for (size_t i = count; i-- > 0;)
		if (!model_scan_get(model, i)->trouble[0])
			return model_scan_get(model, i);
	return count > 0 ? model_scan_get(model, count - 1) : NULL;
}

static struct err *no_such_scan(const struct model *model, uint64_t id)
{
	const size_t count = model_scan_count(model);

	if (count == 1)
		return err_new(ERR_NOT_FOUND, "no scan %" PRIu64 "; the tape has only scan %u", id,
			       model_scan_get(model, 0)->id);
	return err_new(ERR_NOT_FOUND, "no scan %" PRIu64 "; the tape has scans %u to %u", id,
		       model_scan_get(model, 0)->id, model_scan_get(model, count - 1)->id);
}

struct err *scan_choose(const struct model *model, uint64_t id, const struct model_scan **scan_ret)
{
	const struct model_scan *found = scan_last(model);

	for (size_t i = 0; i < model_scan_count(model) && id != 0; i++) {
		found = model_scan_get(model, i);
		if (found->id == id)
			break;
		found = NULL;
	}
	if (found && !found->trouble[0]) {
		*scan_ret = found;
		return NULL;
	}
	if (found)
		return err_new(ERR_NOT_FOUND, "leak scan %u has no result: %s", found->id,
			       found->trouble);
	if (id != 0 && model_scan_count(model) > 0)
		return no_such_scan(model, id);
	if (model_quality(model)->fault != TAPE_FAULT_NONE)
		return err_new(ERR_NOT_FOUND, "the tape has no leak scan: recording stopped early, "
					      "and scans are only made before");
	return err_new(ERR_NOT_FOUND, "the tape has no leak scan; memtape record --leak-scan "
				      "makes one when the program ends, of processes followed by "
				      "--follow if they end by themselves and not by a signal");
}
