/*
 * caption: text above pictures of a tape.
 */
#ifndef MEMTAPE_CLI_CAPTION_H
#define MEMTAPE_CLI_CAPTION_H

#include "base/str.h"
#include "cli/reading.h"

/* The command line, truncated if it is too long. */
void caption_command(struct str *text, const struct model_process *process);

/* Pid, start and duration, allocated bytes, losses, and the selected part. */
void caption_facts(struct str *text, const struct model *model,
		   const struct reading_part_options *part);

#endif
