/*
 * follow: which descendants of the started program are recorded, if names are given
 * (MEMTAPE_FOLLOW: comma-separated patterns). The others run as without us, and keep the
 * environment: programs that they start are checked again. A program is matched by the name of its
 * file and by the name it was started with, which differ for links and scripts.
 */
#include "rec/spool.h"

#include <sys/auxv.h>

#include "core/glob.h"
#include "core/hash.h"
#include "rec/path.h"

#include "core/poison.h"

enum { NAME_BYTES = 256 };

static const char *behind_slash(const char *path)
{
	const char *name = path;

	for (; *path; path++)
		if (*path == '/')
			name = path + 1;
	return name;
}

static bool is_named(const char *names)
{
	const char *started = (const char *)getauxval(AT_EXECFN);
	char file[NAME_BYTES];

	return (rec_path_expand("%e", 0, file, sizeof(file)) && glob_list_matches(names, file)) ||
	       (started && glob_list_matches(names, behind_slash(started)));
}

void rec_follow_init(void)
{
	const char *names = rec_env_get("MEMTAPE_FOLLOW");
	const char *spool = rec_env_get("MEMTAPE_SPOOL");

	rec.is_unnamed = rec.options.follow && names && names[0] && !is_named(names);
	rec.session = spool && spool[0] ? hash_bytes(spool, strlen(spool), 0) : 0;
}

bool rec_follow_is_left_out(void)
{
	const char *spool = rec_env_get("MEMTAPE_SPOOL");

	return rec.is_unnamed && !(spool && spool[0] && rec_spool_is_ours(spool));
}
