#include "symbol/remedy.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { FILE_BYTES_MAX = 64 << 20 };

/* --- which server ---------------------------------------------------------------------------- */

static bool text_read(const char *path, char *buf, size_t bytes)
{
	CLEAN(fclose) FILE *file = fopen(path, "re");
	size_t len;

	if (!file)
		return false;
	len = fread(buf, 1, bytes - 1, file);
	buf[len] = '\0';
	return true;
}

/* Whether os-release names `name` as the distribution or its parent. */
static bool is_distribution(const char *release, const char *name)
{
	for (const char *line = release; line; line = strchr(line, '\n')) {
		const char *end;

		line += *line == '\n';
		end = strchrnul(line, '\n');
		if (strncmp(line, "ID=", 3) != 0 && strncmp(line, "ID_LIKE=", 8) != 0)
			continue;
		if (memmem(line, (size_t)(end - line), name, strlen(name)))
			return true;
	}
	return false;
}

const char *remedy_server(void)
{
	static const struct {
		const char *distribution;
		const char *url;
	} servers[] = {
		{ "ubuntu", "https://debuginfod.ubuntu.com" },
		{ "debian", "https://debuginfod.debian.net" },
		{ "fedora", "https://debuginfod.fedoraproject.org/" },
		{ "centos", "https://debuginfod.centos.org/" },
		{ "arch", "https://debuginfod.archlinux.org" },
		{ "suse", "https://debuginfod.opensuse.org/" },
		{ "alpine", "https://debuginfod.elfutils.org/" },
	};
	char release[4096];

	if (!text_read("/etc/os-release", release, sizeof(release)))
		release[0] = '\0';
	for (size_t i = 0; i < array_size(servers); i++) {
		if (is_distribution(release, servers[i].distribution))
			return servers[i].url;
	}
	return "https://debuginfod.elfutils.org/";
}

/* --- which package --------------------------------------------------------------------------- */

static const char DPKG_FOLDER[] = "/var/lib/dpkg/info";
static const char LIST_SUFFIX[] = ".list";

/* Whether the list of files has the line. */
static bool list_has(int folder, const char *name, const char *path)
{
	CLEAN(close) int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	const size_t len = strlen(path);
	struct stat status;
	const char *text, *hit;
	size_t size;
	bool found = false;

	if (fd < 0 || fstat(fd, &status) != 0 || status.st_size <= 0 ||
	    status.st_size > FILE_BYTES_MAX)
		return false;
	size = (size_t)status.st_size;
	text = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		return false;
	for (hit = text; (hit = memmem(hit, size - (size_t)(hit - text), path, len)); hit++) {
		found = (hit == text || hit[-1] == '\n') &&
			((size_t)(hit - text) + len == size || hit[len] == '\n');
		if (found)
			break;
	}
	munmap((void *)(uintptr_t)text, size);
	return found;
}

/* "libc6:amd64.list" belongs to libc6. */
static char *package_of_list(const char *name)
{
	return strndup(name, strcspn(name, ":") < strlen(name)
				     ? strcspn(name, ":")
				     : strlen(name) - strlen(LIST_SUFFIX));
}

static bool is_list(const char *name)
{
	const size_t len = strlen(name), suffix = strlen(LIST_SUFFIX);

	return len > suffix && strcmp(name + len - suffix, LIST_SUFFIX) == 0;
}

char *remedy_package(const char *path)
{
	CLEAN(closedir) DIR *folder = opendir(DPKG_FOLDER);
	CLEAN(free) char *real = realpath(path, NULL);
	const char *wanted = real ? real : path;
	/* Packages from before the merge of /lib and /usr/lib list /lib. */
	const char *older = strncmp(wanted, "/usr/", 5) == 0 ? wanted + 4 : wanted;
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		if (is_list(entry->d_name) && (list_has(dirfd(folder), entry->d_name, wanted) ||
					       list_has(dirfd(folder), entry->d_name, older)))
			return package_of_list(entry->d_name);
	}
	return NULL;
}

/* --- in words -------------------------------------------------------------------------------- */

static void add_missing_debug(struct str *out, const char *path)
{
	CLEAN(free) char *package = remedy_package(path);

	if (package && strcmp(package, "libc6") == 0)
		str_add(out, "install libc6-dbg, or ");
	else if (package)
		str_printf(out, "install %s-dbgsym, or ", package);
	else
		str_add(out, "build it with -g, install its debug symbols, or ");
	str_printf(out, "set DEBUGINFOD_URLS=%s", remedy_server());
}

void remedy_add(struct str *out, enum symbol_state state, const char *path)
{
	switch (state) {
	case SYMBOL_NAMES:
	case SYMBOL_EXPORTS:
	case SYMBOL_NONE:
		add_missing_debug(out, path);
		return;
	case SYMBOL_MISSING:
		str_printf(
			out,
			"say where it is with --sysroot or --path-map, or set DEBUGINFOD_URLS=%s",
			remedy_server());
		return;
	case SYMBOL_STALE:
		str_printf(
			out,
			"find the version that was recorded: --sysroot, --path-map, --debug-dir, "
			"or set DEBUGINFOD_URLS=%s",
			remedy_server());
		return;
	case SYMBOL_UNREAD:
	case SYMBOL_LINES:
	case SYMBOL_VIRTUAL:
		return;
	}
}
