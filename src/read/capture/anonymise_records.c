/* How each type of record is anonymised. */
#include <assert.h>

#include "capture/anonymise_parts.h"
#include "tape/edit.h"
#include "tape/tape_allocator.h"
#include "tape/tape_attach.h"
#include "tape/tape_calls.h"
#include "tape/tape_exec.h"
#include "tape/tape_import.h"
#include "tape/tape_kernel.h"
#include "tape/tape_scan.h"
#include "tape/tape_thread.h"

enum { PID_FIRST = 1001 };

/* When an anonymised recording began: 2000-01-01T00:00:00Z. */
static const uint64_t REALTIME_NS = UINT64_C(946684800) * 1000000000;

static void change_report(const struct anonymise *anonymise, const char *what, const char *before,
			  const char *after)
{
	if (anonymise->settings->tell)
		anonymise->settings->tell(anonymise->settings->context, what, before, after);
}

/* --- pieces of payloads ---------------------------------------------------------------------- */

struct err *anonymise_text(struct anonymise *anonymise, enum anonymise_kind kind, const char *text,
			   size_t len, bool is_ended)
{
	const char *now = "";

	str_clear(&anonymise->text);
	str_add_bytes(&anonymise->text, text, len);
	if (anonymise->text.failed)
		return err_nomem();
	if (len > 0)
		now = anonymise->settings->text(anonymise->settings->context, kind,
						str_text(&anonymise->text));
	return now ? anonymise_put(anonymise, now, strlen(now) + is_ended) : err_nomem();
}

uint32_t anonymise_pid(struct anonymise *anonymise, uint32_t pid, struct err **err)
{
	char before[STR_SHORT_BYTES], after[STR_SHORT_BYTES];
	bool is_new = false;
	uint64_t *now;

	if (*err || pid == 0)
		return pid;
	now = map_put(&anonymise->pids, pid, &is_new);
	if (!now) {
		*err = err_nomem();
		return pid;
	}
	if (is_new) {
		*now = PID_FIRST + anonymise->pids.count - 1;
		str_format(before, sizeof(before), "%u", pid);
		str_format(after, sizeof(after), "%u", (uint32_t)*now);
		change_report(anonymise, "pid", before, after);
	}
	return (uint32_t)*now;
}

uint64_t anonymise_realtime(const struct anonymise *anonymise, uint64_t realtime_ns)
{
	return realtime_ns > 0 ? realtime_ns - anonymise->realtime_ns + REALTIME_NS : 0;
}

/* --- records --------------------------------------------------------------------------------- */

/* The rest: NUL-terminated texts, or one unterminated text. */
static struct err *put_texts(struct anonymise *anonymise, struct payload rest,
			     enum anonymise_kind kind)
{
	struct err *err = NULL;

	while (rest.count > 0 && !err) {
		const size_t len = strnlen((const char *)rest.bytes, rest.count);
		const bool is_ended = len < rest.count;

		err = anonymise_text(anonymise, kind, (const char *)rest.bytes, len, is_ended);
		rest.bytes += len + is_ended;
		rest.count -= len + is_ended;
	}
	return err;
}

static struct err *on_process(struct anonymise *anonymise, struct payload rest)
{
	struct tape_process process;
	struct err *err = NULL;

	if (!payload_take(&rest, &process, sizeof(process)))
		return NULL;
	process.pid = anonymise_pid(anonymise, process.pid, &err);
	process.parent_pid = anonymise_pid(anonymise, process.parent_pid, &err);
	if (!err)
		err = anonymise_put(anonymise, &process, sizeof(process));
	for (unsigned i = 0; i < 2 && rest.count > 0 && !err; i++) { /* exe, working directory */
		const size_t len = strnlen((const char *)rest.bytes, rest.count);
		const bool is_ended = len < rest.count;

		err = anonymise_text(anonymise, ANONYMISE_PATH, (const char *)rest.bytes, len,
				     is_ended);
		rest.bytes += len + is_ended;
		rest.count -= len + is_ended;
	}
	return err ? err : put_texts(anonymise, rest, ANONYMISE_ARGUMENT);
}

static struct err *on_thread(struct anonymise *anonymise, struct payload rest)
{
	struct tape_thread thread;
	struct err *err = NULL;

	if (!payload_take(&rest, &thread, sizeof(thread)))
		return NULL;
	thread.handle = anonymise_address(anonymise, thread.handle);
	thread.tid = anonymise_pid(anonymise, thread.tid, &err);
	if (!err)
		err = anonymise_put(anonymise, &thread, sizeof(thread));
	return err ? err : put_texts(anonymise, rest, ANONYMISE_THREAD);
}

static struct err *on_module(struct anonymise *anonymise, struct payload rest)
{
	const struct anonymise_settings *settings = anonymise->settings;
	struct tape_module module;
	const uint8_t *build_id;
	uint64_t distance;
	struct err *err;

	if (!payload_take(&rest, &module, sizeof(module)) || module.build_id_bytes > rest.count)
		return NULL;
	distance = shift_address(anonymise->shift, module.begin) - module.begin;
	build_id = rest.bytes;
	rest.bytes += module.build_id_bytes;
	rest.count -= module.build_id_bytes;
	str_clear(&anonymise->text);
	str_add_bytes(&anonymise->text, (const char *)rest.bytes,
		      strnlen((const char *)rest.bytes, rest.count));
	build_id = settings->build_id(settings->context, str_text(&anonymise->text), build_id,
				      module.build_id_bytes);
	if (!build_id)
		return err_nomem();
	module.bias += distance;
	module.begin += distance;
	module.end += distance;
	err = anonymise_put(anonymise, &module, sizeof(module));
	if (!err)
		err = anonymise_put(anonymise, build_id, module.build_id_bytes);
	return err ? err : put_texts(anonymise, rest, ANONYMISE_PATH);
}

static struct err *on_map(struct anonymise *anonymise, struct payload rest)
{
	struct tape_map map;

	if (!payload_take(&rest, &map, sizeof(map)))
		return NULL;
	map.address = anonymise_address(anonymise, map.address);
	map.old_address = anonymise_address(anonymise, map.old_address);
	return anonymise_put(anonymise, &map, sizeof(map));
}

static struct err *on_kernel(struct anonymise *anonymise, struct payload rest)
{
	struct tape_kernel event;

	if (!payload_take(&rest, &event, sizeof(event)))
		return NULL;
	event.pid = 0;
	event.address = anonymise_address(anonymise, event.address);
	return anonymise_put(anonymise, &event, sizeof(event));
}

/* Of an object, the payload may end before the last members. */
static struct err *on_pool(struct anonymise *anonymise, struct payload rest)
{
	const size_t head = offsetof(struct tape_pool, address);
	struct tape_pool pool = { 0 };
	struct err *err;

	if (!payload_take(&rest, &pool, head) || tape_pool_bytes(pool.what) == 0 ||
	    !payload_take(&rest, (uint8_t *)&pool + head, tape_pool_bytes(pool.what) - head))
		return NULL;
	pool.pool = anonymise_address(anonymise, pool.pool);
	pool.address = anonymise_address(anonymise, pool.address);
	pool.old_address = anonymise_address(anonymise, pool.old_address);
	err = anonymise_put(anonymise, &pool, tape_pool_bytes(pool.what));
	return err ? err : put_texts(anonymise, rest, ANONYMISE_MARK);
}

/* Names unique to this program appear as prefixes, too. */
static struct err *on_allocator(struct anonymise *anonymise, struct payload rest)
{
	struct tape_allocator allocator;
	struct err *err;

	if (!payload_take(&rest, &allocator, sizeof(allocator)))
		return NULL;
	allocator.address = anonymise_address(anonymise, allocator.address);
	err = anonymise_put(anonymise, &allocator, sizeof(allocator));
	return err ? err : anonymise_put(anonymise, "allocator\n", 10);
}

static struct err *on_clock(struct anonymise *anonymise, struct payload rest)
{
	struct tape_clock_pair pair;

	if (!payload_take(&rest, &pair, sizeof(pair)))
		return NULL;
	pair.realtime_ns = anonymise_realtime(anonymise, pair.realtime_ns);
	return anonymise_put(anonymise, &pair, sizeof(pair));
}

static struct err *on_fork(struct anonymise *anonymise, struct payload rest)
{
	struct tape_fork record;
	struct err *err = NULL;

	if (!payload_take(&rest, &record, sizeof(record)))
		return NULL;
	record.pid = anonymise_pid(anonymise, record.pid, &err);
	if (!err)
		err = anonymise_put(anonymise, &record, sizeof(record));
	return err ? err : put_texts(anonymise, rest, ANONYMISE_PATH);
}

static struct err *on_thread_create(struct anonymise *anonymise, struct payload rest)
{
	struct tape_thread_create record;

	if (!payload_take(&rest, &record, sizeof(record)))
		return NULL;
	if (!record.is_birth)
		record.handle = anonymise_address(anonymise, record.handle);
	return anonymise_put(anonymise, &record, sizeof(record));
}

static struct err *on_stack_use(struct anonymise *anonymise, struct payload rest)
{
	struct tape_stack_use record;
	struct err *err = NULL;

	if (!payload_take(&rest, &record, sizeof(record)))
		return NULL;
	record.top = anonymise_address(anonymise, record.top);
	record.tid = anonymise_pid(anonymise, record.tid, &err);
	return err ? err : anonymise_put(anonymise, &record, sizeof(record));
}

/* The free text after a struct of this many bytes. */
static struct err *on_worded(struct anonymise *anonymise, struct payload rest, size_t struct_bytes,
			     enum anonymise_kind kind)
{
	struct err *err;

	if (rest.count < struct_bytes)
		return NULL;
	err = anonymise_put(anonymise, rest.bytes, struct_bytes);
	rest.bytes += struct_bytes;
	rest.count -= struct_bytes;
	return err ? err : put_texts(anonymise, rest, kind);
}

/* The format and the tool are public; the file is not, and notes may contain anything. */
static struct err *on_import(struct anonymise *anonymise, struct payload rest)
{
	struct tape_import import;
	const uint8_t *end;
	struct err *err;

	if (!payload_take(&rest, &import, sizeof(import)))
		return NULL;
	err = anonymise_put(anonymise, &import, sizeof(import));
	end = memchr(rest.bytes, '\n', rest.count);
	if (!err && end)
		err = anonymise_put(anonymise, rest.bytes, (size_t)(end - rest.bytes));
	return err ? err : anonymise_put(anonymise, "\n\nfile", 6);
}

static struct err *on_touched(struct anonymise *anonymise, struct payload rest)
{
	struct payload whole = rest;
	struct tape_touched touched;
	struct err *err;

	if (!payload_take(&rest, &touched, sizeof(touched)))
		return NULL;
	if (touched.flags & (TAPE_TOUCHED_TROUBLE | TAPE_TOUCHED_BLIND))
		return on_worded(anonymise, whole, sizeof(touched), ANONYMISE_OTHER);
	err = anonymise_put(anonymise, &touched, sizeof(touched));
	return err ? err : anonymise_space_lines(anonymise, rest);
}

/* Size of records that contain nothing identifying; SIZE_MAX: another kind. */
static size_t plain_bytes(enum tape_extended type)
{
	switch (type) {
	case TAPE_EXT_MEMBER_SUMS:
		return sizeof(struct tape_member_sums);
	case TAPE_EXT_MEMBER_USAGE:
		return sizeof(struct tape_member_usage);
	case TAPE_EXT_MODULE_END:
		return sizeof(struct tape_module_end);
	case TAPE_EXT_MALLOPT:
	case TAPE_EXT_MALLOC_TRIM:
		return sizeof(struct tape_setting);
	case TAPE_EXT_USAGE:
		return sizeof(struct tape_usage);
	case TAPE_EXT_SYSTEM:
		return sizeof(struct tape_system);
	case TAPE_EXT_LOST:
		return sizeof(struct tape_lost);
	case TAPE_EXT_ROTATED:
		return sizeof(struct tape_rotated);
	case TAPE_EXT_RECORDER:
		return sizeof(struct tape_recorder);
	case TAPE_EXT_END:
		return sizeof(struct tape_end);
	case TAPE_EXT_STACK_DEPTH:
		return sizeof(struct tape_stack_depth);
	case TAPE_EXT_THREAD_BIRTH:
		return sizeof(struct tape_thread_birth);
	case TAPE_EXT_CALLS:
		return sizeof(struct tape_calls);
	case TAPE_EXT_CALL_SIZES:
		return sizeof(struct tape_call_sizes);
	case TAPE_EXT_SCAN_BEGIN:
		return sizeof(struct tape_scan_begin);
	case TAPE_EXT_PAUSE:
		return sizeof(struct tape_paused);
	case TAPE_EXT_KERNEL_COUNT:
		return sizeof(struct tape_kernel_count);
	case TAPE_EXT_STRIPPED:
		return 0;
	default:
		return SIZE_MAX;
	}
}

static struct err *on_plain(struct anonymise *anonymise, enum tape_extended type,
			    struct payload rest)
{
	const size_t bytes = plain_bytes(type);

	if (bytes == SIZE_MAX || rest.count < bytes)
		return NULL;
	if (type == TAPE_EXT_CALLS) /* at the end of the existing text */
		rest.bytes += rest.count - bytes;
	return anonymise_put(anonymise, rest.bytes, bytes);
}

struct err *anonymise_payload(struct anonymise *anonymise, enum tape_extended type, uint64_t ticks,
			      const uint8_t *bytes, size_t count)
{
	const struct payload rest = { bytes, count };

	assert(bytes || count == 0);
	switch (type) {
	case TAPE_EXT_PROCESS:
		return on_process(anonymise, rest);
	case TAPE_EXT_THREAD:
	case TAPE_EXT_THREAD_NAME:
	case TAPE_EXT_THREAD_END:
		return on_thread(anonymise, rest);
	case TAPE_EXT_MODULE:
		return on_module(anonymise, rest);
	case TAPE_EXT_MMAP:
	case TAPE_EXT_MUNMAP:
	case TAPE_EXT_MREMAP:
	case TAPE_EXT_MPROTECT:
	case TAPE_EXT_MADVISE:
	case TAPE_EXT_BRK:
		return on_map(anonymise, rest);
	case TAPE_EXT_CLOCK:
		return on_clock(anonymise, rest);
	case TAPE_EXT_FORK:
	case TAPE_EXT_EXEC:
	case TAPE_EXT_DLOPEN:
		return on_fork(anonymise, rest);
	case TAPE_EXT_THREAD_CREATE:
		return on_thread_create(anonymise, rest);
	case TAPE_EXT_STACK_USE:
		return on_stack_use(anonymise, rest);
	case TAPE_EXT_SPACE:
	case TAPE_EXT_NODE_USE:
	case TAPE_EXT_HUGE_LOST:
		return anonymise_space(anonymise, type, rest);
	case TAPE_EXT_TOUCHED:
		return on_touched(anonymise, rest);
	case TAPE_EXT_MARK:
		return on_worded(anonymise, rest, sizeof(struct tape_mark), ANONYMISE_MARK);
	case TAPE_EXT_KERNEL:
		return on_kernel(anonymise, rest);
	case TAPE_EXT_TAG:
		return on_worded(anonymise, rest, sizeof(struct tape_tag), ANONYMISE_MARK);
	case TAPE_EXT_CGROUP:
		return on_worded(anonymise, rest, sizeof(struct tape_cgroup), ANONYMISE_OTHER);
	case TAPE_EXT_POOL:
		return on_pool(anonymise, rest);
	case TAPE_EXT_FAULT:
		return on_worded(anonymise, rest, sizeof(struct tape_fault_record),
				 ANONYMISE_OTHER);
	case TAPE_EXT_EDIT:
		return on_worded(anonymise, rest, sizeof(struct tape_edit), ANONYMISE_OTHER);
	case TAPE_EXT_ATTACHED:
		return on_worded(anonymise, rest, sizeof(struct tape_attached), ANONYMISE_OTHER);
	case TAPE_EXT_BEFORE:
		return on_worded(anonymise, rest, sizeof(struct tape_before), ANONYMISE_OTHER);
	case TAPE_EXT_MEMBER:
		return on_worded(anonymise, rest, sizeof(struct tape_member), ANONYMISE_OTHER);
	case TAPE_EXT_IMPORT:
		return on_import(anonymise, rest);
	case TAPE_EXT_SCAN:
		return anonymise_scan_part(anonymise, ticks, bytes, count);
	case TAPE_EXT_ALLOCATOR:
		return on_allocator(anonymise, rest);
	default:
		return on_plain(anonymise, type, rest);
	}
}
