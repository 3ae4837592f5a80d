/* Leak scans and pools in an index. */
#include "model/index_reader.h"

/* Blocks, holders and frames of all scans stand one after the other. */
struct err *index_read_scans(struct index_reader *reader)
{
	struct model *model = reader->model;
	size_t blocks, holders, frames;
	const struct model_scan_block *block =
		index_items(reader, INDEX_SCAN_BLOCKS, sizeof(*block), &blocks);
	const struct model_scan_frame *frame =
		index_items(reader, INDEX_SCAN_FRAMES, sizeof(*frame), &frames);
	struct model_scan_holder *holder =
		index_copy(reader, INDEX_SCAN_HOLDERS, sizeof(*holder), &holders);

	model->own_holders = holder;
	model->scans = model->own_scans =
		index_copy(reader, INDEX_SCANS, sizeof(*model->scans), &model->scan_count);
	if (!holder || !model->own_scans)
		return err_nomem();
	for (size_t i = 0; i < holders; i++)
		holder[i].name = index_text(reader, holder[i].name);
	for (size_t i = 0; i < model->scan_count && !reader->failed; i++) {
		struct model_scan *scan = &model->own_scans[i];

		if (scan->block_count > blocks || scan->holder_count > holders ||
		    scan->frame_count > frames) {
			reader->failed = true;
			break;
		}
		scan->trouble = index_text(reader, scan->trouble);
		scan->blocks = block;
		scan->holders = holder;
		scan->frames = frame;
		block += scan->block_count;
		blocks -= scan->block_count;
		holder += scan->holder_count;
		holders -= scan->holder_count;
		frame += scan->frame_count;
		frames -= scan->frame_count;
		reader->failed |= !scan_is_sound(model, scan);
		if (!reader->failed)
			scan_sum(scan);
	}
	return NULL;
}

struct err *index_read_pools(struct index_reader *reader)
{
	struct model *model = reader->model;

	model->own_pools =
		index_copy(reader, INDEX_POOLS, sizeof(*model->own_pools), &model->pool_count);
	if (!model->own_pools)
		return err_nomem();
	for (size_t i = 0; i < model->pool_count; i++)
		model->own_pools[i].name = index_text(reader, model->own_pools[i].name);
	model->pools = model->own_pools;
	reader->failed |=
		model->is_of_pools && model->pool_count == 0 && model->table.row_count > 0;
	return NULL;
}
