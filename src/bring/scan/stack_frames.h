/*
 * stack_frames: which function a word of a stopped thread's stack belongs to. The stack is unwound with
 * the tables of the program's files, by the unwinder that the recorder has (unwind/rule.h), here
 * with a copy of the stack.
 *
 * Where there are no tables, as for code made at run time, it ends: which functions the words
 * further out belong to is not guessed.
 */
#ifndef MEMTAPE_SCAN_STACK_FRAMES_H
#define MEMTAPE_SCAN_STACK_FRAMES_H

#include "capture/scan_image.h"
#include "model/living.h"
#include "scan/memory.h"
#include "scan/stop.h"
#include "symbol/elf_file.h"
#include "unwind/rule.h"

VEC_DEFINE(scan_image_frames, struct scan_image_frame);

/*
 * The unwind tables of a file, for code addresses that are those of the file plus the bias. The
 * object reads nothing but the file's bytes, which must outlive it. False: it has none.
 */
bool stack_frames_tables(const struct elf_file *file, struct unwind_object *object,
			 uint64_t *bias_ret);

/*
 * The same without the index of the tables, which programs lack that are linked statically: slow for
 * single addresses.
 */
bool stack_frames_section(const struct elf_file *file, struct unwind_object *object,
			  uint64_t *bias_ret);

/* Unwind tables that have been read. All zeros: of none. */
struct frame_tables;

/* NULL: out of memory. living is borrowed. */
struct frame_tables *frame_tables_create(const struct living *living);
void frame_tables_destroy(struct frame_tables *tables); /* accepts NULL */
CLEAN_DEFINE(frame_tables_destroy, struct frame_tables *);

/*
 * Calls visit for the address of the code in each frame, from the innermost one outwards, as far as
 * the stack can be unwound; `end` is that of the memory it is in. False: visit said so, or nothing
 * could be read.
 */
bool stack_frames_walk(struct frame_tables *tables, const struct memory *memory,
		       const struct stop_thread *thread, uint64_t end,
		       bool (*visit)(void *context, uint64_t pc), void *context);

/*
 * Appends the frames of the thread's stack that are in [begin, end), which contains its stack
 * pointer or lies above it, innermost first; they belong to the holder. What cannot be unwound has
 * no frames, which is no error. False: out of memory.
 */
bool stack_frames_find(struct frame_tables *tables, const struct memory *memory,
		       const struct stop_thread *thread, uint64_t begin, uint64_t end,
		       uint32_t holder, struct scan_image_frames *frames);

#endif
