/*
 * data_export: a selection as another tool's file, for the routes /data/<id>/export/... Internal to
 * http.
 */
#ifndef MEMTAPE_HTTP_BYTEHOUND_DATA_EXPORT_H
#define MEMTAPE_HTTP_BYTEHOUND_DATA_EXPORT_H

#include "http/call.h"

/* In the export format of that name; its metric is all bytes allocated. */
struct err *data_export(struct call *call, const char *format);

#endif
