/*
 * check: what must hold where functions of the recorder's rooms call each other. In a build with
 * MEMTAPE_CHECKS a condition that does not hold is a trap at that very place; in all others, which
 * is what anybody gets, it is compiled but not evaluated, and not an instruction is left of it.
 *
 * It is for our own mistakes. What the program, the kernel or a file says is never a CHECK.
 */
#ifndef MEMTAPE_CORE_CHECK_H
#define MEMTAPE_CORE_CHECK_H

#ifdef MEMTAPE_CHECKS
#define CHECK(condition) ((condition) ? (void)0 : __builtin_trap())
#else
#define CHECK(condition) ((void)sizeof((condition) ? 1 : 0))
#endif

#endif
