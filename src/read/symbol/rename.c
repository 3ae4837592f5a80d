#include "symbol/rename.h"

#include <assert.h>

static const char *text_of(const struct renamer *renamer,
			   const char *(*rename)(void *context, const char *text), const char *text)
{
	return rename ? rename(renamer->context, text) : text;
}

static struct err *frame_rename(const struct pack *pack, const struct pack_frame *frame,
				const struct renamer *renamer, struct pack_builder *builder)
{
	const char *function = text_of(renamer, renamer->function, pack->strings + frame->function);
	const char *file = NULL;

	if (!function)
		return err_nomem();
	if (frame->file != PACK_NO_TEXT) {
		file = text_of(renamer, renamer->file, pack->strings + frame->file);
		if (!file)
			return err_nomem();
	}
	pack_add_frame(builder, function, file, frame->line, frame->flags);
	return NULL;
}

static struct err *pack_rename(const struct pack *pack, const struct renamer *renamer,
			       struct pack_builder *builder)
{
	struct err *err = NULL;

	for (uint32_t i = 0; i < pack->header->place_count && !err; i++) {
		const struct pack_place *place = &pack->places[i];

		pack_add_place(builder, place->address);
		for (uint32_t j = 0; j < place->count && !err; j++)
			err = frame_rename(pack, &pack->frames[place->first + j], renamer, builder);
	}
	return err;
}

struct err *names_rename(const struct embedded *embedded, const struct renamer *renamer,
			 struct vec_u8 *out)
{
	assert(out->count == 0);
	for (size_t i = 0; i < embedded->objects.count; i++) {
		CLEAN(pack_builder_deinit) struct pack_builder builder = { 0 };
		const struct embedded_object *object = &embedded->objects.items[i];
		CLEAN(free) char *own_path = strndup(object->path, object->path_len);
		const uint8_t *build_id = object->build_id;
		const char *path = own_path;
		struct err *err;

		if (!own_path)
			return err_nomem();
		if (renamer->object && !renamer->object(renamer->context, object, &path, &build_id))
			continue;
		err = path ? pack_rename(&object->pack, renamer, &builder) : err_nomem();
		if (err)
			return err;
		if (!embedded_add(out, path, build_id, object->build_id_bytes,
				  object->pack.header->state, &builder))
			return err_nomem();
	}
	return NULL;
}
