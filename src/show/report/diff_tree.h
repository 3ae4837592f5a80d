/*
 * diff_tree: a comparison stack by stack, as `memtape diff --to folded` and `--to json` write it.
 */
#ifndef MEMTAPE_REPORT_DIFF_TREE_H
#define MEMTAPE_REPORT_DIFF_TREE_H

#include <stdio.h>

#include "compare/diff_tree.h"

/* "main;parse;read_block 4096 8192": each stack with what A and B have of it. */
struct err *diff_tree_write_folded(const struct diff_tree *tree, FILE *out);

/* All nodes, callers before those they called; parent is a position in the list. */
struct err *diff_tree_write_json(const struct diff_tree *tree, FILE *out);

#endif
