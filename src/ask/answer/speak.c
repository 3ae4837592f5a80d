#include "answer/speak.h"

#include <assert.h>
#include <math.h>

#include "answer/frame.h"
#include "base/json.h"

enum { COLUMNS_MAX = 64, RATIO_DECIMALS = 3 };

static struct err *member_speak(const struct speaker *speaker, const struct member *member,
				const void *value);

/* --- what is not known ---------------------------------------------------------------------- */

static bool is_unknown(const struct member *member, const void *field)
{
	switch (member->kind) {
	case MEMBER_COUNT:
	case MEMBER_BYTES:
	case MEMBER_NS:
	case MEMBER_PLAIN:
	case MEMBER_ADDRESS:
	case MEMBER_HASH:
		return *(const uint64_t *)field == SHAPE_NONE;
	case MEMBER_RATIO:
	case MEMBER_AMOUNT:
		return isnan(*(const double *)field);
	case MEMBER_TEXT:
		return !*(const char *const *)field;
	case MEMBER_TEXTS:
		return !((const struct shape_texts *)field)->items;
	case MEMBER_INDEXES:
		return !((const struct shape_indexes *)field)->items;
	case MEMBER_RATIOS:
		return !((const struct shape_ratios *)field)->items;
	case MEMBER_NUMBERS:
	case MEMBER_HASHES:
		return !((const struct shape_numbers *)field)->items;
	case MEMBER_CALLS:
	case MEMBER_FRAMES:
		return *(const uint32_t *)field == CAPTURE_STACK_NONE;
	case MEMBER_ROWS:
	case MEMBER_KEYED: {
		const struct shape_rows *rows = field;

		return !rows->items && !rows->next;
	}
	case MEMBER_SIGNED:
		return *(const int64_t *)field == INT64_MIN;
	case MEMBER_FLAG:
	case MEMBER_SHARE:
	case MEMBER_CELLS:
	case MEMBER_OBJECT:
	case MEMBER_FLAT:
		break;
	}
	return false;
}

/* --- values --------------------------------------------------------------------------------- */

static void hash_speak(struct emit *emit, const char *key, uint64_t hash)
{
	char digits[STR_SHORT_BYTES];

	emit_text(emit, key,
		  str_format(digits, sizeof(digits), "%016llx", (unsigned long long)hash));
}

static void texts_speak(struct emit *emit, const char *key, const struct shape_texts *texts)
{
	emit_list(emit, key);
	for (size_t i = 0; i < texts->count; i++)
		emit_text(emit, NULL, texts->items[i]);
	emit_end(emit);
}

/* One JSON value: there may be very many. */
static void numbers_speak(struct emit *emit, const char *key, const struct shape_numbers *numbers)
{
	if (emit_format_of(emit) == EMIT_JSON) {
		json_u64s(emit, key, numbers->items, numbers->count);
		return;
	}
	emit_list(emit, key);
	for (size_t i = 0; i < numbers->count; i++)
		emit_u64(emit, NULL, numbers->items[i], EMIT_PLAIN);
	emit_end(emit);
}

/* For programs only: tables have no room for it. */
static void columns_speak(struct emit *emit, const struct member *member, const void *field)
{
	const struct shape_numbers *hashes = field;
	const struct shape_indexes *indexes = field;
	const struct shape_ratios *ratios = field;

	assert(emit_format_of(emit) == EMIT_JSON);
	if (member->kind == MEMBER_HASHES)
		json_hashes(emit, member->key, hashes->items, hashes->count);
	else if (member->kind == MEMBER_INDEXES)
		json_i32s(emit, member->key, indexes->items, indexes->count);
	else
		json_doubles(emit, member->key, ratios->items, ratios->count, ratios->decimals);
}

static void cell_speak(struct emit *emit, const struct shape_cell *cell)
{
	if (cell->text && cell->is_number)
		emit_number(emit, NULL, cell->text);
	else
		emit_text(emit, NULL, cell->text);
}

static void cells_speak(struct emit *emit, const char *key, const struct shape_cells *cells)
{
	emit_list(emit, key);
	for (size_t row = 0; row < cells->row_count; row++) {
		emit_list(emit, NULL);
		for (size_t i = 0; i < cells->column_count; i++)
			cell_speak(emit, &cells->items[row * cells->column_count + i]);
		emit_end(emit);
	}
	emit_end(emit);
}

static void amount_speak(struct emit *emit, const char *key, double value)
{
	if (value == (double)(int64_t)value)
		emit_i64(emit, key, (int64_t)value);
	else
		emit_ratio(emit, key, value, RATIO_DECIMALS);
}

static void calls_speak(const struct speaker *speaker, const char *key, uint32_t stack)
{
	struct walk walk = walk_begin(speaker->model, speaker->names, stack, speaker->mode);
	const struct name_frame *at;

	emit_list(speaker->emit, key);
	while (stack != CAPTURE_STACK_NONE && (at = walk_next(&walk)))
		emit_text(speaker->emit, NULL, names_get(speaker->names, at->name)->function);
	emit_end(speaker->emit);
}

struct err *speak_stack(const struct speaker *speaker, const char *key, uint32_t stack,
			size_t frame_max)
{
	/* Frames of libraries too: each says whose it is. */
	const enum walk_mode mode = speaker->mode == WALK_MY ? WALK_EXACT : speaker->mode;
	struct walk walk = walk_begin(speaker->model, speaker->names, stack, mode);
	const struct name_frame *at;
	struct err *err = NULL;

	assert(stack < model_stack_count(speaker->model));
	emit_list(speaker->emit, key);
	for (size_t i = 0; i < frame_max && (at = walk_next(&walk)) && !err; i++) {
		const struct frame frame = frame_of(speaker->model, speaker->names, at);

		emit_object(speaker->emit, NULL);
		err = speak_members(speaker, &shape_frame, &frame);
		emit_end(speaker->emit);
	}
	emit_end(speaker->emit);
	return err;
}

static struct err *object_speak(const struct speaker *speaker, const struct member *member,
				const void *field)
{
	struct err *err;

	emit_object(speaker->emit, member->key);
	err = speak_members(speaker, member->shape, field);
	emit_end(speaker->emit);
	return err;
}

/* --- lists ---------------------------------------------------------------------------------- */

/* Whether it is a column in this kind of table. */
static bool is_column(const struct member *member, bool for_text)
{
	return !member->is_data && !(for_text ? member->is_wide : member->is_text);
}

static size_t columns_of(const struct shape *shape, bool for_text, struct emit_column *columns,
			 size_t count)
{
	for (size_t i = 0; i < shape->member_count; i++) {
		const struct member *member = &shape->members[i];

		if (!is_column(member, for_text))
			continue;
		if (member->kind == MEMBER_FLAT) {
			count = columns_of(member->shape, for_text, columns, count);
			continue;
		}
		assert(count < COLUMNS_MAX);
		columns[count++] = (struct emit_column) { member->key, member->title, member->left,
							  member->elastic };
	}
	return count;
}

static struct err *row_speak(const struct speaker *speaker, const struct member *list,
			     const void *row, bool is_row)
{
	struct err *err;

	if (is_row)
		emit_row(speaker->emit);
	else
		emit_object(speaker->emit,
			    list->kind == MEMBER_KEYED ? *(const char *const *)row : NULL);
	err = speak_members(speaker, list->shape, row);
	emit_end(speaker->emit);
	return err;
}

static struct err *made_rows_speak(const struct speaker *speaker, const struct member *list,
				   const struct shape_rows *rows, bool is_row)
{
	void *row = malloc(list->shape->bytes);
	struct err *err = row ? NULL : err_nomem();
	bool has_more = true;

	while (!err && has_more && !emit_has_failed(speaker->emit)) {
		memset(row, 0, list->shape->bytes);
		err = rows->next(rows->state, row, &has_more);
		if (!err && has_more)
			err = row_speak(speaker, list, row, is_row);
	}
	free(row);
	return err;
}

static struct err *rows_speak(const struct speaker *speaker, const struct member *list,
			      const void *field, bool is_row)
{
	const struct shape_rows *rows = field;
	size_t count = rows->count;
	struct err *err = NULL;

	if (rows->next)
		return made_rows_speak(speaker, list, rows, is_row);
	if (emit_format_of(speaker->emit) == EMIT_TEXT)
		count -= rows->quiet_count;
	else if (is_row)
		count += rows->more_count;
	for (size_t i = 0; i < count && !err; i++)
		err = row_speak(speaker, list, (const char *)rows->items + i * list->shape->bytes,
				is_row);
	return err;
}

/* In a document a list is a table with a heading. */
static struct err *table_speak(const struct speaker *speaker, const struct member *list,
			       const void *field)
{
	struct speaker in_table = *speaker;
	struct emit_column columns[COLUMNS_MAX];
	struct err *err;

	in_table.is_document = false;
	emit_heading(speaker->emit, list->title ? list->title : list->key);
	emit_table(speaker->emit, list->key, columns, columns_of(list->shape, true, columns, 0));
	err = rows_speak(&in_table, list, field, true);
	emit_end(speaker->emit);
	return err;
}

static struct err *list_speak(const struct speaker *speaker, const struct member *list,
			      const void *field)
{
	struct err *err;

	if (speaker->is_document && list->kind == MEMBER_ROWS)
		return table_speak(speaker, list, field);

	if (list->kind == MEMBER_KEYED)
		emit_object(speaker->emit, list->key);
	else
		emit_list(speaker->emit, list->key);
	err = rows_speak(speaker, list, field, false);
	emit_end(speaker->emit);
	return err;
}

const struct member *speak_list(const struct shape *shape, const void *value)
{
	const struct member *first = NULL;

	for (size_t i = 0; i < shape->member_count; i++) {
		const struct member *member = &shape->members[i];

		if (member->kind != MEMBER_ROWS)
			continue;
		if (member->is_table && !is_unknown(member, member_field(member, value)))
			return member;
		first = first ? first : member;
	}
	return first;
}

struct err *speak_list_alone(const struct speaker *speaker, const struct shape *shape,
			     const void *value)
{
	const struct member *list = speak_list(shape, value);
	struct err *err;

	assert(list && emit_format_of(speaker->emit) == EMIT_JSON);
	emit_list(speaker->emit, NULL);
	err = rows_speak(speaker, list, member_field(list, value), false);
	emit_end(speaker->emit);
	return err;
}

struct err *speak_table(const struct speaker *speaker, const struct shape *shape, const void *value)
{
	const struct member *list = speak_list(shape, value);
	const bool for_text = emit_format_of(speaker->emit) == EMIT_TEXT;
	struct emit_column columns[COLUMNS_MAX];
	struct err *err;

	assert(speaker->emit && shape->member_count > 0);
	if (!list) {
		emit_object(speaker->emit, NULL);
		err = speak_members(speaker, shape, value);
	} else {
		emit_table(speaker->emit, NULL, columns,
			   columns_of(list->shape, for_text, columns, 0));
		err = rows_speak(speaker, list, member_field(list, value), true);
	}
	emit_end(speaker->emit);
	return err;
}

/* --- members -------------------------------------------------------------------------------- */

/* false: not a number. */
static bool number_speak(struct emit *emit, const struct member *member, const void *field)
{
	static const enum emit_unit units[] = {
		[MEMBER_COUNT] = EMIT_COUNT,
		[MEMBER_BYTES] = EMIT_BYTES,
		[MEMBER_NS] = EMIT_DURATION,
		[MEMBER_PLAIN] = EMIT_PLAIN,
	};
	const struct shape_share *share = field;

	switch (member->kind) {
	case MEMBER_COUNT:
	case MEMBER_BYTES:
	case MEMBER_NS:
	case MEMBER_PLAIN:
		emit_u64(emit, member->key, *(const uint64_t *)field, units[member->kind]);
		return true;
	case MEMBER_SIGNED:
		emit_i64(emit, member->key, *(const int64_t *)field);
		return true;
	case MEMBER_RATIO:
		emit_ratio(emit, member->key, *(const double *)field,
			   member->decimals ? member->decimals : RATIO_DECIMALS);
		return true;
	case MEMBER_AMOUNT:
		amount_speak(emit, member->key, *(const double *)field);
		return true;
	case MEMBER_SHARE:
		emit_percent(emit, member->key, share->part, share->whole);
		return true;
	default:
		return false;
	}
}

static void list_of_values_speak(struct emit *emit, const struct member *member, const void *field)
{
	switch (member->kind) {
	case MEMBER_TEXTS:
		texts_speak(emit, member->key, field);
		break;
	case MEMBER_NUMBERS:
		numbers_speak(emit, member->key, field);
		break;
	case MEMBER_CELLS:
		cells_speak(emit, member->key, field);
		break;
	default:
		columns_speak(emit, member, field);
	}
}

static struct err *known_speak(const struct speaker *speaker, const struct member *member,
			       const void *field)
{
	struct emit *emit = speaker->emit;
	const char *key = member->key;

	if (number_speak(emit, member, field))
		return NULL;
	switch (member->kind) {
	case MEMBER_ADDRESS:
		emit_address(emit, key, *(const uint64_t *)field);
		break;
	case MEMBER_HASH:
		hash_speak(emit, key, *(const uint64_t *)field);
		break;
	case MEMBER_FLAG:
		emit_bool(emit, key, *(const bool *)field);
		break;
	case MEMBER_TEXT:
		emit_text(emit, key, *(const char *const *)field);
		break;
	case MEMBER_CALLS:
		calls_speak(speaker, key, *(const uint32_t *)field);
		break;
	case MEMBER_FRAMES:
		return speak_stack(speaker, key, *(const uint32_t *)field,
				   member->frames_max ? member->frames_max : SIZE_MAX);
	case MEMBER_OBJECT:
		return object_speak(speaker, member, field);
	case MEMBER_FLAT:
		return speak_members(speaker, member->shape, field);
	case MEMBER_ROWS:
	case MEMBER_KEYED:
		return list_speak(speaker, member, field);
	default:
		list_of_values_speak(emit, member, field);
	}
	return NULL;
}

static bool is_said_in(enum emit_format format, const struct member *member)
{
	switch (format) {
	case EMIT_JSON:
		return !member->is_text && !member->is_column;
	case EMIT_CSV:
		return !member->is_text && !member->is_data;
	case EMIT_TEXT:
		break;
	}
	return true;
}

static struct err *member_speak(const struct speaker *speaker, const struct member *member,
				const void *value)
{
	const void *field = member_field(member, value);
	const bool is_said = is_said_in(emit_format_of(speaker->emit), member);
	const bool unknown = !field || is_unknown(member, field);

	if (!is_said || (unknown && member->optional))
		return NULL;
	if (unknown && member->nullable) {
		emit_null(speaker->emit, member->key);
		return NULL;
	}
	assert(field);
	return known_speak(speaker, member, field);
}

struct err *speak_members(const struct speaker *speaker, const struct shape *shape,
			  const void *value)
{
	struct err *err = NULL;

	assert(speaker->emit);
	assert(value);
	for (size_t i = 0; i < shape->member_count && !err; i++)
		err = member_speak(speaker, &shape->members[i], value);
	return err;
}

struct err *speak_object(const struct speaker *speaker, const struct shape *shape,
			 const void *value)
{
	struct speaker whole = *speaker;
	struct err *err;

	assert(value);
	whole.is_document = emit_format_of(speaker->emit) == EMIT_TEXT;
	emit_object(speaker->emit, NULL);
	err = speak_members(&whole, shape, value);
	emit_end(speaker->emit);
	return err;
}
