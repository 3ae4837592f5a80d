/*
 * Included last in every file of core, tape, arch, unwind and rec: code inside the target's malloc
 * cannot name a function that allocates, buffers, locks the loader or ends the process.
 */
#ifndef MEMTAPE_CORE_POISON_H
#define MEMTAPE_CORE_POISON_H

#pragma GCC poison printf fprintf sprintf snprintf vsnprintf puts fputs fopen fdopen fclose fwrite
#pragma GCC poison strdup strndup asprintf vasprintf getline qsort bsearch strerror strtok atexit
#pragma GCC poison abort assert backtrace perror syslog setenv putenv strcpy strcat alloca

#endif
