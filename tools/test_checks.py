"""Every rule of tools/lint.py is broken once here and must go red; and it must pass when kept."""
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import check_format
import check_functions
import check_generated
import check_globals
import check_length
import check_manual
import check_poison
import check_recorder
import check_registry
import check_rooms
import check_web
import check_web_format
import generate
import junit_count
import lint

TABLE = """
| world | rooms | may include | what holds in it |
|---|---|---|---|
| `both/` | core | - | bits |
| `target/` | rec | both | the library |
| `read/` | base symbol | both | names |
| `cli/` | cli | both read | commands |

| room | may include | may link | one sentence |
|---|---|---|---|
| `core` | - | syscalls | bits |
| `rec` | core | libc only | the library |
| `base` | core | libc | arenas |
| `symbol` | core base | libdw, libiberty | names |
| `cli` | all that `cli/` may | - | commands |
"""


def write(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def compile_c(source, *options):
    target = source.with_suffix(".so" if "-shared" in options else ".c.o")
    subprocess.run(["gcc", *options, "-o", target, source], check=True)
    return target


def test_every_check_is_run_and_documented():
    root = pathlib.Path(__file__).resolve().parent.parent
    names = {path.stem.removeprefix("check_") for path in root.glob("tools/check_*.py")}
    assert set(lint.CHECKS) == names
    text = (root / "docs/architecture.md").read_text()
    assert [name for name in sorted(names) if f"`tools/check_{name}.py`" not in text] == []


# --- rooms --------------------------------------------------------------------------------------


@pytest.fixture
def house(tmp_path):
    write(tmp_path, "docs/architecture.md", TABLE)
    write(tmp_path, "src/both/core/a.c", '#include "core/a.h"\n#include <stdint.h>\n')
    write(tmp_path, "src/cli/a.c", '#include "base/a.h"\n#include "symbol/a.h"\n')
    write(tmp_path, "src/read/symbol/a.c", '#include <elfutils/libdw.h>\n#include "core/a.h"\n#include "base/a.h"\n')
    write(tmp_path, "src/read/symbol/spell.c", "#include <demangle.h>\n")
    return tmp_path


def test_a_house_in_order_has_no_problems(house):
    assert check_rooms.problems(house, None) == []


@pytest.mark.parametrize("name, text", [
    ("src/both/core/b.c", '#include "base/a.h"\n'),
    ("src/read/base/b.h", '#  include "symbol/a.h"\n#include "core/a.h"\n'),
    ("src/cli/b.c", '#include "rec/a.h"\n'),
    ("src/cli/b.c", '#include "nowhere/a.h"\n'),
    ("src/cli/b.c", '#include "both/core/a.h"\n'),
    ("src/read/unlisted/b.c", ""),
    ("src/base/b.c", ""),  # not in its world
    ("src/read/b.c", ""),  # in a world, but in no room
    ("src/read/base/b.c", "#include <zlib.h>\n#include \"core/a.h\"\n"),
    ("src/read/symbol/b.c", "#include <dwarf.h>\n"),  # a second adapter of libdw
    ("src/read/base/b.c", ""),  # base may include core, and does not
    ("src/cli/b.c", "".join(f'#include "symbol/{n}.h"\n' for n in "bcdefghijklmnop")),  # 16 with a.h
])
def test_a_forbidden_include_is_found(house, name, text):
    write(house, name, text)
    assert len(check_rooms.problems(house, None)) == 1


@pytest.mark.parametrize("row, instead", [
    ("| `both/` | core | - |", "| `both/` | core | read |"),  # a world below it
    ("| `base` | core |", "| `base` | core rec |"),  # a world that read/ may not include
    ("| `read/` | base symbol |", "| `read/` | symbol |"),  # a room of no world
    ("| `base` | core | libc | arenas |\n", ""),  # a room without a row
    ("| `symbol` | core base | libdw, libiberty |", "| `symbol` | core base | libdw, libiberty, zlib |"),  # not used
])
def test_a_wrong_row_is_found(house, row, instead):
    assert row in TABLE
    write(house, "docs/architecture.md", TABLE.replace(row, instead))
    assert check_rooms.problems(house, None) != []


@pytest.mark.parametrize("text", ["no table", TABLE[:TABLE.index("| room |")], TABLE[TABLE.index("| room |"):]])
def test_a_missing_table_is_not_a_pass(house, text):
    write(house, "docs/architecture.md", text)
    with pytest.raises(ValueError):
        check_rooms.problems(house, None)


# --- poison -------------------------------------------------------------------------------------


@pytest.mark.parametrize("text, bad", [
    ('#include "core/a.h"\n#include "core/poison.h"\nint x;\n', 0),
    ('#include "core/poison.h"\n#include "rec/hooks.def"\n', 0),
    ('#include "core/poison.h"\n#include <stdlib.h>\n', 1),
    ('#include "core/a.h"\n', 1),
    ("int x;\n", 1),
])
def test_poison_is_included_last(tmp_path, text, bad):
    write(tmp_path, "src/target/rec/a.c", text)
    write(tmp_path, "src/read/base/a.c", "#include <stdlib.h>\n")
    assert len(check_poison.problems(tmp_path, None)) == bad


# --- globals ------------------------------------------------------------------------------------


def compile_room(root, room, name, text):
    """A room with one source file and its object, as meson leaves it."""
    write(root, f"src/{room}/meson.build", "")
    source = write(root, f"src/{room}/libroom.a.p/{name}", text)
    compile_c(source, "-c", "-fPIC", "-O1")


@pytest.mark.parametrize("text, bad", [
    ("static const int x = 1; int f(void); int f(void) { return x; }", 0),
    ("extern int y; int *const x[] = { &y };", 0),  # .data.rel.ro: constant once loaded
    ("int x = 1;", 1),
    ("int x;", 1),
    ("int f(void); int f(void) { static int calls; return calls++; }", 1),
    ("_Thread_local int x;", 1),
])
def test_writable_globals_are_found(tmp_path, text, bad):
    for room in ("ask/query", "target/rec"):  # what rec does is rec's business
        compile_room(tmp_path, room, "a.c", text)
    assert len(check_globals.problems(tmp_path, tmp_path)) == bad


def test_a_name_of_two_functions_is_found(tmp_path):
    for room, text in (("ask/query", "int f(void); int f(void) { return 1; } static int g(void); int h(void); int h(void) { return g(); }"
                        " static int g(void) { return h(); }"),
                       ("read/base", "int f(void); int f(void) { return 2; } static int g(void); int i(void); int i(void) { return g(); }"
                        " static int g(void) { return i(); }"),
                       ("target/rec", "int f(void); int f(void) { return 3; }")):
        compile_room(tmp_path, room, "a.c", text)
        write(tmp_path, f"src/{room}/a.c", text)
    found, = check_globals.problems(tmp_path, tmp_path)
    assert "f is also a function of" in found
    (tmp_path / "src/read/base/a.c").unlink()  # its object may stay
    assert check_globals.problems(tmp_path, tmp_path) == []


def test_the_logger_may_own_a_global(tmp_path):
    compile_room(tmp_path, "read/base", "log.c", "int x;")
    assert check_globals.problems(tmp_path, tmp_path) == []


def test_an_object_of_a_folder_that_is_no_more_says_nothing(tmp_path):
    compile_room(tmp_path, "ask/query", "a.c", "int f(void); int f(void) { return 1; }")
    compile_room(tmp_path, "query", "a.c", "int x;")
    (tmp_path / "src/query/meson.build").unlink()
    assert check_globals.problems(tmp_path, tmp_path) == []


def test_no_objects_is_not_a_pass(tmp_path):
    (tmp_path / "src").mkdir()
    with pytest.raises(FileNotFoundError):
        check_globals.problems(tmp_path, tmp_path)


# --- length -------------------------------------------------------------------------------------


def function(lines):
    return "int f(void)\n{\n" + "\tg();\n" * (lines - 3) + "}\n"


@pytest.mark.parametrize("text, grants, bad", [
    (function(70), "", 0),
    (function(71), "", 1),
    (function(80), "src/read/base/a.c:f 80 why\n", 0),
    (function(81), "src/read/base/a.c:f 80 why\n", 1),
    (function(79), "src/read/base/a.c:f 80 why\n", 1),  # the ratchet: lower the grant
    (function(60), "src/read/base/a.c:f 80 why\n", 1),
    (function(10), "src/read/base/a.c:gone 80 why\n", 1),
    ("int x;\n" * 500, "", 0),
    ("int x;\n" * 501, "", 1),
    ("int x;\n" * 501, "# a comment\nsrc/read/base/a.c 501 why\n", 0),
])
def test_lengths_are_held(tmp_path, text, grants, bad):
    write(tmp_path, "src/read/base/a.c", text)
    write(tmp_path, "tools/length-granted.txt", grants)
    assert len(check_length.problems(tmp_path, None)) == bad


# --- format -------------------------------------------------------------------------------------


@pytest.mark.parametrize("text, bad", [("int f(void)\n{\n\treturn 1;\n}\n", 0), ("int f(void){return 1;}\n", 1)])
def test_white_space_is_clang_formats(tmp_path, text, bad):
    root = pathlib.Path(__file__).resolve().parent.parent
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    write(tmp_path, ".clang-format", (root / ".clang-format").read_text())
    write(tmp_path, "src/a.c", text)
    assert len(check_format.problems(tmp_path, None)) == bad


# --- registry -----------------------------------------------------------------------------------


@pytest.mark.parametrize("build, bad", [
    ("files('folded.c', 'export.c')", 0),
    ("formats = ['folded']\nfiles('export.c')", 0),
    ("files('export.c')", 1),
])
def test_a_file_without_its_word_is_found(tmp_path, build, bad):
    for name in ("export.c", "folded.c"):
        write(tmp_path, f"src/show/export/{name}", "")
    write(tmp_path, "src/show/export/meson.build", build)
    assert len(check_registry.problems(tmp_path, None)) == bad


@pytest.mark.parametrize("build, bad", [("files('folder/a.c')", 0), ("files('a.c')", 1)])
def test_a_file_in_a_folder_of_a_room_is_named_with_its_folder(tmp_path, build, bad):
    write(tmp_path, "src/show/http/folder/a.c", "")
    write(tmp_path, "src/show/http/meson.build", build)
    assert len(check_registry.problems(tmp_path, None)) == bad


def test_a_file_in_a_folder_that_is_not_built_is_found(tmp_path):
    write(tmp_path, "src/show/meson.build", "")
    write(tmp_path, "src/show/export/export.c", "")
    assert len(check_registry.problems(tmp_path, None)) == 1


# --- help and manual ----------------------------------------------------------------------------

MEMTAPE = """#!/bin/sh
case "$1 $2" in
--help*) printf 'usage: memtape\\n\\n  record   Record a program\\n  report  Tell\\n  export  Write\\n' ;;
record*) printf 'usage: memtape record [--no-such-word]\\n\\n  -o, --output FILE  not --other\\n  --follow  children\\n' ;;
'report --list') printf 'top    most\\nat     what was alive\\n' ;;
'export --list') printf 'Sums:\\n  trace-event  curves\\n' ;;
'report --list-fields') printf 'Name  Type\\nsize  bytes\\nthread  id\\nthread_name  text\\n' ;;
esac
"""
PAGE = ".TH X 1\n.SH OPTIONS\n.TP\n.BR \\-o \", \" \\-\\-output \" \" \\fIFILE\\fR\nwhere\n"
RECORD = PAGE + ".TP\n.B \\-\\-follow\nchildren\n"
LISTING = {
    "report.1": ".SS Reports\n.TP\n.B top\n.B most\n.TP\n.BI at \" T\"\nalive\n.SS More\n.TP\n.B other\n",
    "export.1": ".SS Formats\n.TP\n.B trace\\-event\ncurves\n.SH OPTIONS\n",
    "filter.7": ".SS Fields of an allocation\n.TP\n.BR size \" (bytes)\"\n.SS Fields of a stack\n.TP\n"
                ".BR thread \" (id), \" thread_name \" (text)\"\nwhose\n",
}


@pytest.fixture
def pages(tmp_path):
    write(tmp_path, "build/src/cli/memtape", MEMTAPE).chmod(0o755)
    for name, text in {"record.1": RECORD, **LISTING}.items():
        write(tmp_path, f"docs/man/memtape-{name}", text)
    return tmp_path


@pytest.mark.parametrize("page, bad", [
    (RECORD, 0),
    (PAGE, 1),
    (PAGE + ".TP\n.B \\-\\-follow\n.TP\n.B \\-\\-gone\n", 1),
    (None, 1),
])
def test_help_and_manual_agree(pages, page, bad):
    record = pages / "docs/man/memtape-record.1"
    record.write_text(page) if page else record.unlink()
    assert len(check_manual.problems(pages, pages / "build")) == bad


@pytest.mark.parametrize("name, old, new, bad", [
    ("report.1", ".B top", ".B tip", 2),  # one is missing, one is too many
    ("report.1", ".TP\n.BI at \" T\"\nalive\n", "", 1),
    ("report.1", "Reports", "Other", 2),
    ("export.1", "trace\\-event", "trace_event", 2),
    ("export.1", ".SH OPTIONS", ".TP\n.B xml\n.SH OPTIONS", 1),
    ("filter.7", " thread_name \" (text)\"", "", 1),
    ("filter.7", "size", "sighs", 2),
])
def test_what_is_listed_and_the_manual_agree(pages, name, old, new, bad):
    assert old in LISTING[name]
    write(pages, f"docs/man/memtape-{name}", LISTING[name].replace(old, new))
    assert len(check_manual.problems(pages, pages / "build")) == bad


def test_a_list_of_nothing_is_not_a_pass(pages):
    memtape = pages / "build/src/cli/memtape"
    memtape.write_text(MEMTAPE.replace("'export --list'", "'export --lists'"))
    with pytest.raises(ValueError):
        check_manual.problems(pages, pages / "build")


def test_a_page_without_a_command_is_found(pages):
    write(pages, "docs/man/memtape-gone.1", PAGE)
    assert len(check_manual.problems(pages, pages / "build")) == 1


# --- the recorder's library ---------------------------------------------------------------------

HOOKS = "HOOK(malloc, void *)\nHOOK(free, void)\n"
SHOWN = '__attribute__((visibility("default"))) '
KEPT = SHOWN + "int malloc(void) { return 1; }\n" + SHOWN + "int free(void) { return 2; }\n"


@pytest.mark.parametrize("text, options, bad", [
    (KEPT, [], 0),
    (KEPT + SHOWN + "int surplus;", [], 1),
    (KEPT.replace("int free", "int tree"), [], 2),  # one surplus, one missing
    (KEPT + "int getuid(void); int f(void); int f(void) { return getuid(); }", [], 0),
    (KEPT + "int getpid(void); int f(void); int f(void) { return getpid(); }", [], 1),  # of glibc alone
    (KEPT + "int getpid(void) __attribute__((weak)); int f(void); int f(void) { return getpid(); }", [], 0),
    (KEPT + "int getppid(void); int f(void); int f(void) { return getppid(); }", [], 1),
    (KEPT, ["-Wl,--no-as-needed", "-lm"], 1),
    # a name of glibc 2.34, and one that is as old as the processor's
    (KEPT + "int getuid(void); int f(void); __asm__(\".symver getuid,dlsym@GLIBC_2.34\"); int f(void) { return getuid(); }", [], 2),
])
def test_the_library_is_what_was_promised(tmp_path, text, options, bad):
    write(tmp_path, "src/target/rec/hooks.def", HOOKS)
    write(tmp_path, "tools/recorder-imports.txt",
          "[all]\n__cxa_finalize\n__gmon_start__\n_ITM_deregisterTMCloneTable\n"
          "_ITM_registerTMCloneTable\ngetuid\n[glibc]\ngetpid # why\n[musl]\ngetppid\n")
    source = write(tmp_path, "a.c", text)
    flags = ["-shared", "-fPIC", "-fvisibility=hidden", "-fno-builtin", "-Wl,--no-as-needed"]
    library = tmp_path / "a.so"
    subprocess.run(["gcc", *flags, "-o", library, source, *options], check=True)
    assert len(check_recorder.library_problems(tmp_path, library, "glibc")) == bad


@pytest.mark.parametrize("newest, name, bad", [((2, 17), "arm", 0), ((2, 18), "arm", 1), ((2, 27), "riscv64", 0), ((2, 28), "riscv64", 1)])
def test_a_library_asks_for_no_newer_glibc_than_its_processor_had_first(tmp_path, monkeypatch, newest, name, bad):
    monkeypatch.setattr(check_recorder, "versions", lambda library: [(2, 4), newest] if name in str(library) else [])
    monkeypatch.setattr(check_recorder, "symbols", lambda *rest, **more: set())
    monkeypatch.setattr(check_recorder, "needed", lambda library: [])
    monkeypatch.setattr(check_recorder, "promised", lambda root: set())
    monkeypatch.setattr(check_recorder, "imports", lambda *rest: set())
    monkeypatch.setattr(check_recorder, "newest_source", lambda root: 0)
    monkeypatch.setattr(check_recorder, "LIBRARIES", ("libmemtape.so",))
    write(tmp_path, f"tools/cross/{name}.ini", "")
    write(tmp_path, f"build/{name}/src/target/rec/libmemtape.so", "")
    assert len(check_recorder.problems(tmp_path, tmp_path / "build/gcc")) == bad


WRAPPED = "int __wrap_malloc(void); int __wrap_malloc(void) { return getuid(); }\n"


@pytest.mark.parametrize("text, wraps, bad", [
    (WRAPPED, ["malloc"], 0),
    (WRAPPED.replace("return ", "return __real_malloc() + "), ["malloc"], 0),
    (WRAPPED.replace("return ", "return __real_free() + "), ["malloc"], 1),
    (WRAPPED.replace("getuid", "getppid"), ["malloc"], 1),
    (WRAPPED + "int surplus;", ["malloc"], 1),
    (WRAPPED, ["malloc", "free"], 1),  # to a hook that is not there
    (WRAPPED.replace("malloc", "mallok"), ["mallok"], 1),
])
def test_the_archive_is_what_was_promised(tmp_path, text, wraps, bad):
    write(tmp_path, "src/target/rec/hooks.def", HOOKS)
    write(tmp_path, "tools/recorder-imports.txt", "[all]\n_GLOBAL_OFFSET_TABLE_\ngetuid\n[musl]\ngetppid\n")
    write(tmp_path, "libmemtape.wrap", "".join(f"--wrap={name}\n" for name in wraps))
    source = write(tmp_path, "a.c", "int getuid(void); int getppid(void); int __real_malloc(void); int __real_free(void);\n" + text)
    subprocess.run(["gcc", "-c", "-o", tmp_path / "a.o", source], check=True)
    subprocess.run(["ar", "rcs", tmp_path / "libmemtape.a", tmp_path / "a.o"], check=True)
    assert len(check_recorder.archive_problems(tmp_path, tmp_path / "libmemtape.a")) == bad


# --- functions ----------------------------------------------------------------------------------

DOCUMENT = """### 5.2 Functions
| fn | function | |
|---|---|---|
| 0 | malloc | |
| 1 | free | S |
| 2 | realloc: out | S |
| 3 | valloc | |

**A realloc**
"""
TABLE_OF_FUNCTIONS = """TAPE_FUNCTION(MALLOC, 0, "malloc", ALLOC, PLAIN)
TAPE_FUNCTION(FREE, 1, "free", FREE, PLAIN)
TAPE_FUNCTION(REALLOC_OUT, 2, "realloc", REALLOC_OUT, PLAIN)
TAPE_FUNCTION(VALLOC, 3, "valloc", ALLOC, ALIGNED)
"""
HOOKED = "HOOK_ALLOC(malloc, TAPE_FN_MALLOC)\nHOOK_FREE(free, TAPE_FN_FREE)\nHOOK_ALLOC(valloc, TAPE_FN_VALLOC)\n"


@pytest.mark.parametrize("table, hooks, document, bad", [
    (TABLE_OF_FUNCTIONS, HOOKED, DOCUMENT, 0),
    (TABLE_OF_FUNCTIONS.replace('"valloc"', '"pvalloc"'), HOOKED, DOCUMENT, 1),
    (TABLE_OF_FUNCTIONS.replace("valloc\", ALLOC", "valloc\", FREE"), HOOKED, DOCUMENT, 1),
    (TABLE_OF_FUNCTIONS, HOOKED.replace("TAPE_FN_VALLOC", "TAPE_FN_MALLOC"), DOCUMENT, 1),
    (TABLE_OF_FUNCTIONS, HOOKED, DOCUMENT.replace("| 3 | valloc |", "| 4 | valloc |"), 2),
])
def test_functions_are_documented_and_hooked(tmp_path, table, hooks, document, bad):
    write(tmp_path, "src/both/tape/functions.def", table)
    write(tmp_path, "src/target/rec/hooks.def", hooks)
    write(tmp_path, "docs/tape-format.md", document)
    assert len(check_functions.problems(tmp_path, None)) == bad


# --- the web app --------------------------------------------------------------------------------


@pytest.fixture
def web(tmp_path):
    write(tmp_path, "web/src/a.tsx", "const a = <p style={{ left: 0 }}>{name}</p>;\n")
    write(tmp_path, "web/index.html", '<script src="/a.js"></script>\n')
    write(tmp_path, "web/package-lock.json", '{"integrity": "sha512-x"}\n')
    return tmp_path


SCHEMA = """blocks: every block
  id                    of it
  truncated_stack_count events

stacks: stacks(moment): what they did
  id  of-it

functions:
human_time(ns)        1.50 ms
text REGEXP pattern   whether it matches
"""
ANSWER = {"get": {"responses": {"200": {"content": {"application/json": {"schema": {"allOf": [
    {"$ref": "#/components/schemas/Head"}, {"$ref": "#/components/schemas/Mark"}]}}}}}}}


@pytest.fixture
def documents(tmp_path, monkeypatch):
    """(what was said, {file}) as generate.py has them, of one answer."""
    mark = {"type": "object", "properties": {"ns": {"type": "integer", "format": "nanoseconds"}}, "required": ["ns"]}
    said = {"paths": {"/api/v1/marks": ANSWER}, "components": {"schemas": {"Head": mark, "Mark": mark}}}
    files = {name: tmp_path / name for name in ("TYPES", "API", "MANUAL", "SQL")}
    files["API"].write_text("A\n<!-- shape: Mark -->\nold\n<!-- end -->\nB\n")
    files["MANUAL"].write_text('.\\" shape: Mark\n.\\" end\n')
    files["SQL"].write_text('.\\" sql: tables\n.\\" end\n.\\" sql: functions\n.\\" end\n')
    monkeypatch.setattr(generate, "document", lambda build: said)
    monkeypatch.setattr(generate, "questions", lambda build: ["marks", "allocations"])
    monkeypatch.setattr(generate, "sql_schema", lambda build: SCHEMA)
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    for name in ("TYPES", "API", "SQL"):
        monkeypatch.setattr(generate, name, files[name])
    monkeypatch.setattr(generate, "MANUALS", [files["MANUAL"]])
    return said, files


def generate_all(build):
    for path, text in generate.made(build).items():
        path.write_text(text)


def test_stale_types_and_shapes_are_found(tmp_path, documents):
    _, files = documents
    assert len(check_generated.problems(tmp_path, tmp_path)) == 4
    generate_all(tmp_path)
    assert check_generated.problems(tmp_path, tmp_path) == []
    assert "ns: Ns;" in files["TYPES"].read_text() and '{"ns"}' in files["MANUAL"].read_text()
    assert files["API"].read_text().startswith("A\n<!-- shape: Mark -->\n") and "old" not in files["API"].read_text()
    assert ".SS blocks\nEvery block.\n.PP\n.nf\n  id                     of it\n" in files["SQL"].read_text()
    assert ".SS stacks\nstacks(moment): what they did.\n.PP\n.nf\n  id  of\\-it\n.fi\n" in files["SQL"].read_text()
    assert ".nf\n  human_time(ns)       1.50 ms\n  text REGEXP pattern  whether it matches\n.fi\n" in files["SQL"].read_text()
    files["TYPES"].write_text("")
    assert len(check_generated.problems(tmp_path, tmp_path)) == 1


@pytest.mark.parametrize("name, text", [
    ("API", "A\n<!-- shape: Mark -> \n"),  # a part of an answer, or a whole one
    ("MANUAL", '.\\" shape: Other\n'),
    ("SQL", '.\\" sql: tables\n.\\" end\n'),
])
def test_a_shape_that_stands_nowhere_is_found(tmp_path, documents, name, text):
    said, files = documents
    if name == "MANUAL":
        said["components"]["schemas"]["Other"] = said["components"]["schemas"]["Mark"]
        files["API"].write_text(files["API"].read_text() + "<!-- shape: Other -->\n<!-- end -->\n")
    generate_all(tmp_path)
    files[name].write_text(text)
    generate_all(tmp_path)
    assert len(check_generated.problems(tmp_path, tmp_path)) == 1


def test_a_new_shape_moves_no_other(tmp_path, documents):
    said, files = documents
    schemas = said["components"]["schemas"]
    schemas.update({name: schemas["Mark"] for name in ("Zebra", "Ape")})
    generate_all(tmp_path)
    assert re.findall(r"interface (\w+)", files["TYPES"].read_text()) == ["Ape", "Head", "Mark", "Zebra"]


def test_an_app_of_text_nodes_has_no_problems(web):
    assert check_web.problems(web, None) == []


@pytest.mark.parametrize("name, text", [
    ("web/src/b.ts", "element.innerHTML = name;\n"),
    ("web/src/ui/b.tsx", "<p dangerouslySetInnerHTML={{ __html: name }} />;\n"),
    ("web/index.html", "<script>boot()</script>\n"),
    ("web/index.html", '<p style="left: 0">\n'),
    ("web/package-lock.json", '{"resolved": "x"}\n'),
])
def test_markup_from_strings_and_registries_are_found(web, name, text):
    write(web, name, text)
    assert len(check_web.problems(web, None)) == 1


def test_formatted_pages_have_no_problems(web):
    assert check_web_format.problems(web, None) == []


@pytest.mark.parametrize("name, text", [
    ("web/src/ui/b.tsx", "const  b = 1;\n"),
    ("web/src/b.css", "a { color: red; }\n"),
    ("tests/web/unit/b.test.ts", "test('a', () => 1);\n"),
])
def test_pages_as_nobody_formats_them_are_found(web, name, text):
    write(web, name, text)
    assert check_web_format.problems(web, None) == [f"{name}: not as Prettier writes it"]


# --- members of answers -------------------------------------------------------------------------

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEMBERS = """
#include "answer/shape.h"
struct inner {{ uint64_t a; }};
struct outer {{ {field}; }};
extern const struct shape shape_inner;
const struct member members[] = {{ MEMBER(struct outer, field, {kind}, "doc"{more}) }};
_Static_assert(MEMBER_IS_POINTER(((struct outer *)0)->field) == {is_pointer}, "");
"""


def compiles_as_member(root, kind, field):
    source = write(root, "member.c", MEMBERS.format(
        kind=kind, field=field, is_pointer=int("*" in field),
        more=", .shape = &shape_inner" if kind in ("OBJECT", "FLAT", "ROWS", "KEYED") else ""))
    runs = [subprocess.run([cc, "-std=gnu17", "-c", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-o", "/dev/null",
                            *(f"-I{ROOT}/src/{world}" for world in ("both", "read", "ask")), source],
                           capture_output=True, text=True, check=False) for cc in ("gcc", "clang-14")]
    assert all(run.returncode == 0 or "the C type of the field is not that of MEMBER_" + kind in run.stderr for run in runs)
    assert runs[0].returncode == runs[1].returncode
    return runs[0].returncode == 0


FIELDS = {
    "COUNT": "uint64_t field", "BYTES": "uint64_t field", "NS": "uint64_t field", "PLAIN": "uint64_t field",
    "ADDRESS": "uint64_t field", "HASH": "const uint64_t field", "SIGNED": "int64_t field", "RATIO": "double field",
    "AMOUNT": "double field", "SHARE": "struct shape_share field", "FLAG": "bool field", "TEXT": "const char *field",
    "TEXTS": "struct shape_texts field", "NUMBERS": "struct shape_numbers field",
    "HASHES": "struct shape_numbers field", "INDEXES": "struct shape_indexes field",
    "RATIOS": "struct shape_ratios field", "CELLS": "struct shape_cells field", "CALLS": "uint32_t field",
    "FRAMES": "uint32_t field", "OBJECT": "struct inner field", "FLAT": "struct inner field",
    "ROWS": "struct shape_rows field", "KEYED": "struct shape_rows field",
}


def test_every_kind_of_member_has_its_field():
    kinds = re.findall(r"^\tMEMBER_(\w+)[,\s]", (ROOT / "src/ask/answer/shape.h").read_text(), re.M)
    assert kinds == list(FIELDS)


@pytest.mark.parametrize("kind, field", [*FIELDS.items(), ("TEXT", "char *field"), ("OBJECT", "struct inner *field"),
                                         ("OBJECT", "const struct unknown *field"), ("FLAT", "struct inner *field")])
def test_a_member_takes_a_field_of_its_kind(tmp_path, kind, field):
    assert compiles_as_member(tmp_path, kind, field)


@pytest.mark.parametrize("kind, field", [
    *((kind, "uint64_t field" if "uint64_t" not in field else "const char *field") for kind, field in FIELDS.items()),
    ("PLAIN", "uint32_t field"), ("BYTES", "int64_t field"), ("NS", "double field"), ("SIGNED", "uint64_t field"),
    ("FLAG", "int field"), ("CALLS", "uint64_t field"), ("TEXT", "const unsigned char *field"), ("RATIO", "float field"),
    ("TEXT", "char field[8]"), ("TEXTS", "struct shape_numbers field"), ("ROWS", "struct inner *field"),
    ("OBJECT", "struct inner field[2]"),
])
def test_a_member_takes_no_field_of_another_kind(tmp_path, kind, field):
    assert not compiles_as_member(tmp_path, kind, field)


# --- counting -----------------------------------------------------------------------------------


@pytest.mark.parametrize("xml, status, expected", [
    ("<testsuite><testcase/><testcase><failure/></testcase></testsuite>", 1, (1, 1)),
    ("<testsuite><testcase/><testcase><skipped/></testcase></testsuite>", 0, (1, 0)),
    ("<testsuite><testcase/></testsuite>", 1, (1, 1)),  # it died after the last good test
    ("<testsuite><testcase><error/></testcase></testsuite>", 1, (0, 1)),
    ("not xml", 0, (0, 1)),
])
def test_no_failure_is_lost_in_counting(tmp_path, xml, status, expected):
    assert junit_count.counts(write(tmp_path, "r.xml", xml), status) == expected
