/*
 * /data/<id>/allocations: individual allocations in memory-profiler's format.
 */
#include "http/bytehound/data.h"
#include "http/bytehound/data_filter.h"
#include "select/fields.h"
#include "space/mappings.h"

static const char *const sorts[] = { "timestamp", "address", "size", NULL };
static const char *const orders[] = { "asc", "dsc", "desc", NULL };

/* The program's brk heap, where glibc's main arena is. */
struct heap {
	uint64_t begin;
	uint64_t end;
};

static struct err *heap_find(const struct model *model, struct heap *heap_ret)
{
	CLEAN(mappings_destroy) struct mappings *mappings = NULL;
	const struct mapping_vec *all;
	struct err *err = mappings_create(model, &mappings);

	*heap_ret = (struct heap) { .begin = UINT64_MAX };
	if (!err)
		err = mappings_advance(mappings, MODEL_NEVER);
	if (err)
		return err;
	all = mappings_all(mappings);
	for (size_t i = 0; i < all->count; i++) {
		const struct mapping *mapping = &all->items[i];

		if (!mapping->is_brk)
			continue;
		heap_ret->begin = u64_min(heap_ret->begin, mapping->address);
		heap_ret->end =
			u64_max(heap_ret->end, mapping->address + mapping->mapped_bytes_max);
	}
	return NULL;
}

struct list {
	struct data data;
	struct heap heap;
	const struct field *position;
	const struct field *mmapped;
};

static void free_emit(struct list *list, const char *key, struct batch *batch, size_t i)
{
	struct data *data = &list->data;

	if (batch_column(batch, MODEL_FREE_NS)[i] == MODEL_NEVER)
		return;
	emit_object(data->emit, key);
	data_moment(data, "timestamp", batch_column(batch, MODEL_FREE_NS)[i]);
	data_thread(data, "thread", batch_column(batch, MODEL_FREE_THREAD)[i]);
	if (batch_column(batch, MODEL_FREE_STACK)[i] != CAPTURE_STACK_NONE)
		data_backtrace(data, batch_column(batch, MODEL_FREE_STACK)[i]);
	emit_end(data->emit);
}

/* A block that was never reallocated is a chain of one. */
static void chain_emit(struct list *list, struct batch *batch, size_t i, struct batch *scratch,
		       uint64_t position)
{
	struct data *data = &list->data;
	const struct model *model = data->call->model;
	const uint64_t number = batch_column(batch, MODEL_CHAIN)[i];
	struct model_chain chain = { batch_row(batch, i), batch_row(batch, i), 1 };
	uint64_t ends[2];

	if (number != MODEL_NO_CHAIN)
		chain = model_chain_get(model, number);
	emit_u64(data->emit, "position_in_chain", position, EMIT_PLAIN);
	emit_u64(data->emit, "chain_length", chain.length, EMIT_PLAIN);
	ends[0] = chain.first_row;
	ends[1] = chain.last_row;
	batch_list(scratch, batch->facts, ends, array_size(ends));
	if (batch_column(scratch, MODEL_FREE_NS)[1] == MODEL_NEVER)
		return;
	data_timeval(data, "chain_lifetime",
		     batch_column(scratch, MODEL_FREE_NS)[1] -
			     batch_column(scratch, MODEL_ALLOC_NS)[0]);
	free_emit(list, "chain_deallocation", scratch, 1);
}

static void allocation_emit(struct list *list, struct batch *batch, size_t i, struct batch *scratch,
			    uint64_t position, bool is_mmapped)
{
	struct data *data = &list->data;
	const uint64_t address = batch_column(batch, MODEL_ADDRESS)[i];
	const uint64_t size = batch_column(batch, MODEL_SIZE)[i];

	emit_object(data->emit, NULL);
	emit_u64(data->emit, "id", batch_row(batch, i), EMIT_PLAIN);
	data_address(data, "address", address);
	data_moment(data, "timestamp", batch_column(batch, MODEL_ALLOC_NS)[i]);
	data_thread(data, "thread", batch_column(batch, MODEL_THREAD)[i]);
	emit_u64(data->emit, "size", size, EMIT_PLAIN);
	emit_u64(data->emit, "extra_space", batch_column(batch, MODEL_USABLE)[i] - size,
		 EMIT_PLAIN);
	data_backtrace(data, batch_column(batch, MODEL_STACK)[i]);
	free_emit(list, "deallocation", batch, i);
	emit_bool(data->emit, "is_mmaped", is_mmapped);
	emit_bool(data->emit, "in_main_arena",
		  address >= list->heap.begin && address < list->heap.end);
	emit_bool(data->emit, "is_jemalloc", false);
	chain_emit(list, batch, i, scratch, position);
	emit_end(data->emit);
}

/* Batches are large: two of them, and their field values. */
struct work {
	struct batch batch;
	struct batch scratch;
	uint64_t positions[MODEL_BATCH];
	uint64_t mmapped[MODEL_BATCH];
};

static struct err *rows_emit(struct list *list, const struct selection *selection,
			     const uint64_t *rows, uint64_t count)
{
	CLEAN(free) struct work *work = calloc(1, sizeof(*work));
	struct err *err;

	if (!work)
		return err_nomem();
	err = facts_prepare(selection->facts, list->position->facts | list->mmapped->facts);
	for (uint64_t first = 0; first < count && !err; first += MODEL_BATCH) {
		const size_t n = u64_min(count - first, MODEL_BATCH);

		batch_list(&work->batch, selection->facts, rows + first, n);
		field_read(list->position, &work->batch, work->positions);
		field_read(list->mmapped, &work->batch, work->mmapped);
		for (size_t i = 0; i < n; i++)
			allocation_emit(list, &work->batch, i, &work->scratch, work->positions[i],
					work->mmapped[i] != 0);
		err = call_check(list->data.call);
	}
	return err;
}

/* They are stored in chronological order. */
static struct selection_order order_choose(const struct call *call)
{
	static const char *const fields[] = { "time", "address", "size" };
	const char *name = fields[call_choice(call, "sort_by")];
	const bool is_descending = call_choice(call, "order") > 0;

	return (struct selection_order) {
		.field =
			name == fields[0] && !is_descending ? NULL : field_find(name, strlen(name)),
		.is_descending = is_descending,
	};
}

static struct err *run(struct call *call)
{
	const struct selection_order order = order_choose(call);
	struct list list = {
		.position = field_find("chain_position", strlen("chain_position")),
		.mmapped = field_find("mmapped", strlen("mmapped")),
	};
	const struct selection *selection;
	const uint64_t *rows;
	uint64_t count;
	struct err *err = data_select(call, &selection);

	if (!err)
		err = selection_sorted(selection, &order, call_number(call, "skip"),
				       call_number(call, "count"), call->arena, &rows, &count);
	if (!err)
		err = heap_find(call->model, &list.heap);
	if (!err)
		err = data_begin(call, &list.data);
	if (err)
		return err;
	emit_object(list.data.emit, NULL);
	emit_list(list.data.emit, "allocations");
	err = rows_emit(&list, selection, rows, count);
	emit_end(list.data.emit);
	emit_u64(list.data.emit, "total_count", selection->count, EMIT_PLAIN);
	emit_end(list.data.emit);
	return data_end(&list.data, err);
}

static const struct param params[] = {
	DATA_FILTER_PARAMS,
	{ .name = "sort_by", .kind = PARAM_CHOICE, .words = sorts, .doc = "what comes first" },
	{ .name = "order", .kind = PARAM_CHOICE, .words = orders, .doc = "asc, or dsc" },
	{ .name = "count", .kind = PARAM_NUMBER, .doc = "so many at most", .missing = "all" },
	{ .name = "skip", .kind = PARAM_NUMBER, .doc = "without the first so many" },
};

const struct route route_data_allocations = {
	.path = "/data/{c}/allocations",
	.summary = "allocations, as memory-profiler has them",
	.type = "application/json; charset=utf-8",
	.flags = ROUTE_TAPE | ROUTE_RAW | ROUTE_FILE | ROUTE_LENIENT,
	.params = params,
	.param_count = array_size(params),
	.run = run,
};
