/*
 * A model made by hand: the functions of model/model.h that trees, sites and pictures ask. Linked
 * instead of the real ones. Functions get their names as JIT code does, from /tmp/perf-PID.map, so
 * pc 0x1000 * n is inside the n-th name. Callers' pcs are return addresses.
 */
#ifndef MEMTAPE_TESTS_UNIT_FAKE_MODEL_H
#define MEMTAPE_TESTS_UNIT_FAKE_MODEL_H

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/names.h"
#include "model/scans.h"

enum { FAKE_STACKS_MAX = 1 << 18 };

struct model {
	struct model_process process;
	struct model_totals totals;
	struct model_quality quality;
	struct capture_stack *stacks;
	struct model_stack_sums *sums;
	size_t stack_count;
};

const struct model_process *model_process(const struct model *model)
{
	return &model->process;
}

const struct model_totals *model_totals(const struct model *model)
{
	return &model->totals;
}

const struct model_quality *model_quality(const struct model *model)
{
	return &model->quality;
}

size_t model_stack_count(const struct model *model)
{
	return model->stack_count;
}

const struct capture_stack *model_stacks(const struct model *model)
{
	return model->stacks;
}

const struct model_stack_link *model_stack_links(const struct model *model)
{
	(void)model;
	return NULL;
}

const struct model_stack_sums *model_stack_totals(const struct model *model,
						  struct model_stack_sums *used_ret)
{
	(void)model;
	*used_ret = (struct model_stack_sums) { 0 };
	return NULL;
}

struct model_by_stack model_sums_by_stack(const struct model *model)
{
	return (struct model_by_stack) { .items = model->sums, .count = model_stack_count(model) };
}

const struct model_stack_sums *model_stack_sums(const struct model *model, size_t stack)
{
	return &model->sums[stack];
}

size_t model_module_count(const struct model *model)
{
	(void)model;
	return 0;
}

const struct capture_module *model_module(const struct model *model, size_t module)
{
	(void)model;
	(void)module;
	return NULL;
}

uint64_t model_stack_first_ns(const struct model *model, uint32_t stack)
{
	(void)model;
	(void)stack;
	return 0;
}

size_t model_thread_count(const struct model *model)
{
	(void)model;
	return 0;
}

const struct model_thread *model_thread(const struct model *model, size_t thread)
{
	(void)model;
	(void)thread;
	return NULL;
}

size_t model_scan_count(const struct model *model)
{
	(void)model;
	return 0;
}

const struct model_scan *model_scan_get(const struct model *model, size_t index)
{
	(void)model;
	(void)index;
	return NULL;
}

uint64_t model_row_count(const struct model *model)
{
	(void)model;
	return 0;
}

void model_rows_read(const struct model *model, enum model_column column, uint64_t first,
		     size_t count, uint64_t *values)
{
	(void)model;
	(void)column;
	(void)first;
	memset(values, 0, count * sizeof(*values));
}

static void fake_model_init(struct model *model, const char *const *functions)
{
	char path[64];
	FILE *map;

	*model = (struct model) { .process = { .pid = (uint32_t)getpid() },
				  .stack_count = CAPTURE_STACK_FIRST };
	model->stacks = calloc(FAKE_STACKS_MAX, sizeof(*model->stacks));
	model->sums = calloc(FAKE_STACKS_MAX, sizeof(*model->sums));
	assert_non_null(model->stacks);
	assert_non_null(model->sums);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	assert_non_null(map);
	for (unsigned i = 0; functions[i]; i++)
		fprintf(map, "%x 1000 %s\n", (i + 1) * 0x1000, functions[i]);
	fclose(map);
}

static void fake_model_deinit(struct model *model)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
	free(model->stacks);
	free(model->sums);
}

/* A call of function number n (from 1) below parent, at some offset inside it. */
static uint32_t fake_call(struct model *model, uint32_t parent, unsigned function, unsigned offset)
{
	assert_true(model->stack_count < FAKE_STACKS_MAX);
	model->stacks[model->stack_count] = (struct capture_stack) {
		.pc = function * 0x1000 + offset + 1,
		.parent = parent,
		.module = CAPTURE_MODULE_NONE,
	};
	return (uint32_t)model->stack_count++;
}

static void fake_sum_add(struct model_sum *sum, uint64_t count, uint64_t bytes)
{
	sum->count += count;
	sum->bytes += bytes;
}

/* count blocks of bytes each, all alive at the peak; the first `leaked` of them for ever. */
static inline void fake_allocate(struct model *model, uint32_t stack, uint64_t count,
				 uint64_t bytes, uint64_t leaked)
{
	fake_sum_add(&model->sums[stack].allocated, count, count * bytes);
	fake_sum_add(&model->sums[stack].peak, count, count * bytes);
	fake_sum_add(&model->sums[stack].leaked, leaked, leaked * bytes);
	fake_sum_add(&model->totals.allocated, count, count * bytes);
	fake_sum_add(&model->totals.peak, count, count * bytes);
	fake_sum_add(&model->totals.leaked, leaked, leaked * bytes);
}

#endif
