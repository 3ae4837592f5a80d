/* What somebody sends to a collector's socket. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/ctl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ctl_request request;

	if (ctl_request_is_valid(data, size)) {
		memcpy(&request, data, sizeof(request));
		if (strlen(request.text) >= sizeof(request.text) ||
		    request.command > CTL_COMMAND_LAST)
			abort();
	}
	return 0;
}
