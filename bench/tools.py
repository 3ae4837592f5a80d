"""Who records: memtape in its ways, and its peers.

A tool turns a workload's command line into its own and says what it left on disk and how a user
gets the first report from that. SLOW tools run on small inputs, against a base run of that size.
"""
import dataclasses
import glob
import os

LIB = "/usr/lib/x86_64-linux-gnu"


@dataclasses.dataclass
class Tool:
    name: str
    wrap: object  # (build, out) -> words before the workload's command line
    report: object = None  # (build, files) -> shell command that prints the first report
    exe: str = None  # the executable that the target process runs, where it is not the workload's
    slow: bool = False
    memory_mib: int = 0  # address space limit of every process
    needs: tuple = ()  # files without which the tool is not run


def preload(library, *variables):
    return ["/usr/bin/env", f"LD_PRELOAD={library}", *variables]


def memtape(build):
    """The command, in a build directory or below an installation's prefix."""
    return next((name for name in (os.path.join(build, "src/cli/memtape"), os.path.join(build, "bin/memtape"))
                 if os.path.exists(name)), "memtape")


def library(build):
    return next(iter(glob.glob(os.path.join(build, "src/target/rec/libmemtape.so"))
                     + glob.glob(os.path.join(build, "lib*", "**", "libmemtape.so"), recursive=True)), "libmemtape.so")


def record(*options):
    return lambda build, out: [memtape(build), "record", *options, "-o", os.path.join(out, "tape.mtape"), "--"]


def embedded(*variables):
    return lambda build, out: preload(library(build), f"MEMTAPE_OUTPUT={out}/tape.mtape", *variables)


def summary(build, files):
    return f"{memtape(build)} report {files[0]} summary"


def heaptrack(*options):
    return lambda build, out: ["heaptrack", *options, "-o", os.path.join(out, "heaptrack")]


def interpret(_, files):
    return f"zstd -dc {files[0]} | /usr/lib/heaptrack/libexec/heaptrack_interpret > {files[0]}.full && heaptrack_print {files[0]}.full"


def valgrind(tool):
    return lambda build, out: ["valgrind", "-q", f"--tool={tool}", f"--{tool}-out-file={out}/{tool}.out"]


TOOLS = [
    Tool("none", lambda build, out: []),
    Tool("memtape", record(), summary),
    Tool("memtape --no-summary", record("--no-summary")),
    Tool("memtape --no-summary --no-free-stacks", record("--no-summary", "--no-free-stacks")),
    Tool("memtape, library only", embedded(), summary),
    Tool("memtape, library only, no free stacks", embedded("MEMTAPE_OPTIONS=free_stacks=0"), summary),
    Tool("heaptrack", heaptrack(), lambda build, files: f"heaptrack_print {files[0]}", memory_mib=8192,
         needs=("/usr/bin/heaptrack",)),
    Tool("heaptrack -r", heaptrack("-r"), interpret, memory_mib=8192, needs=("/usr/bin/heaptrack",)),
    Tool("memusage", lambda build, out: preload("/lib/x86_64-linux-gnu/libmemusage.so"),
         needs=("/lib/x86_64-linux-gnu/libmemusage.so",)),
    Tool("memusage, the command", lambda build, out: ["/usr/bin/memusage", "--"], needs=("/usr/bin/memusage",)),
    Tool("memtape memusage", lambda build, out: [memtape(build), "memusage", "--"]),
    Tool("gperftools HEAPPROFILE", lambda build, out: preload(f"{LIB}/libtcmalloc.so.4", f"HEAPPROFILE={out}/profile"),
         slow=True, needs=(f"{LIB}/libtcmalloc.so.4",)),
    Tool("jemalloc prof, every allocation",
         lambda build, out: preload(f"{LIB}/libjemalloc.so.2",
                                    f"MALLOC_CONF=prof:true,lg_prof_sample:0,prof_final:true,prof_prefix:{out}/je"),
         slow=True, needs=(f"{LIB}/libjemalloc.so.2",)),
    Tool("massif", valgrind("massif"), lambda build, files: f"ms_print {files[0]}", exe="/usr/libexec/valgrind/massif",
         slow=True, needs=("/usr/bin/valgrind",)),
    Tool("DHAT", valgrind("dhat"), exe="/usr/libexec/valgrind/dhat", slow=True, needs=("/usr/bin/valgrind",)),
]


def missing(tool, build):
    """What the tool lacks here, or None."""
    files = list(tool.needs)
    if tool.name.startswith("memtape"):
        files = [library(build)] if "library only" in tool.name else [library(build), memtape(build)]
    return next((name for name in files if not os.path.exists(name)), None)


def files_left(out):
    return sorted(name for name in glob.glob(os.path.join(out, "*")) if os.path.isfile(name))
