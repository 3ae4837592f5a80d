/*
 * Stacks of the processes of a session as those of one tape. The same object is at another address
 * in each process: all have the place that it gets from the composer, among addresses at which no
 * program has code. Code that is in no object keeps its address.
 */
#include "convert/merge_parts.h"

/* Where the composer moves what comes there: docs/tape-format.md. */
static const uint64_t PLACE = UINT64_C(1) << 44;

bool merge_root_make(struct merge *merge, const char *name, uint32_t pid, uint32_t *stack_ret)
{
	CLEAN(str_deinit) struct str text = { 0 };
	uint64_t *same;
	uint32_t frame;

	str_printf(&text, "%s %u", name, pid);
	same = text.failed ? NULL : map_put(&merge->roots, hash_bytes(text.ptr, text.len, 0), NULL);
	if (!same)
		return false;
	if (++*same > 1) /* it executed itself */
		str_printf(&text, " #%llu", (unsigned long long)*same);
	if (text.failed)
		return false;
	frame = composer_frame(merge->composer,
			       &(struct compose_frame) {
				       .module = merge->processes_module,
				       .names = &(struct compose_name) { .function = text.ptr },
				       .name_count = 1,
			       });
	*stack_ret = composer_stack(merge->composer, COMPOSE_ROOT, frame);
	return !composer_failed(merge->composer);
}

/* NULL: out of memory. */
static const struct merge_object *object_find(struct merge *merge,
					      const struct capture_module *module)
{
	CLEAN(str_deinit) struct str key = { 0 };
	const uint32_t known = merge->object_keys.count;
	struct merge_object object = { .bytes = module->end - module->begin };
	uint32_t id;

	str_printf(&key, "%llx ", (unsigned long long)object.bytes);
	str_add_bytes(&key, (const char *)module->build_id, module->build_id_bytes);
	str_add_char(&key, '/');
	str_add(&key, module->path);
	id = key.failed ? UINT32_MAX : interner_put(&merge->object_keys, key.ptr, key.len);
	if (id == UINT32_MAX)
		return NULL;
	if (id < known)
		return &merge->objects.items[id];
	object.module = composer_module(merge->composer,
					&(struct compose_module) {
						.path = module->path,
						.build_id = module->build_id,
						.build_id_bytes = module->build_id_bytes,
						.begin = PLACE,
						.end = PLACE + object.bytes,
						.bias = PLACE - (module->begin - module->bias),
					});
	return merge_objects_push(&merge->objects, object) ? &merge->objects.items[id] : NULL;
}

/* False: out of memory. */
static bool frame_make(struct merge *merge, const struct capture_stack *stack, uint32_t *frame_ret)
{
	struct compose_frame frame = { .pc = stack->pc, .exact = stack->exact };

	if (stack->module != CAPTURE_MODULE_NONE) {
		const struct capture_module *module = model_module(merge->model, stack->module);
		const struct merge_object *object =
			module->end > module->begin ? object_find(merge, module) : NULL;

		if (!object && module->end > module->begin)
			return false;
		if (object) {
			frame.module = object->module;
			frame.pc = stack->pc - module->begin + PLACE;
		}
	}
	if (frame.pc == 0)
		frame.pc = 1;
	*frame_ret = composer_frame(merge->composer, &frame);
	return true;
}

/* Of those that are no frames. */
static uint32_t special(struct merge *merge, uint32_t stack)
{
	const uint32_t root = merge_now(merge)->root;

	if (stack != CAPTURE_STACK_TRUNCATED)
		return root;
	return composer_stack(merge->composer, COMPOSE_TRUNCATED,
			      merge->composer->stacks.items[root].frame);
}

/* Parents have lower numbers: the path to one that is known, and back. */
uint32_t merge_stack(struct merge *merge, uint32_t stack)
{
	const struct capture_stack *stacks = model_stacks(merge->model);
	uint32_t path[COMPOSE_DEPTH_MAX];
	size_t depth = 0;
	uint32_t found, frame;

	for (; merge->stacks.items[stack] == UINT32_MAX && stack >= CAPTURE_STACK_FIRST &&
	       depth < array_size(path);
	     stack = stacks[stack].parent)
		path[depth++] = stack;
	found = merge->stacks.items[stack];
	if (found == UINT32_MAX)
		found = merge->stacks.items[stack] = special(
			merge, stack < CAPTURE_STACK_FIRST ? stack : CAPTURE_STACK_TRUNCATED);
	while (depth > 0) {
		if (!frame_make(merge, &stacks[path[--depth]], &frame))
			return UINT32_MAX;
		if (merge->composer->stacks.items[found].depth + 1 < COMPOSE_DEPTH_MAX)
			found = composer_stack(merge->composer, found, frame);
		merge->stacks.items[path[depth]] = found;
	}
	return composer_failed(merge->composer) ? COMPOSE_ROOT : found;
}
