#include "model/latencies.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

enum { SEGMENT_CELLS = 2 * MODEL_SEGMENT, STACKS_FIRST = 1 << 12 };

static const size_t SEGMENT_BYTES = SEGMENT_CELLS * sizeof(uint32_t);

/* A cell: 0 is none, else ticks + 1; longer ones count in larger units. */
enum { CELL_LONG_SHIFT = 12 };
static const uint32_t CELL_LONG = UINT32_C(1) << 31;

static uint32_t cell_of(uint64_t ticks)
{
	if (ticks + 1 < CELL_LONG)
		return (uint32_t)ticks + 1;
	return CELL_LONG | (uint32_t)u64_min(ticks >> CELL_LONG_SHIFT, CELL_LONG - 1);
}

static uint64_t cell_ticks(uint32_t cell)
{
	return cell & CELL_LONG ? (uint64_t)(cell & ~CELL_LONG) << CELL_LONG_SHIFT : cell - 1;
}

/* The clock values of a tape may be invalid, too. */
static uint64_t scaled(uint64_t ticks, double tick_ns)
{
	const double ns = (double)ticks * tick_ns + 0.5, most = (double)(UINT64_C(1) << 62);

	return ns < most ? (uint64_t)ns : (uint64_t)most;
}

struct err *latencies_create(bool has_rows, bool is_small, struct latencies **latencies_ret)
{
	struct latencies *latencies = calloc(1, sizeof(*latencies));
	struct err *err = NULL;

	if (!latencies)
		return err_nomem();
	latencies->file.fd = -1;
	latencies->functions = calloc(TAPE_FN_COUNT, sizeof(*latencies->functions));
	if (!latencies->functions || !latencies_reserve_stacks(latencies, STACKS_FIRST))
		err = err_nomem();
	if (!err && has_rows)
		err = image_create(&latencies->file, NULL, is_small);
	if (err)
		latencies_destroy(latencies);
	else
		*latencies_ret = latencies;
	return err;
}

void latencies_destroy(struct latencies *latencies)
{
	if (!latencies)
		return;
	if (latencies->cells)
		munmap(latencies->cells, latencies->segment_room * SEGMENT_BYTES);
	image_deinit(&latencies->file);
	free(latencies->functions);
	free(latencies->stacks);
	free(latencies);
}

bool latencies_reserve_stacks(struct latencies *latencies, size_t count)
{
	const size_t room = u64_max(count, latencies->stack_room * 2);
	struct model_stack_latency *stacks;

	if (count <= latencies->stack_room)
		return true;
	stacks = realloc(latencies->stacks, room * sizeof(*stacks));
	if (!stacks)
		return false;
	memset(stacks + latencies->stack_room, 0, (room - latencies->stack_room) * sizeof(*stacks));
	latencies->stacks = stacks;
	latencies->stack_room = room;
	return true;
}

/* Address space for more segments than exist: most of it is past the end of the file. */
static struct err *cells_map(struct latencies *latencies, size_t segments)
{
	const size_t room = u64_max(segments, latencies->segment_room * 2);
	void *cells;

	if (segments <= latencies->segment_room)
		return NULL;
	cells = latencies->cells ? mremap(latencies->cells, latencies->segment_room * SEGMENT_BYTES,
					  room * SEGMENT_BYTES, MREMAP_MAYMOVE)
				 : mmap(NULL, room * SEGMENT_BYTES, PROT_READ | PROT_WRITE,
					MAP_SHARED, latencies->file.fd, 0);
	if (cells == MAP_FAILED)
		return err_errno("map a temporary file");
	latencies->cells = cells;
	latencies->segment_room = room;
	return NULL;
}

/* File blocks are allocated before they are touched: a full disk is an error, not a SIGBUS. */
static struct err *cells_reserve(struct latencies *latencies, size_t segments)
{
	struct err *err = cells_map(latencies, segments);
	int rc;

	if (err)
		return err;
	rc = posix_fallocate(latencies->file.fd, (off_t)(latencies->segment_count * SEGMENT_BYTES),
			     (off_t)((segments - latencies->segment_count) * SEGMENT_BYTES));
	if (rc != 0)
		return err_errno_new(rc, "write a temporary file");
	latencies->segment_count = segments;
	return NULL;
}

static struct err *cell_set(struct latencies *latencies, const struct latency_of *of,
			    uint64_t ticks)
{
	const size_t segment = of->row >> SEGMENT_BITS;

	if (unlikely(segment >= latencies->segment_count)) {
		struct err *err = cells_reserve(latencies, segment + 1);

		if (err)
			return err;
	}
	latencies->cells[segment * SEGMENT_CELLS + (of->is_free ? MODEL_SEGMENT : 0) +
			 of->row % MODEL_SEGMENT] = cell_of(ticks);
	return NULL;
}

struct err *latencies_add(struct latencies *latencies, const struct latency_of *of, uint64_t ticks)
{
	assert(of->fn < TAPE_FN_COUNT);
	assert(of->stack < latencies->stack_room);
	latency_add(&latencies->functions[of->fn], ticks);
	stack_latency_add(&latencies->stacks[of->stack], ticks);
	if (of->row == ROW_NONE || latencies->file.fd < 0)
		return NULL;
	return cell_set(latencies, of, ticks);
}

/* --- columns --------------------------------------------------------------------------------- */

/* Temporarily in place of the cells: the columns are written from here. */
static struct model_bounds cells_tell(const uint32_t *cells, uint32_t count, double tick_ns,
				      uint64_t *values, uint64_t *none_count_ret)
{
	struct model_bounds bounds = { UINT64_MAX, 0 };
	uint64_t none_count = 0;

	for (uint32_t i = 0; i < count; i++) {
		values[i] = MODEL_NEVER;
		if (cells[i] == 0) {
			none_count++;
			continue;
		}
		values[i] = scaled(cell_ticks(cells[i]), tick_ns);
		bounds.min = u64_min(bounds.min, values[i]);
		bounds.max = u64_max(bounds.max, values[i]);
	}
	*none_count_ret = none_count;
	return bounds;
}

static struct err *column_store(const uint32_t *cells, uint32_t count, double tick_ns,
				uint64_t *values, struct segment_column *column,
				struct model_bounds *bounds, struct image *image)
{
	uint64_t none_count;
	const struct model_bounds range = cells_tell(cells, count, tick_ns, values, &none_count);
	const bool has_none = none_count > 0;
	uint8_t *out = (uint8_t *)values; /* narrower than the input: writes trail reads */

	if (none_count == count)
		return NULL; /* as segment_pack() left it */
	*column = (struct segment_column) {
		.bias = range.min - has_none,
		.has_none = has_none,
		.width = segment_width(range.max - range.min + has_none),
	};
	*bounds = (struct model_bounds) { range.min, has_none ? MODEL_NEVER : range.max };
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t number = values[i] == MODEL_NEVER ? 0 : values[i] - column->bias;
		const size_t first = ARCH_IS_BIG ? sizeof(number) - column->width : 0;

		memcpy(out, (const uint8_t *)&number + first, column->width); /* the lowest bytes */
		out += column->width;
	}
	return image_append(image, values, (size_t)count * column->width, &column->offset);
}

struct err *latencies_store(const struct latencies *latencies, struct segment *segments,
			    size_t segment_count, double tick_ns, struct image *image)
{
	assert(segments || segment_count == 0);
	static const enum model_column columns[] = { MODEL_LATENCY, MODEL_FREE_LATENCY };
	CLEAN(free) uint64_t *values = malloc(MODEL_SEGMENT * sizeof(*values));
	struct err *err = NULL;

	if (!values)
		return err_nomem();
	for (size_t i = 0; i < u64_min(segment_count, latencies->segment_count); i++) {
		struct segment *segment = &segments[i];
		const uint32_t *cells = latencies->cells + i * SEGMENT_CELLS;

		for (size_t k = 0; k < array_size(columns) && !err; k++)
			err = column_store(cells + k * MODEL_SEGMENT, segment->row_count, tick_ns,
					   values, &segment->columns[columns[k]],
					   &segment->bounds[columns[k]], image);
	}
	return err;
}

/* --- sums ------------------------------------------------------------------------------------ */

static void function_seal(struct model_latency *latency, double tick_ns)
{
	struct model_latency sealed = {
		.count = latency->count,
		.total_ns = scaled(latency->total_ns, tick_ns),
		.max_ns = scaled(latency->max_ns, tick_ns),
	};

	for (size_t i = 0; i < MODEL_LATENCY_BUCKETS; i++) {
		const uint64_t begin = latency_bucket_begin(i), end = latency_bucket_begin(i + 1);
		const uint64_t ns = scaled(begin + (end - begin) / 2, tick_ns);

		sealed.buckets[latency_bucket(ns)] += latency->buckets[i];
	}
	*latency = sealed;
}

void latencies_seal(struct latencies *latencies, double tick_ns)
{
	for (size_t i = 0; i < TAPE_FN_COUNT; i++)
		function_seal(&latencies->functions[i], tick_ns);
	for (size_t i = 0; i < latencies->stack_room; i++) {
		struct model_stack_latency *stack = &latencies->stacks[i];

		stack->total_ns = scaled(stack->total_ns, tick_ns);
		stack->max_ns = scaled(stack->max_ns, tick_ns);
	}
}
