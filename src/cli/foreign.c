#include "cli/foreign.h"

#include <assert.h>

#include "cli/input.h"
#include "convert/convert.h"
#include "session/session.h"

struct err *foreign_check(const char *path)
{
	const struct importer *importer;
	enum input_kind kind = INPUT_TAPE;
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	struct err *err = input_kind_of(path, &kind);

	assert(path);
	err_destroy(err);
	if (err || kind == INPUT_TAPE)
		return NULL;
	importer = convert_probe(path);
	if (!importer)
		return NULL;
	return err_new(ERR_FORMAT,
		       "%s is not a tape but a recording of %s; convert it first: memtape convert "
		       "%s -o %s.mtape",
		       path, importer->name, path, name);
}

struct err *foreign_explain(struct err *err, const char *path)
{
	struct err *better = NULL;

	if (err && session_is(path))
		better = err_new(ERR_USAGE,
				 "%s is a session of processes: `memtape report %s processes` "
				 "lists their tapes",
				 path, path);
	else if (err && err_code_of(err) == ERR_FORMAT)
		better = foreign_check(path);
	if (!better)
		return err;
	err_destroy(err);
	return better;
}
