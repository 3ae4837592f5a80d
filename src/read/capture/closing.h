/*
 * closing: data found only in the header page of a raw tape or spool - losses, why recording
 * stopped - as records of the collector's stream, as in packed tapes. Internal to capture.
 */
#ifndef MEMTAPE_CAPTURE_CLOSING_H
#define MEMTAPE_CAPTURE_CLOSING_H

#include "capture/capture.h"
#include "capture/packed_stream.h"

struct err *closing_write(const struct capture *capture, struct packed_stream *stream);

#endif
