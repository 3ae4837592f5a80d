/*
 * process_list: the processes that there are to attach to, as `memtape attach --list` and the server
 * show them.
 */
#ifndef MEMTAPE_CLI_PROCESS_LIST_H
#define MEMTAPE_CLI_PROCESS_LIST_H

#include "base/arena.h"
#include "http/processes.h"

/* In the arena. */
struct err *process_list_find(struct arena *arena, struct process_list *list);

struct err *process_list_print(bool is_json);

#endif
