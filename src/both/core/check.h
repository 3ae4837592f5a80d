/*
 * check: preconditions between functions of the recorder's rooms. In a build with MEMTAPE_CHECKS a
 * condition that does not hold traps on the spot; in all others, including releases, it is compiled
 * but not evaluated and leaves no instruction.
 *
 * It is for our own bugs. Input from the program, the kernel or a file is never CHECKed.
 */
#ifndef MEMTAPE_CORE_CHECK_H
#define MEMTAPE_CORE_CHECK_H

#ifdef MEMTAPE_CHECKS
#define CHECK(condition) ((condition) ? (void)0 : __builtin_trap())
#else
#define CHECK(condition) ((void)sizeof((condition) ? 1 : 0))
#endif

#endif
