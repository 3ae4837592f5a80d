/*
 * prune: removes the oldest tapes of a folder until it keeps no more than it is to keep. Age is that of
 * the last write. Never removed: what is in use, symbolic links (which count as nothing), and the tape
 * that was written last, whatever the rules say.
 */
#ifndef MEMTAPE_FOLDER_PRUNE_H
#define MEMTAPE_FOLDER_PRUNE_H

#include "folder/folder.h"
#include "folder/keep.h"

enum prune_rule { PRUNE_AGE, PRUNE_COUNT, PRUNE_BYTES };

enum prune_outcome { PRUNE_REMOVED, PRUNE_IN_USE, PRUNE_FAILED };

struct prune_step {
	const struct folder_tape *tape;
	enum prune_rule rule; /* by which it goes */
	enum prune_outcome outcome;
	const char *reason; /* why it is still there; NULL: REMOVED */
};

struct prune_counts {
	uint64_t removed_count, removed_bytes;
	uint64_t kept_count, kept_bytes; /* what is left; links are not counted */
	uint64_t in_use_count;		 /* of these, what the rules would remove; likewise: */
	uint64_t failed_count;
};

/*
 * now_ns: since 1970. dry: nothing is removed, and the steps say what would be. The visitor (may be
 * NULL) is called for each tape that the rules name, oldest first.
 */
struct prune_counts folder_prune(const struct folder *folder, const struct keep_rules *rules,
				 uint64_t now_ns, bool dry,
				 void (*visit)(void *context, const struct prune_step *step),
				 void *context);

#endif
