#include "capture/chunk.h"

#include <assert.h>

#include "tape/tape_kernel.h"
#include "tape/tape_import.h"

size_t chunk_extended_node(const struct tape_extended_record *record)
{
	size_t offset;

	assert(record->payload || record->payload_bytes == 0);
	switch (record->type) {
	case TAPE_EXT_MMAP:
	case TAPE_EXT_MUNMAP:
	case TAPE_EXT_MREMAP:
	case TAPE_EXT_MPROTECT:
	case TAPE_EXT_MADVISE:
	case TAPE_EXT_BRK:
		offset = offsetof(struct tape_map, node);
		break;
	case TAPE_EXT_MALLOPT:
	case TAPE_EXT_MALLOC_TRIM:
		offset = offsetof(struct tape_setting, node);
		break;
	case TAPE_EXT_FORK:
	case TAPE_EXT_EXEC:
	case TAPE_EXT_DLOPEN:
		offset = offsetof(struct tape_fork, node);
		break;
	case TAPE_EXT_MARK:
	case TAPE_EXT_POOL: /* at the same place */
		offset = offsetof(struct tape_mark, node);
		break;
	case TAPE_EXT_KERNEL:
		offset = offsetof(struct tape_kernel, node);
		break;
	case TAPE_EXT_MEMBER:
		offset = offsetof(struct tape_member, node);
		break;
	case TAPE_EXT_THREAD_CREATE:
		offset = offsetof(struct tape_thread_create, node);
		break;
	default: /* unknown types of later versions end up here as well */
		return CHUNK_NO_NODE;
	}
	return record->payload_bytes < offset + sizeof(uint32_t) ? CHUNK_NO_NODE : offset;
}
