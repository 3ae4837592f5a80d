#include "groups/lines.h"

#include <assert.h>

#include "base/big.h"
#include "base/map.h"
#include "base/sort.h"
#include "base/str.h"
#include "select/passes.h"

VEC_DEFINE(line_vec, struct line);
VEC_DEFINE(file_vec, const char *);

struct finder {
	const struct sums *sums;
	const struct model *model;
	struct names *names;
	const char *wanted;
	struct map matches;    /* file text, by address -> 1: match, 2: no match */
	struct file_vec files; /* distinct matching files */
	struct line_vec lines;
	struct map by_line; /* line -> index in lines */
	uint8_t *used;	    /* by stack: it or a descendant allocated or freed something */
	uint32_t *nearest;  /* by stack: it or its nearest ancestor with a frame in the file; 0 */
	struct model_stack_sums *totals; /* by stack, including its descendants */
	struct model_sum *freed;	 /* the same for the freeing stacks */
};

static void finder_deinit(struct finder *finder)
{
	map_deinit(&finder->matches);
	file_vec_deinit(&finder->files);
	line_vec_deinit(&finder->lines);
	map_deinit(&finder->by_line);
	free(finder->used);
	free(finder->nearest);
	free(finder->totals);
	free(finder->freed);
}

CLEAN_DEFINE_DEINIT(finder_deinit, struct finder);

/* --- which file ---------------------------------------------------------------------------- */

static const char *skip_dot(const char *path)
{
	return strncmp(path, "./", 2) == 0 ? path + 2 : path;
}

/* Whether one path is the end of the other, at folder boundaries. */
static bool path_ends_with(const char *path, const char *end)
{
	const size_t len = strlen(path), end_len = strlen(end);

	if (end_len > len || strcmp(path + len - end_len, end) != 0)
		return false;
	return end_len == len || path[len - end_len - 1] == '/';
}

static bool path_fits(const char *path, const char *wanted)
{
	path = skip_dot(path);
	wanted = skip_dot(wanted);
	return path_ends_with(path, wanted) || (path[0] != '/' && path_ends_with(wanted, path));
}

/* File texts often share an address: each address is compared once. */
static bool frame_matches(struct finder *finder, const struct name_frame *frame)
{
	uint64_t *known;

	if (!frame->file || frame->line == 0)
		return false;
	known = map_put(&finder->matches, (uintptr_t)frame->file, NULL);
	if (!known)
		return false;
	if (*known == 0) {
		bool is_new = path_fits(frame->file, finder->wanted);

		*known = is_new ? 1 : 2;
		for (size_t i = 0; i < finder->files.count && is_new; i++)
			is_new = strcmp(finder->files.items[i], frame->file) != 0;
		if (is_new && !file_vec_push(&finder->files, frame->file))
			return false;
	}
	return *known == 1;
}

static struct err *file_choose(const struct finder *finder)
{
	CLEAN(str_deinit) struct str known = { 0 };

	if (finder->files.count == 1)
		return NULL;
	if (finder->files.count == 0)
		return err_new(ERR_NOT_FOUND,
			       "no allocations from file '%s'; line numbers need debug information "
			       "(gcc -g, or the package with debug symbols)",
			       finder->wanted);
	for (size_t i = 0; i < finder->files.count && i < 8; i++)
		str_printf(&known, "%s%s", i ? ", " : "", finder->files.items[i]);
	return err_new(ERR_USAGE, "'%s' matches several files: %s", finder->wanted,
		       str_text(&known));
}

/* --- sums ---------------------------------------------------------------------------------- */

/* Sums by freeing stack. */
static struct err *freed_sum(struct finder *finder, const struct selection *selection)
{
	struct pass pass = pass_begin(finder->model, selection);
	CLEAN(free) uint64_t *values = calloc(2 * MODEL_BATCH, sizeof(*values));
	uint64_t *stacks = values, *sizes = values + MODEL_BATCH;

	if (!values)
		return err_nomem();
	while (pass_next(&pass)) {
		pass_read(&pass, MODEL_FREE_STACK, stacks);
		pass_read(&pass, MODEL_SIZE, sizes);
		for (size_t i = 0; i < pass.count; i++) {
			finder->freed[stacks[i]].count++;
			finder->freed[stacks[i]].bytes += sizes[i];
		}
	}
	return NULL;
}

/* Children come after their parents, so one backward pass accumulates all branches. */
static void branches_sum(struct finder *finder)
{
	const struct capture_stack *stacks = model_stacks(finder->model);

	for (size_t i = model_stack_count(finder->model); i-- > CAPTURE_STACK_FIRST;) {
		const uint32_t parent = stacks[i].parent;

		metric_sums_add(&finder->totals[parent], &finder->totals[i]);
		finder->freed[parent].count += finder->freed[i].count;
		finder->freed[parent].bytes += finder->freed[i].bytes;
		finder->used[i] =
			finder->totals[i].allocated.count > 0 || finder->freed[i].count > 0;
	}
}

static struct err *finder_init(struct finder *finder, const struct selection *selection)
{
	const size_t count = model_stack_count(finder->model);
	struct err *err;

	finder->used = big_calloc(count + 1, sizeof(*finder->used));
	finder->nearest = big_calloc(count + 1, sizeof(*finder->nearest));
	finder->totals = big_calloc(count + 1, sizeof(*finder->totals));
	finder->freed = big_calloc(count + 1, sizeof(*finder->freed));
	if (!finder->used || !finder->nearest || !finder->totals || !finder->freed)
		return err_nomem();
	model_sums_spread(&finder->sums->stacks, count, finder->totals);
	err = freed_sum(finder, selection);
	if (!err)
		branches_sum(finder);
	return err;
}

/* --- lines --------------------------------------------------------------------------------- */

/* NULL: no memory. Valid until the next call. */
static struct line *line_put(struct finder *finder, const struct name_frame *frame)
{
	bool is_new;
	uint64_t *place = map_put(&finder->by_line, frame->line, &is_new);

	if (!place)
		return NULL;
	if (is_new) {
		*place = finder->lines.count;
		if (!line_vec_push(&finder->lines, (struct line) { .line = frame->line,
								   .name = frame->name,
								   .frame = frame }))
			return NULL;
	}
	if (frame->is_inlined && !finder->lines.items[*place].frame->is_inlined)
		finder->lines.items[*place].frame = frame;
	return &finder->lines.items[*place];
}

static bool frames_have(struct finder *finder, const struct name_frame *frames, size_t count,
			uint32_t line)
{
	for (size_t i = 0; i < count; i++) {
		if (frames[i].line == line && frame_matches(finder, &frames[i]))
			return true;
	}
	return false;
}

/* Whether the line occurs further out on the stack too: then it is already counted. */
static bool is_recursion(struct finder *finder, uint32_t stack, uint32_t line)
{
	const struct capture_stack *stacks = model_stacks(finder->model);

	for (uint32_t at = finder->nearest[stacks[stack].parent]; at;
	     at = finder->nearest[stacks[at].parent]) {
		const struct name_frames frames = names_frames(finder->names, at);

		if (frames_have(finder, frames.frames, frames.count, line))
			return true;
	}
	return false;
}

static struct err *stack_take(struct finder *finder, uint32_t stack)
{
	const struct name_frames frames = names_frames(finder->names, stack);

	finder->nearest[stack] = finder->nearest[model_stacks(finder->model)[stack].parent];
	for (size_t i = 0; i < frames.count; i++) {
		const struct name_frame *frame = &frames.frames[i];
		struct line *line;

		if (!frame_matches(finder, frame) ||
		    frames_have(finder, frame + 1, frames.count - i - 1, frame->line) ||
		    is_recursion(finder, stack, frame->line))
			continue;
		line = line_put(finder, frame);
		if (!line)
			return err_nomem();
		metric_sums_add(&line->total, &finder->totals[stack]);
		line->freed.count += finder->freed[stack].count;
		line->freed.bytes += finder->freed[stack].bytes;
	}
	for (size_t i = 0; i < frames.count; i++) {
		if (frame_matches(finder, &frames.frames[i]))
			finder->nearest[stack] = stack;
	}
	return NULL;
}

static struct err *self_take(struct finder *finder, enum walk_mode mode, uint32_t stack)
{
	struct walk walk = walk_begin(finder->model, finder->names, stack, mode);
	const struct name_frame *frame = walk_next(&walk);
	struct line *line;

	if (!frame_matches(finder, frame))
		return NULL;
	line = line_put(finder, frame);
	if (!line)
		return err_nomem();
	metric_sums_add(&line->self, sums_of_stack(finder->sums, stack));
	return NULL;
}

static int line_compare(const void *context, const void *a, const void *b)
{
	(void)context;
	return sort_compare_u64(((const struct line *)a)->line, ((const struct line *)b)->line);
}

struct err *lines_find(const struct sums *sums, const struct selection *selection,
		       struct names *names, enum walk_mode mode, const char *file,
		       struct arena *arena, struct lines *lines_ret)
{
	CLEAN(finder_deinit)
	struct finder finder = {
		.sums = sums, .model = sums->model, .names = names, .wanted = file
	};
	struct err *err = finder_init(&finder, selection);
	struct lines lines;

	assert(file);
	assert(!selection || selection->model == sums->model);
	for (uint32_t i = CAPTURE_STACK_FIRST; i < model_stack_count(sums->model) && !err; i++) {
		if (finder.used[i])
			err = stack_take(&finder, i);
		if (!err && sums_of_stack(sums, i)->allocated.count > 0)
			err = self_take(&finder, mode, i);
	}
	if (!err)
		err = file_choose(&finder);
	if (err)
		return err;
	lines.file = finder.files.items[0];
	lines.count = finder.lines.count;
	lines.items = arena_array(arena, lines.count + 1, sizeof(*lines.items));
	if (!lines.items || !sort_stable(finder.lines.items, lines.count,
					 sizeof(*finder.lines.items), line_compare, NULL))
		return err_nomem();
	memcpy(lines.items, finder.lines.items, lines.count * sizeof(*lines.items));
	*lines_ret = lines;
	return NULL;
}
