/*
 * memtape-record: starts a program with the libmemtape.so that lies beside it, for machines that have
 * neither `memtape` nor a shell. Linked statically: it needs no library, of whatever libc the machine is.
 *
 * The program keeps its process id, standard streams, environment and exit status: what is recorded is
 * said by variables, and execvp() does the rest. What the library cannot be loaded into (a static
 * program, another processor, one with more rights than its user's) is refused before it is started.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	EXIT_USAGE = 2,
	EXIT_NOT_STARTED = 126, /* as shells have it */
	EXIT_NOT_FOUND = 127,
	PROGRAM_HEADERS_MAX = 256,
	IDENT_BYTES = EI_DATA + 1, /* magic, word size, byte order */
	LIBRARY_NAME_BYTES = 24	   /* the longest of library_names, with its NUL */
};

static const char library_name[] = "libmemtape.so";

/* A kernel of 64 bits may run programs of 32, which take another library: from the folder of either. */
static const char *const library_names[] = { library_name, "arm/libmemtape.so",
					     "i386/libmemtape.so", "../libmemtape.so" };

static const char usage[] =
	"usage: memtape-record [options] PROGRAM [ARGUMENT...]\n"
	"\n"
	"Starts PROGRAM and records its allocations with the libmemtape.so beside memtape-record.\n"
	"\n"
	"  -o, --output=FILE     the tape; %p is the process, %e the program, %t the time, %h the "
	"host\n"
	"                        (default: memtape.%e.%p.mtape in the current folder)\n"
	"      --output=tcp://HOST:PORT[,none]\n"
	"                        send it to `memtape gather` there; none: without a file here\n"
	"      --token-file=FILE the secret that both sides know\n"
	"      --options=WORDS   further options of the library (MEMTAPE_OPTIONS), separated by "
	"commas\n"
	"      --log=LEVEL       what the library says on standard error\n"
	"      --version, --help\n"
	"\n"
	"The exit status is PROGRAM's; 126 and 127 if it could not be started or found.\n"
	"Read the tape elsewhere: memtape report FILE\n";

/* A variable of the environment by an option; NULL: not given, the environment's own stays. */
struct variables {
	const char *output, *token, *options, *log;
};

static void say(const char *what, const char *name, const char *remedy)
{
	fprintf(stderr, "memtape-record: %s%s%s%s\n", name, *name ? ": " : "", what, remedy);
}

/* ELF, of either word size: what decides whether the library can be loaded. */
struct image {
	unsigned char ident[IDENT_BYTES];
	uint16_t machine;
	bool is_elf, is_static;
};

/* The library is loaded by the interpreter that a program names, and by nothing else. */
static bool has_interpreter(int fd, uint64_t offset, unsigned entry_bytes, unsigned count)
{
	uint32_t type; /* the first member of both kinds of program headers */

	for (unsigned i = 0; i < count && i < PROGRAM_HEADERS_MAX; i++)
		if (pread(fd, &type, sizeof(type), (off_t)(offset + (uint64_t)i * entry_bytes)) ==
			    (ssize_t)sizeof(type) &&
		    type == PT_INTERP)
			return true;
	return false;
}

/* Of another byte order only the machine's name is wrong, which is another machine then, too. */
static struct image image_read(int fd)
{
	struct image image = { .is_elf = false };
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr narrow;
		Elf64_Ehdr wide;
	} header = { .ident = { 0 } };
	const ssize_t got = pread(fd, &header, sizeof(header), 0);

	if (got < (ssize_t)sizeof(header.narrow) || memcmp(header.ident, ELFMAG, SELFMAG) != 0)
		return image;
	image.is_elf = true;
	memcpy(image.ident, header.ident, sizeof(image.ident));
	image.machine = header.narrow.e_machine; /* at the same place in both */
	if (header.ident[EI_CLASS] == ELFCLASS64)
		image.is_static = !has_interpreter(fd, header.wide.e_phoff, header.wide.e_phentsize,
						   header.wide.e_phnum);
	else
		image.is_static =
			!has_interpreter(fd, header.narrow.e_phoff, header.narrow.e_phentsize,
					 header.narrow.e_phnum);
	return image;
}

static bool same_processor(const struct image *a, const struct image *b)
{
	return a->machine == b->machine && memcmp(a->ident, b->ident, sizeof(a->ident)) == 0;
}

static struct image image_of(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct image image = { .is_elf = false };

	if (fd < 0)
		return image;
	image = image_read(fd);
	close(fd);
	return image;
}

/* In `library`, the one in its folder for a program's processor. False: there is none; the path stays. */
static bool library_choose(char *library, const struct image *program)
{
	char *name = strrchr(library, '/') + 1;

	for (size_t i = 0; i < sizeof(library_names) / sizeof(*library_names); i++) {
		struct image image;

		snprintf(name, LIBRARY_NAME_BYTES, "%s", library_names[i]);
		image = image_of(library);
		if (image.is_elf && same_processor(&image, program))
			return true;
	}
	snprintf(name, LIBRARY_NAME_BYTES, "%s", library_name);
	return false;
}

/* As execvp() finds it. True: `path` of PATH_MAX bytes is a file that can be executed. */
static bool program_find(const char *name, char *path)
{
	const char *places = getenv("PATH");
	size_t bytes;

	if (strchr(name, '/')) {
		snprintf(path, PATH_MAX, "%s", name);
		return access(path, F_OK) == 0;
	}
	for (places = places ? places : "/bin:/usr/bin"; *places; places += bytes) {
		bytes = strcspn(places, ":");
		snprintf(path, PATH_MAX, "%.*s%s%s", (int)bytes, places, bytes ? "/" : "", name);
		if (access(path, X_OK) == 0)
			return true;
		bytes += places[bytes] == ':';
	}
	return false;
}

/* The loader itself has no interpreter, and loads what LD_PRELOAD says. */
static bool is_loader(const char *path)
{
	const char *name = strrchr(path, '/');

	return strncmp(name ? name + 1 : path, "ld-", 3) == 0 ||
	       strcmp(name ? name + 1 : path, "ld.so") == 0;
}

/* A script is started by its interpreter, which is not looked at: most are recorded. */
static bool program_fits(const char *path, char *library)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status = { .st_mode = 0 };
	struct image image;

	if (fd < 0)
		return true; /* may be executed without being readable: the loader will say */
	image = image_read(fd);
	fstat(fd, &status);
	close(fd);
	if (!image.is_elf)
		return true;
	if (!library_choose(library, &image)) {
		say("this program is for another processor", path,
		    "; take the memtape-record that was built for it, or put that one's "
		    "libmemtape.so into a folder beside this one: arm or i386");
		return false;
	}
	if (image.is_static && !is_loader(path)) {
		say("this program is linked statically: no library can be loaded into it", path,
		    "; link libmemtape.a into it");
		return false;
	}
	if (((status.st_mode & S_ISUID) && status.st_uid != geteuid()) ||
	    ((status.st_mode & S_ISGID) && status.st_gid != getegid())) {
		say("this program gets other rights when it starts, and then loads nothing of its "
		    "user",
		    path, "; run memtape-record as the user whose rights it gets");
		return false;
	}
	return true;
}

/* The library beside this program, in `path` of PATH_MAX bytes. */
static bool library_find(char *path)
{
	const ssize_t bytes = readlink("/proc/self/exe", path, PATH_MAX - LIBRARY_NAME_BYTES);
	char *name;

	if (bytes <= 0) {
		say(strerror(errno), "/proc/self/exe", "; /proc has to be mounted");
		return false;
	}
	path[bytes] = '\0';
	name = strrchr(path, '/');
	if (!name) /* never: the kernel's paths are absolute */
		return false;
	snprintf(name + 1, LIBRARY_NAME_BYTES, "%s", library_name);
	if (access(path, R_OK) == 0 && !strpbrk(path, " :"))
		return true;
	say(strpbrk(path, " :") ? "its path has a space or a colon, which LD_PRELOAD cannot have"
				: strerror(errno),
	    path, "; libmemtape.so has to lie beside memtape-record");
	return false;
}

/* What was preloaded before stays, behind it. */
static bool preload(const char *library)
{
	const char *before = getenv("LD_PRELOAD");
	const size_t bytes = strlen(library) + (before ? strlen(before) : 0) + sizeof(":");
	char *all = malloc(bytes);
	bool is_set;

	if (!all)
		return false;
	snprintf(all, bytes, "%s%s%s", library, before && *before ? ":" : "", before ? before : "");
	is_set = setenv("LD_PRELOAD", all, 1) == 0;
	free(all);
	return is_set;
}

static bool set(const char *name, const char *value)
{
	return !value || setenv(name, value, 1) == 0;
}

static bool environment_set(const char *library, const struct variables *variables)
{
	const bool is_set = preload(library) && set("MEMTAPE_OUTPUT", variables->output) &&
			    set("MEMTAPE_TOKEN_FILE", variables->token) &&
			    set("MEMTAPE_OPTIONS", variables->options) &&
			    set("MEMTAPE_LOG", variables->log);

	if (!is_set)
		say(strerror(errno), "", "");
	return is_set;
}

/* -1: go on; else what to exit with. */
static int options_parse(int argc, char **argv, struct variables *variables)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "token-file", required_argument, NULL, 't' },
		{ "options", required_argument, NULL, 'O' },
		{ "log", required_argument, NULL, 'l' },
		{ "version", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "+o:h", options, NULL)) != -1) {
		switch (option) {
		case 'o':
			variables->output = optarg;
			break;
		case 't':
			variables->token = optarg;
			break;
		case 'O':
			variables->options = optarg;
			break;
		case 'l':
			variables->log = optarg;
			break;
		case 'v':
			puts("memtape-record " MEMTAPE_VERSION);
			return EXIT_SUCCESS;
		case 'h':
			fputs(usage, stdout);
			return EXIT_SUCCESS;
		default: /* getopt has said what is wrong */
			return EXIT_USAGE;
		}
	}
	if (optind < argc)
		return -1;
	fputs(usage, stderr);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	struct variables variables = { .output = NULL };
	char library[PATH_MAX], program[PATH_MAX];
	const int exit_code = options_parse(argc, argv, &variables);

	if (exit_code >= 0)
		return exit_code;
	if (!library_find(library))
		return EXIT_NOT_STARTED;
	if (!program_find(argv[optind], program)) {
		say("there is no such program", argv[optind], "");
		return EXIT_NOT_FOUND;
	}
	if (!image_of(library).is_elf) {
		say("this is no library", library, "; copy it again");
		return EXIT_NOT_STARTED;
	}
	if (!program_fits(program, library) || !environment_set(library, &variables))
		return EXIT_NOT_STARTED;
	execvp(argv[optind], argv + optind);
	say(strerror(errno), program, "");
	return EXIT_NOT_STARTED;
}
