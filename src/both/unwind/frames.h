/*
 * frames: finding and reading the entry of .eh_frame (an FDE and its CIE) that covers a pc.
 *
 * Private to the room. Everything is checked against the mapped segment the section lies in, so
 * malformed tables cannot make us read elsewhere. Reads only; async-signal-safe.
 */
#ifndef MEMTAPE_UNWIND_FRAMES_H
#define MEMTAPE_UNWIND_FRAMES_H

#include "unwind/bytes.h"
#include "unwind/rule.h"

/* One function's unwind information; the programs are bounded and borrowed from the section. */
struct frame_entry {
	uint64_t pc_begin;
	uint64_t pc_end;
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_reg;
	uint8_t pointer_encoding;
	bool has_augmentation_size; /* 'z': FDEs carry a sized block before their program */
	bool is_signal;		    /* 'S' */
	bool is_read;		    /* there is no entry, the code itself was read */
	int32_t above_sp;	    /* FRAMES_SIGRETURN: bytes to the kernel's ucontext */
	struct bytes initial;	    /* the CIE's program */
	struct bytes program;	    /* the FDE's */
};

enum frames_found {
	FRAMES_NONE,	  /* no entry covers the pc, or it is malformed */
	FRAMES_ENTRY,	  /* *ret is filled */
	FRAMES_SIGRETURN, /* signal trampoline known by its code */
	/*
	 * Nothing before the first byte of a function: no call left that return address, the stack
	 * was built by hand (makecontext(), coroutine libraries) and it ends here.
	 */
	FRAMES_BOTTOM
};

/* Everything known of the code at pc. */
enum frames_found frames_find(const struct unwind_object *object, uint64_t pc,
			      struct frame_entry *ret);

/*
 * The next entry of the section, in its order; *at is NULL at first and says where to go on. False:
 * there are no more. What is malformed is left out.
 */
bool frames_next(const struct unwind_object *object, const uint8_t **at, struct frame_entry *ret);

/* Bytes of one of the two numbers of a search table entry, 0: such a table cannot be searched. */
size_t frames_table_width(uint8_t encoding);

#endif
