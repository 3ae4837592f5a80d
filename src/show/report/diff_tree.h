/*
 * diff_tree: a comparison by stack, as written by `memtape diff --to folded` and `--to json`.
 */
#ifndef MEMTAPE_REPORT_DIFF_TREE_H
#define MEMTAPE_REPORT_DIFF_TREE_H

#include <stdio.h>

#include "compare/diff_tree.h"

/* "main;parse;read_block 4096 8192": each stack with its values in A and B. */
struct err *diff_tree_write_folded(const struct diff_tree *tree, FILE *out);

/* All nodes, callers before callees; parent is an index in the list. */
struct err *diff_tree_write_json(const struct diff_tree *tree, FILE *out);

#endif
