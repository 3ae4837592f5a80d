/*
 * node_use: on which NUMA nodes a program's memory was and its threads ran, from NODE_USE records
 * (tape/tape_usage.h). Their lines are foreign: what is malformed is skipped.
 */
#ifndef MEMTAPE_SPACE_NODE_USE_H
#define MEMTAPE_SPACE_NODE_USE_H

#include "base/vec.h"
#include "model/model.h"

enum { NODE_USE_MAX = 64 /* higher numbers are left out */ };

/* A complete look. Its notes are first_note .. last_note. */
struct node_look {
	uint64_t ns;
	size_t first_note, last_note;
	uint64_t set;		       /* of nodes, 1 << number */
	uint64_t bytes[NODE_USE_MAX];  /* of memory then */
	uint64_t cpu_ns[NODE_USE_MAX]; /* of processor time until then: an estimate */
};

VEC_DEFINE(node_look_vec, struct node_look);

/* In order of time; the caller's, as after node_look_vec_deinit() if there are none. */
struct err *node_looks_find(const struct model *model, struct node_look_vec *looks_ret);

/* A mapping in a look. */
struct node_range {
	uint64_t begin, end;
	uint64_t bytes[NODE_USE_MAX];
};

/* Calls visit for the mappings of a look, which are its larger ones. */
void node_look_each(const struct model *model, const struct node_look *look,
		    void (*visit)(void *context, const struct node_range *range), void *context);

/* "0 0 0:KIB:MS,1:KIB:MS"; false: it is something else. Adds set, bytes and cpu_ns. */
bool node_sums_parse(const char *line, struct node_look *look);

/* "BEGIN END 0:KIB,1:KIB"; false: it is malformed. */
bool node_range_parse(const char *line, struct node_range *range_ret);

/* The node with most processor time; its share in percent, 0 if nothing is known to have run. */
unsigned node_look_home(const struct node_look *look, unsigned *percent_ret);

uint64_t node_bytes_sum(const uint64_t bytes[NODE_USE_MAX]);

#endif
