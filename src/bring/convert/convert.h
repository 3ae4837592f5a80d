/*
 * convert: turns another tool's recording into a tape.
 */
#ifndef MEMTAPE_CONVERT_CONVERT_H
#define MEMTAPE_CONVERT_CONVERT_H

#include "base/str.h"
#include "convert/importer.h"

struct convert_settings {
	const struct importer *importer; /* NULL: detected */
	bool overwrite;
	/* Called periodically while converting; NULL: not called. total_bytes 0: unknown. */
	void (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes);
	void *context;
};

struct converted {
	const struct importer *importer;
	uint64_t bytes_in; /* of the file as stored */
	uint64_t bytes_out;
	uint64_t event_count;
	uint32_t missing; /* enum tape_missing */
	bool is_torn;	  /* not read completely; the notes say why */
	struct str notes; /* one per line; owned by the caller */
};

/*
 * Reads the file `in` and writes the tape `out`, which must not exist unless settings->overwrite
 * and appears only on success. ERR_FORMAT: unknown format, or unusable contents. The file is read
 * once, so it may be a pipe.
 */
struct err *convert_file(const char *in, const char *out, const struct convert_settings *settings,
			 struct converted *converted_ret);

/*
 * The importer that recognizes the file at this path, or NULL: for callers given a file that is not
 * a tape. Errors reading it also give NULL.
 */
const struct importer *convert_probe(const char *path);

#endif
