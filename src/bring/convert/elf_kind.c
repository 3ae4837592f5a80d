#include "convert/elf_kind.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/clean.h"

enum elf_kind elf_kind_of(const char *path)
{
	/* non-blocking: a path named by a foreign file may be a FIFO */
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	Elf64_Ehdr header;

	if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
	    pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return ELF_KIND_UNKNOWN;
	return header.e_type == ET_EXEC ? ELF_KIND_FIXED : ELF_KIND_MOVED;
}
