/*
 * page_tables: which pages of a process have been read or written since their accessed bits were
 * cleared (clear_refs of proc(5)), by the bits themselves: a program in the kernel reads them from
 * the process's page tables. x86-64; needs root, Linux 5.17 and its BTF.
 *
 * The processor sets a bit when it looks a page up, so pages that it still knows from before they
 * were cleared stay without until it has forgotten them: the caller sees to that. A huge page has one
 * bit. One thread at a time.
 */
#ifndef MEMTAPE_BPF_PAGE_TABLES_H
#define MEMTAPE_BPF_PAGE_TABLES_H

#include <sys/types.h>

#include "base/err.h"
#include "bpf/page_runs.h"

struct page_tables;

/*
 * Those of the program that the process runs now. Tries out on memory of ours what is needed. The
 * error says why it is not possible: ERR_UNSUPPORTED, not built in; ERR_STATE, not here or not by
 * this user.
 */
struct err *page_tables_open(pid_t pid, struct page_tables **tables_ret);
void page_tables_close(struct page_tables *tables); /* accepts NULL */
CLEAN_DEFINE(page_tables_close, struct page_tables *);

/*
 * The pages of [begin, end) that have memory behind them, as runs, ascending. Tables that change
 * meanwhile count as accessed. Once the process runs another program, nothing has memory.
 */
struct err *page_tables_read(struct page_tables *tables, uint64_t begin, uint64_t end,
			     const struct page_visitor *visitor);

#endif
