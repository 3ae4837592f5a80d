#include <assert.h>

#include "base/str.h"
#include "base/vec.h"
#include "questions/questions.h"
#include "questions/verification.h"

static const struct member damage_members[] = {
	MEMBER(struct damage, offset, PLAIN, "byte of the file"),
	MEMBER(struct damage, text, TEXT, "what is wrong there", .left = true),
};
static const struct shape shape_damage = SHAPE("Damage", struct damage, damage_members);

static const struct member verification_members[] = {
	MEMBER(struct verification, sound, FLAG, "whether nothing is wrong"),
	MEMBER(struct verification, file_bytes, BYTES, NULL),
	MEMBER(struct verification, chunks, COUNT, "that are there"),
	MEMBER(struct verification, open_chunks, COUNT,
	       "never closed: killed, or still being recorded"),
	MEMBER(struct verification, missing_chunks, COUNT, "gaps in their numbers"),
	MEMBER(struct verification, events, COUNT, "that can be read"),
	MEMBER(struct verification, killed, TEXT, "what it means that memtape was killed",
	       .nullable = true),
	MEMBER(struct verification, damage, ROWS, "in the order it was found",
	       .shape = &shape_damage),
};
const struct shape shape_verification =
	SHAPE("Verification", struct verification, verification_members);

VEC_DEFINE(damages, struct damage);

struct visit {
	struct arena *arena;
	struct damages damages;
	struct verification *found;
	bool is_out_of_memory;
};

static void damage_add(struct visit *visit, uint64_t offset, const char *text)
{
	const char *copy = arena_strdup(visit->arena, text);

	if (!copy || !damages_push(&visit->damages, (struct damage) { offset, copy }))
		visit->is_out_of_memory = true;
}

static void chunk_visit(void *context, const struct capture_chunk *chunk, uint64_t event_count,
			const char *error)
{
	struct visit *visit = context;

	visit->found->chunks++;
	visit->found->open_chunks += chunk->is_open;
	visit->found->events += event_count;
	if (error)
		damage_add(visit, chunk->offset, error);
}

static void known_damage_add(const struct capture *capture, struct visit *visit)
{
	const struct capture_facts *facts = capture_facts(capture);
	CLEAN(str_deinit) struct str text = { 0 };

	for (size_t i = 0; i < capture_damage_count(capture); i++)
		damage_add(visit, capture_damage_get(capture, i)->offset,
			   capture_damage_get(capture, i)->text);
	if (facts->missing_chunk_count == 0)
		return;
	str_printf(&text, "%llu chunks are missing: gaps in the numbers of those that are there",
		   (unsigned long long)facts->missing_chunk_count);
	damage_add(visit, facts->file_bytes, str_text(&text));
}

static struct err *damage_take(struct visit *visit)
{
	const size_t count = visit->damages.count;
	struct damage *items = arena_array(visit->arena, count, sizeof(*items));

	if (visit->is_out_of_memory || !items)
		return err_nomem();
	if (count > 0)
		memcpy(items, visit->damages.items, count * sizeof(*items));
	visit->found->damage = (struct shape_rows) { .items = items, .count = count };
	visit->found->sound = count == 0;
	return NULL;
}

struct err *verification_find(const struct capture *capture, struct arena *arena,
			      struct verification *verification_ret)
{
	const struct capture_facts *facts = capture_facts(capture);
	struct visit visit = { .arena = arena, .found = verification_ret };
	struct err *err;

	*verification_ret = (struct verification) {
		.file_bytes = facts->file_bytes,
		.missing_chunks = facts->missing_chunk_count,
		.killed = capture_killed_text(capture),
	};
	known_damage_add(capture, &visit);
	err = capture_verify(capture, chunk_visit, &visit);
	if (!err)
		err = damage_take(&visit);
	damages_deinit(&visit.damages);
	return err;
}

static struct err *ask(const struct asked *asked, void *result)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	struct verification *verification = result;
	struct err *err;

	assert(asked->tape_path);
	err = capture_open(asked->tape_path, &capture);
	if (!err)
		err = verification_find(capture, asked->arena, verification);
	if (err || !verification->killed)
		return err;
	verification->killed = arena_strdup(asked->arena, verification->killed);
	return verification->killed ? NULL : err_nomem();
}

const struct question question_verify = {
	.name = "verify",
	.summary = "whether the tape is whole: every chunk decoded and checked",
	.one_process = true,
	.shape = &shape_verification,
	.depth = MODEL_SUMMARY,
	.ignores_leaks = true,
	.is_patient = true,
	.ask = ask,
};
