#include "model/packer.h"

#include <assert.h>

#include "base/big.h"
#include "model/packer_work.h"

static void items_free(void *items, bool is_freed)
{
	big_free(items, is_freed ? PACKER_FREED_BYTES : PACKER_ROWS_BYTES);
}

/* For reuse. The lock is held. */
static void items_spare(struct packer *packer, void *items, bool is_freed)
{
	if (packer->spare[is_freed].count < array_size(packer->spare[0].items))
		packer->spare[is_freed].items[packer->spare[is_freed].count++] = items;
	else
		items_free(items, is_freed);
}

void packer_init(struct packer *packer, uint64_t patches_bytes)
{
	*packer = (struct packer) { .raw = { .fd = -1 } };
	patches_init(&packer->patches, patches_bytes);
	pthread_mutex_init(&packer->lock, NULL);
	pthread_cond_init(&packer->changed, NULL);
}

void packer_deinit(struct packer *packer)
{
	err_destroy(packer_finish(packer));
	for (unsigned i = packer->taken; i < packer->queued; i++) {
		const struct pack_job *job = &packer->queue[i % array_size(packer->queue)];

		items_free(job->items, job->is_freed);
	}
	for (unsigned i = 0; i < packer->waiting_count; i++)
		items_free(packer->waiting[i].items, true);
	for (unsigned kind = 0; kind < array_size(packer->spare); kind++)
		for (unsigned i = 0; i < packer->spare[kind].count; i++)
			items_free(packer->spare[kind].items[i], kind);
	clock_deinit(&packer->clock);
	image_deinit(&packer->raw);
	raw_parts_deinit(&packer->raw_parts);
	patches_deinit(&packer->patches);
	map_deinit(&packer->chain_of);
	pthread_mutex_destroy(&packer->lock);
	pthread_cond_destroy(&packer->changed);
}

static struct err *raw_write(struct packer *packer, const struct pack_job *job)
{
	struct raw_part raw = { .number = job->number, .is_freed = job->is_freed };
	struct err *err = NULL;

	if (packer->raw.fd < 0)
		err = image_create(&packer->raw, NULL, false);
	if (!err)
		err = image_append(&packer->raw, job->items,
				   job->is_freed ? PACKER_FREED_BYTES : PACKER_ROWS_BYTES,
				   &raw.offset);
	if (!err && !raw_parts_push(&packer->raw_parts, raw))
		err = err_nomem();
	return err;
}

static struct err *chains_keep(struct packer *packer, const struct telling *telling)
{
	struct err *err = NULL;

	pthread_mutex_lock(&packer->lock);
	for (size_t i = 0; i < telling->chains.count && !err; i++) {
		uint64_t *place = map_put(&packer->chain_of, telling->chains.items[i] >> 32, NULL);

		if (place)
			*place = (uint32_t)telling->chains.items[i];
		else
			err = err_nomem();
	}
	pthread_mutex_unlock(&packer->lock);
	return err;
}

static struct err *pack_rows(struct rows *rows, const struct pack_job *job,
			     const struct clock *clock, uint8_t *out, struct segment *segment_ret)
{
	struct telling telling = { .packer = &rows->packer,
				   .clock = clock,
				   .horizon = clock_horizon(clock),
				   .first_row = (uint64_t)job->number << SEGMENT_BITS,
				   .keeps_chains = true };
	struct row *items = job->items;
	struct err *err;

	if (items[MODEL_SEGMENT - 1].time < telling.horizon) {
		err = segment_write(rows->image, items, MODEL_SEGMENT, &telling, out, segment_ret);
	} else {
		for (uint64_t i = 0; i < MODEL_SEGMENT; i++)
			if (items[i].chain != ROW_NONE && items[i].free_time == MODEL_NEVER)
				telling_keep(&telling, telling.first_row + i, items[i].chain);
		err = telling.err ? telling.err : raw_write(&rows->packer, job);
	}
	if (!err)
		err = chains_keep(&rows->packer, &telling);
	vec_u64_deinit(&telling.chains);
	return err;
}

/* Writes waiting blocks whose times are known; raw if the queue is full and they are not. */
static struct err *waiting_pack(struct rows *rows, const struct clock *clock, uint8_t *out)
{
	struct packer *packer = &rows->packer;
	struct err *err = NULL;

	while (!err && packer->waiting_count > 0) {
		const struct pack_job job = packer->waiting[0];
		struct freed_entry *items = job.items;
		const bool is_told = items[FREED_BLOCK - 1].time < clock_horizon(clock);
		struct freed_block block = { 0 };

		if (!is_told && packer->waiting_count < array_size(packer->waiting))
			break;
		err = is_told ? freed_write(rows->image, items, FREED_BLOCK, clock, out, &block)
			      : raw_write(packer, &job);
		packer->waiting_count--;
		memmove(packer->waiting, packer->waiting + 1,
			packer->waiting_count * sizeof(*packer->waiting));
		pthread_mutex_lock(&packer->lock);
		rows->freed_blocks.items[job.number] = block;
		items_spare(packer, job.items, true);
		pthread_mutex_unlock(&packer->lock);
	}
	return err;
}

static struct err *pack_freed(struct rows *rows, const struct pack_job *job,
			      const struct clock *clock, uint8_t *out)
{
	struct err *err = apply_ends(rows, job->items, FREED_BLOCK);

	rows->packer.waiting[rows->packer.waiting_count++] = *job;
	return err ? err : waiting_pack(rows, clock, out);
}

/* One job of the queue. The lock is held, except during the work itself. */
static void pack_next(struct rows *rows, uint8_t *out)
{
	struct packer *packer = &rows->packer;
	const struct pack_job job = packer->queue[packer->taken % array_size(packer->queue)];
	CLEAN(clock_deinit) struct clock clock = { 0 };
	struct segment segment = { 0 };
	struct err *err = clock_follow(&clock, &packer->clock) ? NULL : err_nomem();

	pthread_mutex_unlock(&packer->lock);
	if (err && job.is_freed)
		items_free(job.items, true);
	else if (!err)
		err = job.is_freed ? pack_freed(rows, &job, &clock, out)
				   : pack_rows(rows, &job, &clock, out, &segment);
	pthread_mutex_lock(&packer->lock);
	if (!job.is_freed) {
		rows->segments.items[packer->segment_count++] = segment;
		items_spare(packer, job.items, false);
	}
	packer->taken++;
	if (!packer->err)
		packer->err = err;
	else
		err_destroy(err);
	pthread_cond_broadcast(&packer->changed);
}

static void *pack_thread(void *context)
{
	struct rows *rows = context;
	struct packer *packer = &rows->packer;
	uint8_t *out = malloc(segment_room(MODEL_SEGMENT));

	pthread_mutex_lock(&packer->lock);
	if (!out)
		packer->err = err_nomem();
	while (out && !packer->err) {
		if (packer->taken < packer->queued)
			pack_next(rows, out);
		else if (packer->is_ending)
			break;
		else
			pthread_cond_wait(&packer->changed, &packer->lock);
	}
	pthread_cond_broadcast(&packer->changed);
	pthread_mutex_unlock(&packer->lock);
	free(out);
	return NULL;
}

struct err *packer_give(struct rows *rows, struct pack_job job)
{
	struct packer *packer = &rows->packer;
	struct err *err = NULL;

	assert(job.items);
	assert(!packer->is_ending);
	if (!packer->is_running) {
		int rc = packer_thread_start(&packer->thread, pack_thread, rows);

		packer->is_running = rc == 0;
		if (rc != 0)
			err = err_errno_new(rc, "start a thread");
	}
	pthread_mutex_lock(&packer->lock);
	while (!err && !packer->err && packer->queued - packer->taken == array_size(packer->queue))
		pthread_cond_wait(&packer->changed, &packer->lock);
	if (!err && packer->err)
		err = steal(packer->err);
	if (!err && !clock_follow(&packer->clock, rows->clock))
		err = err_nomem();
	if (!err) {
		packer->queue[packer->queued++ % array_size(packer->queue)] = job;
		pthread_cond_broadcast(&packer->changed);
	}
	pthread_mutex_unlock(&packer->lock);
	if (err)
		items_free(job.items, job.is_freed);
	return err;
}

bool packer_expect(struct rows *rows)
{
	bool done;

	assert(rows->segments.count == rows->segment_count);
	pthread_mutex_lock(&rows->packer.lock); /* the packer fills the places before */
	done = segments_vec_push(&rows->segments, (struct segment) { 0 });
	pthread_mutex_unlock(&rows->packer.lock);
	return done;
}

bool packer_expect_freed(struct rows *rows)
{
	bool done;

	pthread_mutex_lock(&rows->packer.lock);
	done = freed_blocks_push(&rows->freed_blocks, (struct freed_block) { 0 });
	pthread_mutex_unlock(&rows->packer.lock);
	return done;
}

uint32_t packer_chain_of(struct rows *rows, uint32_t row)
{
	struct packer *packer = &rows->packer;
	const uint64_t *chain;
	uint32_t found;

	assert(row < rows->count);
	/* segments reach the packer in order */
	pthread_mutex_lock(&packer->lock);
	while (packer->segment_count <= row >> SEGMENT_BITS && !packer->err)
		pthread_cond_wait(&packer->changed, &packer->lock);
	chain = map_find(&packer->chain_of, row);
	found = chain ? (uint32_t)*chain : ROW_NONE;
	pthread_mutex_unlock(&packer->lock);
	return found;
}

void *packer_spare(struct packer *packer, bool is_freed)
{
	void *spare = NULL;

	pthread_mutex_lock(&packer->lock);
	if (packer->spare[is_freed].count > 0)
		spare = packer->spare[is_freed].items[--packer->spare[is_freed].count];
	pthread_mutex_unlock(&packer->lock);
	return spare;
}

struct err *packer_finish(struct packer *packer)
{
	if (!packer->is_running)
		return steal(packer->err);
	pthread_mutex_lock(&packer->lock);
	packer->is_ending = true;
	pthread_cond_broadcast(&packer->changed);
	pthread_mutex_unlock(&packer->lock);
	pthread_join(packer->thread, NULL);
	packer->is_running = false;
	return steal(packer->err);
}
