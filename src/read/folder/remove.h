/*
 * remove: a tape is removed with its index and its spool; a session as a whole. It is taken first
 * (folder/use.h): whoever writes, receives or sends it keeps it. From there to its end nobody can begin
 * to write it, so what was looked at is what is removed.
 */
#ifndef MEMTAPE_FOLDER_REMOVE_H
#define MEMTAPE_FOLDER_REMOVE_H

#include "folder/folder.h"

/*
 * only_looks: nothing is removed, but found out whether it could be. ERR_STATE: it is in use, or another
 * file has its name now; other errors: it could not be removed, or (a session) only in part.
 */
struct err *folder_tape_remove(const struct folder_tape *tape, bool only_looks);

#endif
