#include "model/model.h"

#include <assert.h>
#include <sys/mman.h>

#include "base/big.h"
#include "model/parts.h"

/* Data in a mapped file was not allocated from the heap; such vectors have no capacity. */
static void release_vectors(struct model *model)
{
	if (model->table.file)
		return;
	model_usages_vec_deinit(&model->usages);
	model_systems_vec_deinit(&model->systems);
	capture_stacks_deinit(&model->built_stacks);
}

void model_destroy(struct model *model)
{
	if (!model)
		return;
	release_vectors(model);
	model_notes_vec_deinit(&model->notes);
	model_damage_vec_deinit(&model->damage);
	clock_deinit(&model->clock);
	arena_deinit(&model->arena);
	big_free(model->built_seats, model->stack_count * sizeof(*model->built_seats));
	big_free(model->built_sums, model->stack_sums.count * sizeof(*model->built_sums));
	free(model->built_fine);
	free(model->built_strays);
	latencies_destroy(model->built_latencies);
	free(model->threads);
	free(model->timeline);
	free(model->index_path);
	free(model->own_modules);
	free(model->own_scans);
	free(model->own_holders);
	free(model->own_pools);
	scans_deinit(&model->built_scans);
	if (model->table.file)
		munmap((void *)(uintptr_t)model->table.file, model->table.file_bytes);
	free(model);
}

/* Spans of the fine timeline, merged by powers of two until they are few enough. */
bool model_timeline_join(struct model *model)
{
	struct timeline_now before = { 0 };
	struct clock_piece piece = { 0 };
	size_t joined = 1;

	while (model->fine_count > joined * MODEL_TIMELINE_MAX)
		joined *= 2;
	model->timeline_count = (model->fine_count + joined - 1) / joined;
	model->timeline = calloc(model->timeline_count + 1, sizeof(*model->timeline));
	for (size_t i = 0; model->timeline && i < model->timeline_count; i++) {
		const size_t first = i * joined, end = u64_min(first + joined, model->fine_count);
		const struct timeline_mark *last = &model->fine[end - 1];
		uint64_t ticks = model->fine_begin_ticks + first * model->fine_span_ticks, max = 0;

		for (size_t k = first; k < end; k++)
			max = u64_max(max, model->fine[k].live_bytes_max);
		model->timeline[i] = (struct model_timeline_span) {
			.begin_ns = clock_ns_piece(&model->clock, ticks, &piece),
			.live_bytes_max = max,
			.live_bytes_end = last->end.live_bytes,
			.live_count_end = last->end.live_count,
			.allocated = { last->end.allocated_count - before.allocated_count,
				       last->end.allocated_bytes - before.allocated_bytes },
			.free_count = last->end.free_count - before.free_count,
		};
		before = last->end;
	}
	return model->timeline != NULL;
}

const struct model_process *model_process(const struct model *model)
{
	return &model->process;
}

const struct model_totals *model_totals(const struct model *model)
{
	return &model->totals;
}

const struct model_function *model_functions(const struct model *model)
{
	return model->functions;
}

const struct model_latency *model_latencies(const struct model *model)
{
	return model->latencies;
}

const struct model_stack_latency *model_stack_latencies(const struct model *model)
{
	return model->stack_latencies;
}

const struct model_size_bucket *model_size_buckets(const struct model *model)
{
	return model->sizes;
}

size_t model_stack_count(const struct model *model)
{
	return model->stack_count;
}

const struct capture_stack *model_stacks(const struct model *model)
{
	return model->stacks;
}

struct model_by_stack model_sums_by_stack(const struct model *model)
{
	return model->stack_sums;
}

const struct model_stack_sums *model_stack_sums(const struct model *model, size_t stack)
{
	assert(stack < model->stack_count);
	return model_sums_of(&model->stack_sums, stack);
}

const struct model_stack_link *model_stack_links(const struct model *model)
{
	return model->stack_links;
}

const struct model_stack_sums *model_stack_totals(const struct model *model,
						  struct model_stack_sums *used_ret)
{
	*used_ret = model->stacks_used;
	return model->stack_totals;
}

const uint64_t *model_stack_usables(const struct model *model)
{
	return model->stack_usables;
}

bool model_peak_is_moment(const struct model *model)
{
	const struct table *table = &model->table;

	return table->file && table->peak_tie_count == 0 &&
	       table->rows_at_peak == model_row_at(model, model->totals.peak_ns + 1);
}

size_t model_module_count(const struct model *model)
{
	return model->module_count;
}

const struct capture_module *model_module(const struct model *model, size_t module)
{
	assert(module < model->module_count);
	return &model->modules[module];
}

const char *model_linked(const struct model *model, const char *path)
{
	assert(path);
	for (size_t i = 0; i < model->module_count; i++) {
		const struct capture_module *module = &model->modules[i];

		if (module->file[0] && strcmp(module->path, path) == 0)
			return module->file;
	}
	return NULL;
}

size_t model_thread_count(const struct model *model)
{
	return model->thread_count;
}

bool model_thread_is_real(const struct model *model, const struct model_thread *thread)
{
	return thread->tid || !(model->process.flags & TAPE_FLAG_ATTACHED);
}

size_t model_real_thread_count(const struct model *model)
{
	size_t count = 0;

	for (size_t i = 0; i < model->thread_count; i++)
		count += model_thread_is_real(model, model_thread(model, i));
	return count;
}

const char *model_stack_known_word(const struct model_stack_use *use)
{
	static const char *const words[] = { NULL, "events", "pages" };

	assert(use->known < array_size(words));
	return words[use->known];
}

const struct model_thread *model_thread(const struct model *model, size_t thread)
{
	assert(thread < model->thread_count);
	return &model->threads[thread];
}

size_t model_timeline_count(const struct model *model)
{
	return model->timeline_count;
}

const struct model_timeline_span *model_timeline(const struct model *model)
{
	return model->timeline;
}

size_t model_usage_count(const struct model *model)
{
	return model->usages.count;
}

const struct model_usage *model_rss_peak(const struct model *model, uint64_t from_ns,
					 uint64_t until_ns)
{
	const struct model_usage *most = NULL;

	for (size_t i = 0; i < model_usage_count(model); i++) {
		const struct model_usage *usage = &model_usages(model)[i];

		if (usage->ns < from_ns || usage->ns > until_ns ||
		    usage->usage.rss_bytes == UINT64_MAX)
			continue;
		if (!most || usage->usage.rss_bytes > most->usage.rss_bytes)
			most = usage;
	}
	return most;
}

bool model_is_of_pools(const struct model *model)
{
	return model->is_of_pools;
}

size_t model_pool_count(const struct model *model)
{
	return model->pool_count;
}

const struct model_pool *model_pools(const struct model *model)
{
	return model->pools;
}

size_t model_stray_free_count(const struct model *model)
{
	return model->stray_count;
}

const struct model_stray_free *model_stray_frees(const struct model *model)
{
	return model->strays;
}

const struct model_usage *model_usages(const struct model *model)
{
	return model->usages.items;
}

size_t model_system_count(const struct model *model)
{
	return model->systems.count;
}

const struct model_system *model_systems(const struct model *model)
{
	return model->systems.items;
}

size_t model_note_count(const struct model *model)
{
	return model->notes.count;
}

const struct model_note *model_notes(const struct model *model)
{
	return model->notes.items;
}

const struct model_quality *model_quality(const struct model *model)
{
	return &model->quality;
}

size_t model_damage_count(const struct model *model)
{
	return model->damage.count;
}

const struct capture_damage *model_damage(const struct model *model, size_t index)
{
	assert(index < model->damage.count);
	return &model->damage.items[index];
}

uint64_t model_ns(const struct model *model, uint64_t ticks)
{
	return clock_ns(&model->clock, ticks);
}

uint64_t model_stack_first_ns(const struct model *model, uint32_t stack)
{
	size_t low = 0, high = model->sighting_count;

	assert(stack < model->stack_count);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (model->sightings[middle].stack < stack)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < model->sighting_count && model->sightings[low].stack == stack)
		return clock_ns(&model->clock, model->sightings[low].ticks);
	return 0;
}

const char *model_index_path(const struct model *model)
{
	return model->index_path;
}

uint64_t model_index_bytes(const struct model *model)
{
	return model->table.file_bytes;
}

bool model_index_is_new(const struct model *model)
{
	return model->index_is_new;
}
