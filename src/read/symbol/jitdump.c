#include "symbol/jitdump.h"

#include <assert.h>

#include "base/map.h"
#include "base/sort.h"
#include "base/vec.h"

enum {
	MAGIC = 0x4a695444,
	MAGIC_SWAPPED = 0x4454694a,
	VERSION = 1,
	FLAG_ARCH_TIMESTAMP = 1,
	/* V8 adds the size of an ELF header to line addresses: perf once expected it. */
	ELF_HEADER_BYTES = 0x40,
	HEAD_BYTES = 512 /* of a record: holds most names */
};

enum { JIT_CODE_LOAD = 0, JIT_CODE_MOVE = 1, JIT_CODE_DEBUG_INFO = 2 };

ARCH_LITTLE_BEGIN

struct jit_header {
	uint32_t magic;
	uint32_t version;
	uint32_t header_bytes;
	uint32_t elf_machine;
	uint32_t reserved;
	uint32_t pid;
	uint64_t timestamp;
	uint64_t flags;
};

struct jit_record {
	uint32_t id;
	uint32_t bytes; /* with this header */
	uint64_t timestamp;
};

struct jit_load {
	uint32_t pid;
	uint32_t tid;
	uint64_t vma;
	uint64_t address;
	uint64_t bytes;
	uint64_t index;
};

struct jit_move {
	uint32_t pid;
	uint32_t tid;
	uint64_t vma;
	uint64_t old_address;
	uint64_t address;
	uint64_t bytes;
	uint64_t index;
};

ARCH_LITTLE_END

static_assert(sizeof(struct jit_header) == 40, "format");
static_assert(sizeof(struct jit_record) == 16, "format");
static_assert(sizeof(struct jit_load) == 40, "format");
static_assert(sizeof(struct jit_move) == 48, "format");

struct jit_line {
	uint64_t address;
	const char *file;
	uint32_t line;
};

struct jit_code {
	uint64_t begin;
	uint64_t end;
	uint64_t ns;
	uint64_t end_max; /* maximum of this and all that begin before it */
	const char *name;
	uint64_t moved_by; /* from where its lines are */
	uint32_t first_line;
	uint32_t line_count;
};

VEC_DEFINE(jit_lines, struct jit_line);
VEC_DEFINE(jit_codes, struct jit_code);

struct jitdump {
	struct jit_header header;
	const uint8_t *bytes;
	size_t size;
	struct vec_u8 own;	/* the bytes, if owned */
	struct jit_codes codes; /* by begin, equal ones in order of time */
	struct jit_lines lines;
	uint64_t line_shift;
};

/* State while reading. */
struct reading {
	struct jitdump *dump;
	struct map newest;	/* address -> 1 + number of the newest code that begins there */
	uint64_t lines_address; /* address of the code that the last lines were for */
	uint32_t first_line;
	bool has_lines;
};

static const char *text_at(const uint8_t *ptr, size_t bytes)
{
	return memchr(ptr, '\0', bytes) ? (const char *)ptr : NULL;
}

static struct err *code_add(struct reading *reading, struct jit_code code)
{
	struct jitdump *dump = reading->dump;
	uint64_t *place = map_put(&reading->newest, code.begin, NULL);

	if (!place || !jit_codes_push(&dump->codes, code))
		return err_nomem();
	*place = dump->codes.count;
	return NULL;
}

static struct err *load_read(struct reading *reading, uint64_t ns, const uint8_t *ptr, size_t bytes)
{
	struct jit_code code = { .ns = ns };
	struct jit_load load;

	if (bytes < sizeof(load))
		return NULL;
	memcpy(&load, ptr, sizeof(load));
	code.name = text_at(ptr + sizeof(load), bytes - sizeof(load));
	if (!code.name || load.bytes == 0 || load.address + load.bytes < load.address)
		return NULL;
	code.begin = load.address;
	code.end = load.address + load.bytes;
	if (reading->has_lines && reading->lines_address == load.address) {
		code.first_line = reading->first_line;
		code.line_count = (uint32_t)reading->dump->lines.count - reading->first_line;
	}
	reading->has_lines = false;
	return code_add(reading, code);
}

static struct err *move_read(struct reading *reading, uint64_t ns, const uint8_t *ptr, size_t bytes)
{
	const uint64_t *place;
	struct jit_code code;
	struct jit_move move;

	if (bytes < sizeof(move))
		return NULL;
	memcpy(&move, ptr, sizeof(move));
	place = map_find(&reading->newest, move.old_address);
	if (!place || move.bytes == 0 || move.address + move.bytes < move.address)
		return NULL;
	code = reading->dump->codes.items[*place - 1];
	code.ns = ns;
	code.moved_by += move.address - code.begin;
	code.begin = move.address;
	code.end = move.address + move.bytes;
	return code_add(reading, code);
}

/* Lines precede their code. */
static struct err *lines_read(struct reading *reading, const uint8_t *ptr, size_t bytes)
{
	enum { ENTRY_BYTES = 16, SAME_FILE = 0xff };
	struct jitdump *dump = reading->dump;
	const char *file = NULL;
	uint64_t count;

	if (bytes < 2 * sizeof(uint64_t))
		return NULL;
	reading->lines_address = load_u64(ptr);
	count = load_u64(ptr + sizeof(uint64_t));
	ptr += 2 * sizeof(uint64_t);
	bytes -= 2 * sizeof(uint64_t);
	reading->first_line = (uint32_t)dump->lines.count;
	reading->has_lines = true;
	for (; count > 0 && bytes > ENTRY_BYTES; count--) {
		struct jit_line line = { .address = load_u64(ptr), .line = load_u32(ptr + 8) };
		const char *text = text_at(ptr + ENTRY_BYTES, bytes - ENTRY_BYTES);
		size_t used;

		if (!text || dump->lines.count >= UINT32_MAX)
			return NULL;
		used = ENTRY_BYTES + strlen(text) + 1;
		if ((uint8_t)text[0] != SAME_FILE || text[1] != '\0')
			file = text;
		line.file = file;
		if (!jit_lines_push(&dump->lines, line))
			return err_nomem();
		ptr += used;
		bytes -= used;
	}
	return NULL;
}

static struct err *records_read(struct reading *reading)
{
	const struct jitdump *dump = reading->dump;
	size_t at = dump->header.header_bytes;
	struct err *err = NULL;

	while (!err && dump->size - at >= sizeof(struct jit_record)) {
		const uint8_t *ptr = dump->bytes + at + sizeof(struct jit_record);
		struct jit_record record;
		size_t bytes;

		memcpy(&record, dump->bytes + at, sizeof(record));
		if (record.bytes < sizeof(record) || record.bytes > dump->size - at)
			break; /* incomplete or damaged: the next record cannot be found */
		bytes = record.bytes - sizeof(record);
		if (record.id == JIT_CODE_LOAD)
			err = load_read(reading, record.timestamp, ptr, bytes);
		else if (record.id == JIT_CODE_MOVE)
			err = move_read(reading, record.timestamp, ptr, bytes);
		else if (record.id == JIT_CODE_DEBUG_INFO)
			err = lines_read(reading, ptr, bytes);
		at += record.bytes;
	}
	return err;
}

static int code_compare(const void *context, const void *a, const void *b)
{
	const struct jit_code *left = a;
	const struct jit_code *right = b;

	(void)context;
	return sort_compare_u64(left->begin, right->begin);
}

/* Lines past the end of their code show that all are shifted. */
static uint64_t line_shift_find(const struct jitdump *dump)
{
	for (size_t i = 0; i < dump->codes.count; i++) {
		const struct jit_code *code = &dump->codes.items[i];

		for (uint32_t at = 0; at < code->line_count; at++) {
			const struct jit_line *line = &dump->lines.items[code->first_line + at];

			if (line->address + code->moved_by >= code->end)
				return ELF_HEADER_BYTES;
		}
	}
	return 0;
}

static struct err *codes_sort(struct jitdump *dump)
{
	uint64_t end_max = 0;

	if (!sort_stable(dump->codes.items, dump->codes.count, sizeof(*dump->codes.items),
			 code_compare, NULL))
		return err_nomem();
	for (size_t i = 0; i < dump->codes.count; i++) {
		end_max = u64_max(end_max, dump->codes.items[i].end);
		dump->codes.items[i].end_max = end_max;
	}
	dump->line_shift = line_shift_find(dump);
	return NULL;
}

static struct err *header_read(struct jitdump *dump)
{
	if (dump->size < sizeof(dump->header))
		return err_new(ERR_FORMAT, "not a jitdump");
	memcpy(&dump->header, dump->bytes, sizeof(dump->header));
	if (dump->header.magic == MAGIC_SWAPPED)
		return err_new(ERR_UNSUPPORTED, "jitdump of another byte order");
	if (dump->header.magic != MAGIC || dump->header.header_bytes < sizeof(dump->header) ||
	    dump->header.header_bytes > dump->size)
		return err_new(ERR_FORMAT, "not a jitdump");
	if (dump->header.version != VERSION)
		return err_new(ERR_UNSUPPORTED, "jitdump of version %u", dump->header.version);
	return NULL;
}

static struct err *dump_read(struct jitdump *dump)
{
	struct reading reading = { .dump = dump };
	struct err *err = header_read(dump);

	if (!err)
		err = records_read(&reading);
	map_deinit(&reading.newest);
	return err ? err : codes_sort(dump);
}

struct err *jitdump_view(const void *bytes, size_t size, struct jitdump **dump_ret)
{
	CLEAN(jitdump_close) struct jitdump *dump = calloc(1, sizeof(*dump));
	struct err *err;

	assert(bytes || size == 0);
	if (!dump)
		return err_nomem();
	dump->bytes = bytes;
	dump->size = size;
	err = dump_read(dump);
	if (!err)
		*dump_ret = steal(dump);
	return err;
}

/* --- from a file --------------------------------------------------------------------------- */

/* Size of the part of a record with a name or lines; the rest is code. 0: not needed. */
static uint64_t bytes_wanted(const struct jit_record *record, const uint8_t *ptr, size_t there)
{
	const uint8_t *end;

	if (record->id == JIT_CODE_DEBUG_INFO)
		return record->bytes;
	if (record->id == JIT_CODE_MOVE)
		return u64_min(record->bytes, sizeof(*record) + sizeof(struct jit_move));
	if (record->id != JIT_CODE_LOAD || there <= sizeof(*record) + sizeof(struct jit_load))
		return 0;
	ptr += sizeof(*record) + sizeof(struct jit_load);
	there -= sizeof(*record) + sizeof(struct jit_load);
	end = memchr(ptr, '\0', there);
	return end ? sizeof(*record) + sizeof(struct jit_load) + (uint64_t)(end - ptr) + 1 : 0;
}

static struct err *record_keep(int fd, uint64_t at, uint32_t wanted, struct jit_record *record,
			       struct vec_u8 *bytes)
{
	const size_t before = bytes->count;
	ssize_t there;

	if (!vec_u8_reserve(bytes, before + wanted))
		return err_nomem();
	bytes->count += wanted;
	there = file_read_at(fd, bytes->items + before, wanted, at);
	if (there != (ssize_t)wanted) { /* truncated meanwhile */
		bytes->count = before;
		record->bytes = 0;
		return NULL;
	}
	memcpy(bytes->items + before + offsetof(struct jit_record, bytes), &wanted, sizeof(wanted));
	return NULL;
}

/* One more record, without its code; its bytes are 0 if it is damaged, or enough was read. */
static struct err *record_copy(int fd, uint64_t at, uint64_t size, struct vec_u8 *bytes,
			       struct jit_record *record)
{
	enum { NAME_ROOM = 16 << 10, KEPT_MAX = 64 << 20 };
	uint8_t head[NAME_ROOM];
	ssize_t there = file_read_at(fd, head, u64_min(HEAD_BYTES, size - at), at);
	uint64_t wanted;

	record->bytes = 0;
	if (there < (ssize_t)sizeof(*record))
		return NULL;
	memcpy(record, head, sizeof(*record));
	if (record->bytes < sizeof(*record) || record->bytes > size - at) {
		record->bytes = 0;
		return NULL;
	}
	wanted = bytes_wanted(record, head, u64_min((uint64_t)there, record->bytes));
	if (wanted == 0 && record->id == JIT_CODE_LOAD && record->bytes > HEAD_BYTES) {
		there = file_read_at(fd, head, u64_min(sizeof(head), record->bytes), at);
		wanted = there < 0 ? 0 : bytes_wanted(record, head, (size_t)there);
	}
	if (wanted > KEPT_MAX - u64_min(bytes->count, KEPT_MAX)) {
		record->bytes = 0;
		return NULL;
	}
	return wanted ? record_keep(fd, at, (uint32_t)wanted, record, bytes) : NULL;
}

static struct err *file_copy(int fd, uint64_t size, struct vec_u8 *bytes)
{
	struct jit_record record = { 0 };
	struct jit_header header;
	struct err *err = NULL;
	uint64_t at;

	if (file_read_at(fd, &header, sizeof(header), 0) != sizeof(header))
		return err_new(ERR_FORMAT, "not a jitdump");
	at = header.header_bytes;
	header.header_bytes = sizeof(header);
	if (at < sizeof(header) || at > size) {
		if (header.magic == MAGIC)
			return err_new(ERR_FORMAT, "not a jitdump");
		at = size;
	}
	if (!vec_u8_reserve(bytes, sizeof(header)))
		return err_nomem();
	memcpy(bytes->items, &header, sizeof(header));
	bytes->count = sizeof(header);
	while (!err && size - at >= sizeof(record)) {
		err = record_copy(fd, at, size, bytes, &record);
		if (record.bytes == 0)
			break;
		at += record.bytes;
	}
	return err;
}

struct err *jitdump_open(const char *path, const struct file_trust *trust,
			 struct jitdump **dump_ret)
{
	CLEAN(jitdump_close) struct jitdump *dump = calloc(1, sizeof(*dump));
	CLEAN(close) int fd = -1;
	uint64_t bytes;
	struct err *err = dump ? file_open_trusted(path, trust, &fd, &bytes) : err_nomem();

	assert(trust->bytes_max > 0);
	if (err)
		return err;
	err = file_copy(fd, bytes, &dump->own);
	dump->bytes = dump->own.items;
	dump->size = dump->own.count;
	if (!err)
		err = dump_read(dump);
	if (!err)
		*dump_ret = steal(dump);
	return err_wrap(err, "%s", path);
}

void jitdump_close(struct jitdump *dump)
{
	if (!dump)
		return;
	vec_u8_deinit(&dump->own);
	jit_codes_deinit(&dump->codes);
	jit_lines_deinit(&dump->lines);
	free(dump);
}

uint32_t jitdump_pid(const struct jitdump *dump)
{
	return dump->header.pid;
}

bool jitdump_has_times(const struct jitdump *dump)
{
	return (dump->header.flags & FLAG_ARCH_TIMESTAMP) == 0;
}

/* Whether a is the better match for this moment: the last before it, else the first after it. */
static bool is_better(const struct jit_code *a, const struct jit_code *b, uint64_t ns)
{
	if (!b)
		return true;
	if ((a->ns <= ns) != (b->ns <= ns))
		return a->ns <= ns;
	return a->ns <= ns ? a->ns > b->ns : a->ns < b->ns;
}

static void place_line(const struct jitdump *dump, const struct jit_code *code, uint64_t address,
		       struct jit_place *place)
{
	const uint64_t wanted = address - code->moved_by + dump->line_shift;
	uint64_t best = 0;

	for (uint32_t i = 0; i < code->line_count; i++) {
		const struct jit_line *line = &dump->lines.items[code->first_line + i];

		if (line->address > wanted || line->address < best)
			continue;
		best = line->address;
		place->file = line->file;
		place->line = line->line;
	}
}

bool jitdump_find(const struct jitdump *dump, uint64_t address, uint64_t ns,
		  struct jit_place *place_ret)
{
	const struct jit_code *items = dump->codes.items, *best = NULL;
	size_t low = 0, high = dump->codes.count;

	while (low < high) { /* the first that begins after address */
		const size_t middle = low + (high - low) / 2;

		if (items[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low > 0 && items[low - 1].end_max > address; low--) {
		if (items[low - 1].end > address && is_better(&items[low - 1], best, ns))
			best = &items[low - 1];
	}
	if (!best)
		return false;
	*place_ret = (struct jit_place) { .function = best->name };
	place_line(dump, best, address, place_ret);
	return true;
}
