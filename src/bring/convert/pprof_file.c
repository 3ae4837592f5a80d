#include "convert/pprof_file.h"

#include "convert/protobuf.h"

enum { MESSAGE_MAX = 256 << 20, STEP_BYTES = 1 << 20 };

enum profile_field {
	PROFILE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_PERIOD = 12
};

void pprof_file_deinit(struct pprof_file *file)
{
	pprof_type_vec_deinit(&file->types);
	pprof_sample_vec_deinit(&file->samples);
	vec_u64_deinit(&file->locations_of);
	vec_u64_deinit(&file->values);
	pprof_mapping_vec_deinit(&file->mappings);
	map_deinit(&file->mapping_at);
	pprof_line_vec_deinit(&file->lines);
	pprof_location_vec_deinit(&file->locations);
	map_deinit(&file->location_at);
	pprof_function_vec_deinit(&file->functions);
	map_deinit(&file->function_at);
	vec_u64_deinit(&file->strings);
	str_deinit(&file->text);
	vec_u8_deinit(&file->message);
}

const char *pprof_text(const struct pprof_file *file, uint64_t string)
{
	return string < file->strings.count ? file->text.ptr + file->strings.items[string] : "";
}

/* --- messages --------------------------------------------------------------------------------- */

/* Numeric fields, indexed by field number. */
static void numbers_read(struct protobuf *message, uint64_t **fields, size_t count)
{
	struct protobuf_field field;

	while (protobuf_next(message, &field))
		if (!field.is_bytes && field.number < count && fields[field.number])
			*fields[field.number] = field.value;
}

static void place_put(struct pprof_file *file, struct map *places, uint64_t number, size_t place)
{
	uint64_t *at = map_put(places, number, NULL);

	if (at)
		*at = place;
	else
		file->no_memory = true;
}

static void type_take(struct pprof_file *file, struct protobuf *message)
{
	struct pprof_type type = { 0 };
	uint64_t *fields[] = { NULL, &type.name, &type.unit };

	numbers_read(message, fields, array_size(fields));
	file->no_memory |= !pprof_type_vec_push(&file->types, type);
}

static void sample_take(struct pprof_file *file, struct protobuf *message)
{
	struct pprof_sample sample = { .first_location = file->locations_of.count,
				       .first_value = file->values.count };
	struct protobuf_field field;
	uint64_t value;

	while (protobuf_next(message, &field)) {
		const uint32_t number = field.number;

		if (number != 1 && number != 2)
			continue;
		while (protobuf_number(&field, &value))
			file->no_memory |= !vec_u64_push(
				number == 1 ? &file->locations_of : &file->values, value);
		message->failed |= field.bytes.failed;
	}
	sample.location_count = file->locations_of.count - sample.first_location;
	sample.value_count = file->values.count - sample.first_value;
	file->no_memory |= !pprof_sample_vec_push(&file->samples, sample);
}

static void mapping_take(struct pprof_file *file, struct protobuf *message)
{
	struct pprof_mapping mapping = { 0 };
	uint64_t id = 0;
	uint64_t *fields[] = { NULL,
			       &id,
			       &mapping.begin,
			       &mapping.end,
			       &mapping.offset,
			       &mapping.path,
			       &mapping.build_id };

	numbers_read(message, fields, array_size(fields));
	place_put(file, &file->mapping_at, id, file->mappings.count);
	file->no_memory |= !pprof_mapping_vec_push(&file->mappings, mapping);
}

static void line_take(struct pprof_file *file, struct protobuf *message)
{
	struct pprof_line line = { 0 };
	uint64_t *fields[] = { NULL, &line.function, &line.line };

	numbers_read(message, fields, array_size(fields));
	file->no_memory |= !pprof_line_vec_push(&file->lines, line);
}

static void location_take(struct pprof_file *file, struct protobuf *message)
{
	struct pprof_location location = { .first_line = file->lines.count };
	struct protobuf_field field;
	uint64_t id = 0;

	while (protobuf_next(message, &field)) {
		if (field.number == 1)
			id = field.value;
		else if (field.number == 2)
			location.mapping = field.value;
		else if (field.number == 3)
			location.address = field.value;
		else if (field.number == 4 && field.is_bytes)
			line_take(file, &field.bytes);
		message->failed |= field.bytes.failed;
	}
	location.line_count = file->lines.count - location.first_line;
	place_put(file, &file->location_at, id, file->locations.count);
	file->no_memory |= !pprof_location_vec_push(&file->locations, location);
}

static void function_take(struct pprof_file *file, struct protobuf *message)
{
	struct pprof_function function = { 0 };
	uint64_t id = 0;
	uint64_t *fields[] = { NULL, &id, &function.name, &function.mangled, &function.file };

	numbers_read(message, fields, array_size(fields));
	place_put(file, &file->function_at, id, file->functions.count);
	file->no_memory |= !pprof_function_vec_push(&file->functions, function);
}

static void string_take(struct pprof_file *file, const struct protobuf *message)
{
	const size_t len = (size_t)(message->end - message->at);

	file->no_memory |= !vec_u64_push(&file->strings, file->text.len);
	str_add_bytes(&file->text, (const char *)message->at,
		      strnlen((const char *)message->at, len));
	str_add_bytes(&file->text, "", 1);
	file->no_memory |= file->text.failed;
}

/* False: malformed. */
static bool message_take(struct pprof_file *file, uint64_t number, struct protobuf *message)
{
	switch (number) {
	case PROFILE_TYPE:
		type_take(file, message);
		break;
	case PROFILE_SAMPLE:
		sample_take(file, message);
		break;
	case PROFILE_MAPPING:
		mapping_take(file, message);
		break;
	case PROFILE_LOCATION:
		location_take(file, message);
		break;
	case PROFILE_FUNCTION:
		function_take(file, message);
		break;
	case PROFILE_STRING:
		string_take(file, message);
		break;
	default:
		break;
	}
	return !message->failed;
}

/* --- the file --------------------------------------------------------------------------------- */

/* False: it ends here; *why_ret is set if truncated or malformed. */
static bool number_next(struct source *source, uint64_t *value_ret, const char **why_ret)
{
	enum { NUMBER_BYTES = 10 };
	struct protobuf in = { 0 };
	const char *bytes;
	size_t count;

	source_peek(source, NUMBER_BYTES, &bytes, &count);
	in.at = (const uint8_t *)bytes;
	in.end = in.at + u64_min(count, NUMBER_BYTES);
	if (!protobuf_varint(&in, value_ret)) {
		*why_ret = count < NUMBER_BYTES ? "the file ends in the middle of a field"
						: "a number is longer than any is";
		return false;
	}
	source_skip(source, (size_t)(in.at - (const uint8_t *)bytes));
	return true;
}

/* Reads a field gradually, so that a false length costs nothing before the bytes are there. */
static bool bytes_next(struct pprof_file *file, struct source *source, uint64_t count,
		       const char **why_ret)
{
	struct vec_u8 *message = &file->message;

	message->count = 0;
	if (count > MESSAGE_MAX) {
		*why_ret = "a field is longer than any is";
		return false;
	}
	for (uint64_t left = count, step; left > 0; left -= step) {
		step = u64_min(left, STEP_BYTES);
		if (!vec_u8_reserve(message, message->count + step)) {
			file->no_memory = true;
			return false;
		}
		if (!source_take(source, message->items + message->count, step)) {
			*why_ret = "the file ends in the middle of a field";
			return false;
		}
		message->count += step;
	}
	return true;
}

static bool field_next(struct pprof_file *file, struct source *source, const char **why_ret)
{
	enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
	uint64_t key, value;
	struct protobuf message;

	if (!number_next(source, &key, why_ret))
		return false;
	if ((key & 7) != VARINT && (key & 7) != BYTES && (key & 7) != FIXED64 &&
	    (key & 7) != FIXED32) {
		*why_ret = "not a field of a profile";
		return false;
	}
	value = (key & 7) == FIXED64 ? 8 : 4;
	if (((key & 7) == VARINT || (key & 7) == BYTES) && !number_next(source, &value, why_ret))
		return false;
	if (key == (PROFILE_PERIOD << 3 | VARINT))
		file->period = value;
	if (key == (PROFILE_TIME << 3 | VARINT))
		file->time_ns = value;
	if ((key & 7) == VARINT)
		return true;
	if (!bytes_next(file, source, value, why_ret))
		return false;
	if (file->message.count == 0 && !vec_u8_reserve(&file->message, 1))
		return false; /* an empty field needs a valid pointer, too */
	message = (struct protobuf) { .at = file->message.items,
				      .end = file->message.items + file->message.count };
	if ((key & 7) == BYTES && !message_take(file, key >> 3, &message)) {
		*why_ret = "a message is not as pprof writes it";
		return false;
	}
	return !file->no_memory;
}

struct err *pprof_file_read(struct pprof_file *file, struct source *source, const char **why_ret)
{
	const char *bytes, *why = NULL;
	size_t count;

	do
		source_peek(source, 1, &bytes, &count);
	while (count > 0 && field_next(file, source, &why));
	if (file->no_memory)
		return err_nomem();
	if (file->types.count == 0 || file->strings.count == 0)
		return source_error(source, "%s", why ? why : "not a pprof profile");
	*why_ret = why;
	return NULL;
}
