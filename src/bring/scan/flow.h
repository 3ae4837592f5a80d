/*
 * flow: the dominators of a flow graph: of each vertex the last one that is on every way to it from
 * the root.
 */
#ifndef MEMTAPE_SCAN_FLOW_H
#define MEMTAPE_SCAN_FLOW_H

#include "base/err.h"
#include "base/vec.h"

struct flow_edge {
	uint32_t from, to;
};

VEC_DEFINE(flow_edges, struct flow_edge);

/* Vertex 0 is the root, to which no edge leads; every other can be reached from it. */
struct flow {
	struct flow_edges edges; /* any order; there may be several alike */
	uint32_t vertex_count;	 /* less than UINT32_MAX */
};

/*
 * dominators has room for vertex_count; that of the root is 0. The edges are changed. Time: edges
 * times their logarithm; memory of its own: 8 bytes an edge, 60 a vertex. The only error is
 * ERR_NOMEM.
 */
struct err *flow_dominators(struct flow *flow, uint32_t *dominators);

#endif
