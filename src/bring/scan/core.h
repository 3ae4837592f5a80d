/*
 * core: a core dump, written by the kernel or by gdb's gcore: its threads with their registers, its
 * mappings, and the memory of the program. Pages that a core leaves out because a file has them are
 * read from the file, if that is still the same.
 *
 * A core is hostile bytes: the result is an error, or a core of which less can be read.
 */
#ifndef MEMTAPE_SCAN_CORE_H
#define MEMTAPE_SCAN_CORE_H

#include "base/err.h"
#include "base/str.h"
#include "scan/maps.h"
#include "scan/memory.h"
#include "scan/stop.h"

enum { CORE_NO_FILE = UINT32_MAX };

/* Where the bytes of a mapping are: maps.entries[i] has pieces[i]. */
struct core_piece {
	uint64_t offset, bytes; /* in the core; behind them come those of a file */
	uint64_t file_offset;	/* of the mapping's beginning */
	uint32_t file;		/* index, or CORE_NO_FILE */
};

VEC_DEFINE(core_pieces, struct core_piece);

struct core_file {
	uint32_t name;	 /* offset in maps.texts */
	int fd;		 /* -1: it cannot be read, or */
	bool is_changed; /* is not what the program had mapped */
};

VEC_DEFINE(core_files, struct core_file);

struct core {
	int fd;
	struct maps maps;   /* inode: of files, 1 + index of the file */
	struct stop stop;   /* threads; nothing is held */
	pid_t pid;	    /* 0: unknown */
	int signal;	    /* that ended the program; 0: none */
	uint64_t header_at; /* address of the executable's program headers; 0: unknown */
	uint64_t until_ns;  /* realtime: when the core was written */
	struct core_pieces pieces;
	struct core_files files;
};

/*
 * exe: where the executable is now; NULL: where it was. Errors: ERR_FORMAT, ERR_UNSUPPORTED, and
 * ERR_STATE: the core is truncated, or of another program. Undone by core_close.
 */
struct err *core_open(const char *path, const char *exe, struct core *core);

/* The same of an open file, which is borrowed; name is for messages. */
struct err *core_open_fd(int fd, const char *name, const char *exe, struct core *core);
void core_close(struct core *core);
CLEAN_DEFINE_DEINIT(core_close, struct core);

struct memory core_memory(const struct core *core); /* borrows it */

/* The path of the executable when the program ran; "": unknown. */
const char *core_exe(const struct core *core);

#endif
