#include "export/export.h"

const struct export_format *export_find(const char *name)
{
	for (const struct export_format *const *at = export_table; *at; at++) {
		if (strcmp((*at)->name, name) == 0)
			return *at;
	}
	return NULL;
}
