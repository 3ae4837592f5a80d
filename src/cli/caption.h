/*
 * caption: what stands above pictures of a tape.
 */
#ifndef MEMTAPE_CLI_CAPTION_H
#define MEMTAPE_CLI_CAPTION_H

#include "base/str.h"
#include "cli/reading.h"

/* The command line, as long as it is not too long. */
void caption_command(struct str *text, const struct model_process *process);

/* Its pid, when and how long it ran, how much it allocated, what was lost; which part is meant. */
void caption_facts(struct str *text, const struct model *model,
		   const struct reading_part_options *part);

#endif
