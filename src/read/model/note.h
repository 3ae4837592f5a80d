/*
 * note: rare events of a tape, as they are on it. Included by model.h.
 */
#ifndef MEMTAPE_MODEL_NOTE_H
#define MEMTAPE_MODEL_NOTE_H

#include "core/core.h"
#include "tape/edit.h"
#include "tape/tape.h"
#include "tape/tape_allocator.h"
#include "tape/tape_attach.h"
#include "tape/tape_exec.h"
#include "tape/tape_import.h"
#include "tape/tape_kernel.h"

struct model;

/* mmap and the like, mallopt, marks, dlopen, fork ...: all rare events, in order of time. */
struct model_note {
	uint64_t ns;
	uint32_t thread; /* MODEL_NO_THREAD: the collector */
	uint32_t stack;
	enum tape_extended type;
	union {
		struct tape_map map; /* do not use its node field: see stack */
		struct tape_setting setting;
		struct tape_fork fork;
		struct tape_mark mark;
		struct tape_fault_record fault;
		struct tape_recorder recorder;
		struct tape_end end;
		struct tape_space space;       /* its text: the lines */
		struct tape_touched touched;   /* likewise, or the reason */
		struct tape_attached attached; /* its text: why something is missing */
		struct tape_tag tag;	       /* its text */
		struct tape_paused paused;
		struct tape_import import;
		struct tape_edit edit; /* its text: the filter */
		struct tape_rotated rotated;
		struct tape_before before;	 /* its text: the program's name */
		struct tape_allocator allocator; /* its text: two lines, name and prefix */
		struct tape_kernel kernel;	 /* do not use its node field either */
		struct tape_kernel_count kernel_count;
		struct tape_huge_lost huge_lost;
		struct tape_node_use node_use; /* its text: the lines */
		struct tape_cgroup cgroup;     /* its text: the name */
		struct tape_member member;     /* nor this node; its text: lines */
		struct tape_member_sums member_sums;
		struct tape_member_usage member_usage;
	};
	const char *text; /* path of exec and dlopen, text of a mark, fault or edit; "" otherwise */
};

size_t model_note_count(const struct model *model);
const struct model_note *model_notes(const struct model *model);

#endif
