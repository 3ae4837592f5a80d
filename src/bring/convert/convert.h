/*
 * convert: another tool's recording becomes a tape.
 */
#ifndef MEMTAPE_CONVERT_CONVERT_H
#define MEMTAPE_CONVERT_CONVERT_H

#include "base/str.h"
#include "convert/importer.h"

struct convert_settings {
	const struct importer *importer; /* NULL: the one that knows the file */
	bool overwrite;
	/* Now and then, while it takes time; NULL: not called. total_bytes 0: unknown. */
	void (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes);
	void *context;
};

struct converted {
	const struct importer *importer;
	uint64_t bytes_in; /* of the file as it is */
	uint64_t bytes_out;
	uint64_t event_count;
	uint32_t missing; /* enum tape_missing */
	bool is_torn;	  /* not all of it could be read; the notes say why */
	struct str notes; /* a line each; the caller's */
};

/*
 * Reads the file `in` and writes the tape `out`, which must not exist unless settings->overwrite
 * and appears only when all has gone well. ERR_FORMAT: unknown format, or nothing can be
 * made of the file. The file is read once, so it may be a pipe.
 */
struct err *convert_file(const char *in, const char *out, const struct convert_settings *settings,
			 struct converted *converted_ret);

/*
 * The importer that knows the file at this path, or NULL: for those who were given a file that is
 * no tape. Any trouble with reading it is NULL, too.
 */
const struct importer *convert_probe(const char *path);

#endif
