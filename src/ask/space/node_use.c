#include "space/node_use.h"

#include <assert.h>
#include <stdlib.h>

#include "space/mappings_image.h"

enum { NS_PER_MS = 1000000, KIB_BITS = 10 };

static const uint64_t VALUE_MAX = UINT64_C(1) << 40; /* KiB, ms: what is more is nonsense */

static bool take_number(const char **at, uint64_t *value_ret)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	*value_ret = u64_min(strtoull(*at, &end, 10), VALUE_MAX);
	*at = end;
	return true;
}

/* "N:KIB" or "N:KIB:MS", and a comma if there are more. */
static bool take_node(const char **at, bool has_ms, uint64_t *node_ret, uint64_t *kib_ret,
		      uint64_t *ms_ret)
{
	if (!take_number(at, node_ret) || *(*at)++ != ':' || !take_number(at, kib_ret))
		return false;
	if (has_ms && (*(*at)++ != ':' || !take_number(at, ms_ret)))
		return false;
	*at += **at == ',';
	return true;
}

bool node_sums_parse(const char *line, struct node_look *look)
{
	static const char head[] = "0 0 ";
	const char *at = line + strlen(head);
	uint64_t node, kib, ms;

	if (strncmp(line, head, strlen(head)) != 0)
		return false;
	while (*at && *at != '\n') {
		if (!take_node(&at, true, &node, &kib, &ms))
			return false;
		if (node >= NODE_USE_MAX)
			continue;
		look->set |= UINT64_C(1) << node;
		look->bytes[node] = kib << KIB_BITS;
		look->cpu_ns[node] = ms * NS_PER_MS;
	}
	return true;
}

bool node_range_parse(const char *line, struct node_range *range_ret)
{
	struct node_range range = { 0 };
	const char *at = mappings_image_range(line, &range.begin, &range.end);
	uint64_t node, kib;

	while (at && *at && *at != '\n') {
		if (!take_node(&at, false, &node, &kib, NULL))
			return false;
		if (node < NODE_USE_MAX)
			range.bytes[node] = kib << KIB_BITS;
	}
	if (!at || range.begin >= range.end)
		return false;
	*range_ret = range;
	return true;
}

struct err *node_looks_find(const struct model *model, struct node_look_vec *looks_ret)
{
	struct node_look_vec looks = { 0 };
	struct node_look look = { 0 };
	uint32_t next_part = 0; /* 0: none is being read */

	for (size_t i = 0; i < model_note_count(model); i++) {
		const struct model_note *note = &model_notes(model)[i];
		const struct tape_node_use *use = &note->node_use;

		if (note->type != TAPE_EXT_NODE_USE)
			continue;
		if (use->part == 0) {
			look = (struct node_look) { .ns = model_ns(model, use->begin_ticks),
						    .first_note = i };
			next_part = node_sums_parse(note->text, &look) ? 1 : 0;
		} else if (use->part == next_part && next_part > 0) {
			next_part++;
		} else {
			next_part = 0; /* a part was lost, and so the look */
		}
		look.last_note = i;
		if (next_part == 0 || !(use->flags & TAPE_NODE_USE_LAST))
			continue;
		next_part = 0;
		if (!node_look_vec_push(&looks, look)) {
			node_look_vec_deinit(&looks);
			return err_nomem();
		}
	}
	*looks_ret = looks;
	return NULL;
}

void node_look_each(const struct model *model, const struct node_look *look,
		    void (*visit)(void *context, const struct node_range *range), void *context)
{
	struct node_range range;

	assert(look->last_note < model_note_count(model));
	for (size_t i = look->first_note; i <= look->last_note; i++) {
		const struct model_note *note = &model_notes(model)[i];
		const char *line = note->text;

		if (note->type != TAPE_EXT_NODE_USE || note->node_use.part == 0)
			continue;
		for (; *line; line += strcspn(line, "\n"), line += *line == '\n')
			if (node_range_parse(line, &range))
				visit(context, &range);
	}
}

unsigned node_look_home(const struct node_look *look, unsigned *percent_ret)
{
	const uint64_t all = node_bytes_sum(look->cpu_ns);
	unsigned home = 0;

	for (unsigned i = 1; i < NODE_USE_MAX; i++)
		if (look->cpu_ns[i] > look->cpu_ns[home])
			home = i;
	*percent_ret = all ? (unsigned)(100.0 * (double)look->cpu_ns[home] / (double)all) : 0;
	return home;
}

uint64_t node_bytes_sum(const uint64_t bytes[NODE_USE_MAX])
{
	uint64_t sum = 0;

	for (size_t i = 0; i < NODE_USE_MAX; i++)
		sum += bytes[i];
	return sum;
}
