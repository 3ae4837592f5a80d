/*
 * first_process: memtape as the first process of a container. That one must wait for orphans, which
 * nobody else does, and gets no signal that it has not asked for: neither is what a command that
 * records another program has been written for.
 */
#ifndef MEMTAPE_CLI_FIRST_PROCESS_H
#define MEMTAPE_CLI_FIRST_PROCESS_H

/*
 * In process 1: returns in a child, which is to go on in its place. The first process hands on
 * signals from other processes, waits for all that end, and exits as the child does: with its exit
 * code, or 128 and the number of its signal. Elsewhere, or where there can be no child, does nothing.
 * Before there is any thread.
 */
void first_process_split(void);

#endif
