/*
 * Leak scans: a result is in parts, so it is gathered, changed as a whole and written at the end of
 * the tape. One that is damaged is left out.
 */
#include <assert.h>

#include "capture/anonymise_parts.h"
#include "capture/scan_image.h"

enum { PART_BYTES_MAX = TAPE_RECORD_BYTES_MAX - 64 };

struct err *anonymise_scan_part(struct anonymise *anonymise, uint64_t ticks, const uint8_t *payload,
				size_t count)
{
	struct anonymise_scan *scan = NULL;
	struct tape_scan_part part;

	if (count < sizeof(part))
		return NULL;
	memcpy(&part, payload, sizeof(part));
	count -= sizeof(part);
	for (size_t i = 0; i < anonymise->scans.count; i++)
		if (anonymise->scans.items[i].id == part.id)
			scan = &anonymise->scans.items[i];
	if (!scan) {
		if (!anonymise_scans_push(&anonymise->scans,
					  (struct anonymise_scan) {
						  .id = part.id,
						  .ticks = ticks,
						  .total_bytes = part.total_bytes,
					  }))
			return err_nomem();
		scan = &anonymise->scans.items[anonymise->scans.count - 1];
	}
	if (part.total_bytes > SCAN_IMAGE_BYTES_MAX || part.total_bytes != scan->total_bytes ||
	    part.offset != scan->bytes.count || count > part.total_bytes - part.offset)
		return NULL;
	if (!vec_u8_reserve(&scan->bytes, scan->bytes.count + count + 1))
		return err_nomem();
	if (count > 0)
		memcpy(scan->bytes.items + scan->bytes.count, payload + sizeof(part), count);
	scan->bytes.count += count;
	return NULL;
}

/* 0 is the empty text, also of an image without texts. */
static const char *text_of(const struct scan_image *image, uint32_t place)
{
	return place ? image->texts + place : "";
}

/* The place of the text's replacement in `texts`. */
static struct err *text_move(struct anonymise *anonymise, enum anonymise_kind kind,
			     const char *text, struct vec_u8 *texts, uint32_t *place_ret)
{
	const char *now =
		text[0] ? anonymise->settings->text(anonymise->settings->context, kind, text) : "";
	const size_t len = now ? strlen(now) + 1 : 0;

	if (!now || !vec_u8_reserve(texts, texts->count + len))
		return err_nomem();
	*place_ret = len > 1 ? (uint32_t)texts->count : 0;
	if (len > 1) {
		memcpy(texts->items + texts->count, now, len);
		texts->count += len;
	}
	return NULL;
}

static enum anonymise_kind holder_kind(const struct scan_image_holder *holder)
{
	if (holder->kind == TAPE_SCAN_GLOBAL)
		return ANONYMISE_VARIABLE;
	return holder->kind == TAPE_SCAN_MAPPING ? ANONYMISE_PATH : ANONYMISE_THREAD;
}

static struct err *holder_change(struct anonymise *anonymise, const struct scan_image *image,
				 struct scan_image_holder *holder, struct vec_u8 *texts)
{
	struct err *err = text_move(anonymise, holder_kind(holder), text_of(image, holder->name),
				    texts, &holder->name);

	if (holder->end > holder->begin && holder->kind != TAPE_SCAN_REGISTERS) {
		/* the end of a range moves with its last byte */
		holder->end--;
		holder->begin = anonymise_address(anonymise, holder->begin);
		holder->end = anonymise_address(anonymise, holder->end);
		holder->end++;
	}
	holder->tid = anonymise_pid(anonymise, holder->tid, &err);
	return err;
}

static void frame_change(const struct anonymise *anonymise, struct scan_image_frame *frame)
{
	const uint64_t bytes = frame->end - frame->begin;

	frame->begin = anonymise_address(anonymise, frame->begin);
	frame->end = frame->begin + bytes;
	frame->pc = anonymise_address(anonymise, frame->pc);
}

static struct err *image_change(struct anonymise *anonymise, struct scan_image *image)
{
	CLEAN(vec_u8_deinit) struct vec_u8 texts = { 0 };
	struct err *err = NULL;

	if (!vec_u8_push(&texts, 0))
		return err_nomem();
	for (size_t i = 0; i < image->block_count; i++)
		image->blocks[i].address = anonymise_address(anonymise, image->blocks[i].address);
	for (size_t i = 0; i < image->frame_count; i++)
		frame_change(anonymise, &image->frames[i]);
	for (size_t i = 0; i < image->holder_count && !err; i++)
		err = holder_change(anonymise, image, &image->holders[i], &texts);
	if (!err && image->facts.trouble)
		err = text_move(anonymise, ANONYMISE_OTHER, text_of(image, image->facts.trouble),
				&texts, &image->facts.trouble);
	if (err)
		return err;
	free(image->texts);
	image->texts = (char *)steal(texts.items);
	image->texts_bytes = texts.count;
	return NULL;
}

/* Blocks that are not on the tape may lie where it has nothing: then what is near them moves on. */
static bool image_is_in_order(const struct scan_image *image)
{
	uint64_t end = 0;

	for (size_t i = 0; i < image->block_count; i++) {
		const struct scan_image_block *block = &image->blocks[i];

		if (block->address < end ||
		    __builtin_add_overflow(block->address, u64_max(block->size_bytes, 1), &end))
			return false;
	}
	return true;
}

static struct err *image_write(struct packed_stream *collector, const struct anonymise_scan *scan,
			       const struct vec_u8 *bytes)
{
	const uint64_t ticks = u64_max(scan->ticks, collector->last_ticks);
	struct err *err = NULL;

	for (size_t at = 0; at < bytes->count && !err; at += PART_BYTES_MAX) {
		const struct tape_scan_part part = { .id = scan->id,
						     .total_bytes = bytes->count,
						     .offset = at };

		err = packed_stream_extended(collector, TAPE_EXT_SCAN, ticks, &part, sizeof(part),
					     bytes->items + at,
					     u64_min(bytes->count - at, PART_BYTES_MAX));
	}
	return err;
}

static struct err *scan_write(struct anonymise *anonymise, const struct anonymise_scan *scan,
			      struct packed_stream *collector)
{
	CLEAN(scan_image_deinit) struct scan_image image = { 0 };
	CLEAN(vec_u8_deinit) struct vec_u8 bytes = { 0 };
	struct err *err = scan_image_read(scan->bytes.items, scan->bytes.count, &image);

	if (err && err_code_of(err) != ERR_NOMEM) {
		err_destroy(err);
		return NULL;
	}
	if (!err)
		err = image_change(anonymise, &image);
	if (!err && image_is_in_order(&image) && !scan_image_write(&image, &bytes))
		err = err_nomem();
	return err ? err : image_write(collector, scan, &bytes);
}

struct err *anonymise_scans_write(struct anonymise *anonymise, struct packed_stream *collector)
{
	struct err *err = NULL;

	assert(collector->id == TAPE_COLLECTOR_STREAM);
	for (size_t i = 0; i < anonymise->scans.count && !err; i++)
		err = scan_write(anonymise, &anonymise->scans.items[i], collector);
	return err;
}

void anonymise_scans_free(struct anonymise *anonymise)
{
	for (size_t i = 0; i < anonymise->scans.count; i++)
		vec_u8_deinit(&anonymise->scans.items[i].bytes);
	anonymise_scans_deinit(&anonymise->scans);
}
