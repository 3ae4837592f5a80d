#include "scan/memory.h"

#include <assert.h>
#include <sys/uio.h>

enum { READ_STEP_BYTES = 4096 };

static size_t read_piece(pid_t pid, uint64_t address, void *buffer, size_t bytes)
{
	const struct iovec local = { buffer, bytes };
	const struct iovec remote = { (void *)address, bytes };
	const ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	return got > 0 ? (size_t)got : 0;
}

/* The kernel says at which page it stopped only if it has read something before. */
static size_t read_process(void *context, uint64_t address, void *buffer, size_t bytes)
{
	const pid_t pid = (pid_t)(intptr_t)context;
	size_t done = 0;

	while (done < bytes) {
		size_t got =
			read_piece(pid, address + done, (uint8_t *)buffer + done, bytes - done);

		if (got == 0) {
			const uint64_t at = address + done;
			const size_t rest = READ_STEP_BYTES - at % READ_STEP_BYTES;

			got = read_piece(pid, at, (uint8_t *)buffer + done,
					 u64_min(rest, bytes - done));
		}
		if (got == 0)
			break;
		done += got;
	}
	return done;
}

struct memory memory_of_process(pid_t pid)
{
	assert(pid > 0);
	return (struct memory) { read_process, (void *)(intptr_t)pid };
}
