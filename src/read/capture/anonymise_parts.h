/* anonymise_parts: shared by anonymise*.c. Internal to capture. */
#ifndef MEMTAPE_CAPTURE_ANONYMISE_PARTS_H
#define MEMTAPE_CAPTURE_ANONYMISE_PARTS_H

#include "base/map.h"
#include "base/str.h"
#include "capture/anonymise.h"
#include "capture/shift.h"

/* The result of a leak scan, as far as its parts came. */
struct anonymise_scan {
	uint32_t id;
	uint64_t ticks; /* of the first part */
	uint64_t total_bytes;
	struct vec_u8 bytes;
};

VEC_DEFINE(anonymise_scans, struct anonymise_scan);

struct anonymise {
	const struct capture *capture;
	const struct anonymise_settings *settings;
	struct shift *shift;
	struct map pids;      /* of processes and threads */
	uint64_t realtime_ns; /* when the recording began */
	struct str text;      /* a text of the record, with its NUL */
	struct vec_u8 out;    /* the record's new payload */
	struct anonymise_scans scans;
};

/* Writes the payload of a record with everything replaced to out; nothing: drop the record. */
struct err *anonymise_payload(struct anonymise *anonymise, enum tape_extended type, uint64_t ticks,
			      const uint8_t *bytes, size_t count);

/* Keeps a part of a scan's result; anonymise_scans_write writes them all. */
struct err *anonymise_scan_part(struct anonymise *anonymise, uint64_t ticks, const uint8_t *payload,
				size_t count);
struct err *anonymise_scans_write(struct anonymise *anonymise, struct packed_stream *collector);
void anonymise_scans_free(struct anonymise *anonymise);

/* A replacement number for each process and thread except 0. *err: nothing is done, or what went wrong. */
uint32_t anonymise_pid(struct anonymise *anonymise, uint32_t pid, struct err **err);

uint64_t anonymise_realtime(const struct anonymise *anonymise, uint64_t realtime_ns);

/* Adds bytes to the payload that is written. */
static inline struct err *anonymise_put(struct anonymise *anonymise, const void *bytes,
					size_t count)
{
	struct vec_u8 *out = &anonymise->out;

	if (!vec_u8_reserve(out, out->count + count + 1))
		return err_nomem();
	if (count > 0)
		memcpy(out->items + out->count, bytes, count);
	out->count += count;
	return NULL;
}

static inline uint64_t anonymise_address(const struct anonymise *anonymise, uint64_t address)
{
	return address == UINT64_MAX ? address : shift_address(anonymise->shift, address);
}

/* The rest of a record. */
struct payload {
	const uint8_t *bytes;
	size_t count;
};

/* The struct at the beginning; false: it is truncated. */
static inline bool payload_take(struct payload *payload, void *out, size_t count)
{
	if (payload->count < count)
		return false;
	memcpy(out, payload->bytes, count);
	payload->bytes += count;
	payload->count -= count;
	return true;
}

/* A text of len bytes, replaced; NUL-terminated if it was. */
struct err *anonymise_text(struct anonymise *anonymise, enum anonymise_kind kind, const char *text,
			   size_t len, bool is_ended);

/* SPACE, NODE_USE or HUGE_LOST. */
struct err *anonymise_space(struct anonymise *anonymise, enum tape_extended type,
			    struct payload rest);

/* Lines of ranges, each with or without a name. */
struct err *anonymise_space_lines(struct anonymise *anonymise, struct payload rest);

#endif
