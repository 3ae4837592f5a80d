"""Allocators whose functions have names of their own: je_malloc, mi_free, and whatever --allocator names.

What the programs of allocators/prefix count themselves is on the tape, once; where calls are out of reach,
the tape says so, and the program is as it is without us.
"""

import json
import re
import shutil
import subprocess

import pytest

import recording
import targets
from test_allocators import ARCHIVES, LIBRARIES, SOURCES, check_all, check_tape, library, sql, told, taped

PREFIX = SOURCES / "prefix"


def compile_to(out, *words, compiler="gcc"):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} here")
    subprocess.run([compiler, "-g", "-O1", "-fno-builtin", "-pthread", *map(str, words), "-o", out], check=True)
    return out


def make_pool(folder, prefix="pool_", words=(), name=None):
    return compile_to(folder / f"lib{name or prefix}.so", "-shared", "-fPIC", f"-DPREFIX={prefix}", *words,
                      PREFIX / "pool.c")


def make_program(folder, pool, prefix="pool_", words=()):
    return compile_to(folder / "program", "-DPROGRAM", f"-DPREFIX={prefix}", *words, PREFIX / "work.c",
                      f"-Wl,-rpath,{folder}", pool)


def make_plugin(folder, prefix="pool_", words=(), name="plugin.so"):
    return compile_to(folder / name, "-shared", "-fPIC", f"-DPREFIX={prefix}", PREFIX / "work.c", *words)


def make_host(folder, words=(), loading="RTLD_LAZY"):
    return compile_to(folder / "host", f"-DLOADING={loading}", PREFIX / "host.c", *words, "-ldl")


def record(args, tape, *options, env=None):
    return recording.run_recorded(args, tape, options=["--quiet", *options], env=env)


def seen(tape):
    done = recording.run([recording.memtape(), "info", "--json", tape])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout).get("allocators", [])


def check_recorded(args, tape, *options):
    check_all(recording.run_plain(args), record(args, tape, *options))


def check_unseen(args, tape, *options):
    """The program is as without us, and nothing of that allocator is on the tape."""
    plain, recorded = recording.run_plain(args), record(args, tape, *options)
    assert plain.returncode == 0, plain.stderr
    assert recorded.answer() == plain.answer()
    check_tape(tape)
    counts = {size: told for size, told in told(plain).items() if size != 70009}
    assert taped(tape, counts) == {}


@pytest.mark.parametrize("linking", [["-Wl,-z,lazy"], ["-Wl,-z,now"], ["-Wl,-z,lazy", "-Wl,-z,norelro"],
                                     ["-no-pie", "-Wl,-z,lazy"], ["-no-pie", "-fno-plt"],
                                     ["-fno-plt", "-Wl,-z,now"]], ids=" ".join)
def test_an_allocator_that_is_named_is_recorded_however_its_program_is_linked(linking, tape, tmp_path):
    program = make_program(tmp_path, make_pool(tmp_path), words=linking)
    check_recorded([program], tape, "--allocator", "pool=pool_")


def test_what_it_is_and_who_calls_it_is_on_the_tape(tape, tmp_path):
    pool = make_pool(tmp_path)
    record([make_program(tmp_path, pool)], tape, "--allocator=pool=pool_")
    allocator, = seen(tape)
    assert (allocator["name"], allocator["prefix"], allocator["path"]) == ("pool", "pool_", str(pool))
    assert allocator["asked"] and allocator["functions"] == 6
    assert allocator["objects"] == 2  # the program, and the library that calls itself


def test_stacks_begin_with_the_caller(tape, tmp_path):
    record([make_program(tmp_path, make_pool(tmp_path))], tape, "--allocator=pool=pool_")
    rows = [row for row in recording.rows(tape) if row["size"] == 70008]
    assert len(rows) == 7
    for row in rows:
        names = [frame["function"] for frame in row["stack"]]
        assert names[:4] == ["leak_some", "plain", "work_run", "main"]
        assert row["function"] == "malloc" and row["free_ns"] is None
    realloced = next(row for row in recording.rows(tape) if row["size"] == 70004)
    assert realloced["function"] == "realloc" and targets.has_frame(realloced["free_stack"], "plain")


def test_usable_sizes_are_the_allocators_own(tape, tmp_path):
    record([make_program(tmp_path, make_pool(tmp_path))], tape, "--allocator=pool=pool_")
    rows = sql(tape, "SELECT DISTINCT usable_size AS usable FROM allocations WHERE size BETWEEN 70001 AND 70008")
    assert [row["usable"] for row in rows] == [70016]


def test_a_call_that_fails_is_recorded_as_failed(tape, tmp_path):
    record([make_program(tmp_path, make_pool(tmp_path))], tape, "--allocator=pool=pool_")
    assert recording.report(tape, "summary")["failed"] == 1


def test_programs_of_musl_are_recorded_too(tape, tmp_path):
    """With what they load later, and the library that was made for glibc."""
    pool = compile_to(tmp_path / "libpool_.so", "-shared", "-fPIC", "-DPREFIX=pool_", PREFIX / "pool.c",
                      compiler="musl-gcc")
    words = ["-DPREFIX=pool_", PREFIX / "work.c", f"-Wl,-rpath,{tmp_path}", pool]
    program = compile_to(tmp_path / "program", "-DPROGRAM", *words, compiler="musl-gcc")
    check_recorded([program], tape, "--allocator=pool=pool_")
    plugin = compile_to(tmp_path / "plugin.so", "-shared", "-fPIC", *words, compiler="musl-gcc")
    host = compile_to(tmp_path / "host", "-DLOADING=RTLD_NOW", PREFIX / "host.c", compiler="musl-gcc")
    check_recorded([host, plugin], tape, "--force", "--allocator=pool=pool_")


RUST = """fn main() {
    let mut kept = Vec::new();
    for i in 0..50 {
        kept.push(vec![i as u8 + 1; 70001]);
    }
    println!("70001 {} 50", kept.len());
}
"""


@pytest.mark.slow
def test_rust_by_its_own_names_is_counted_once(tape, tmp_path):
    """As its library has them: what follows is a hash of the compiler's, in newer ones."""
    if not shutil.which("rustc"):
        pytest.skip("no rustc here")
    (tmp_path / "main.rs").write_text(RUST)
    subprocess.run(["rustc", "-O", "-Cprefer-dynamic", "-Crpath", tmp_path / "main.rs", "-o", tmp_path / "program"],
                   check=True)
    names = subprocess.run(["nm", "-D", tmp_path / "program"], check=True, capture_output=True, text=True).stdout
    mangled = re.search(r"U (_RNv\w+_7___rustc)12___rust_alloc$", names, re.MULTILINE)
    assert mangled or "U __rust_alloc" in names
    check_recorded([tmp_path / "program"], tape, "--allocator", f"rust={mangled[1]}" if mangled else "rust")
    assert seen(tape)[0]["objects"] >= 1
    assert {row["function"] for row in recording.rows(tape) if row["size"] == 70001} == {"malloc"}


def test_a_known_allocator_that_is_asked_for_is_left_to_itself(tape, tmp_path):
    """Named or not: what it calls in itself is not led to us."""
    pool = make_pool(tmp_path, "je_", ["-DWITH_X"])
    check_recorded([make_program(tmp_path, pool, "je_", ["-DWITH_X"])], tape, "--allocator=jemalloc")
    allocator, = seen(tape)
    assert allocator["asked"] and allocator["objects"] == 1


def test_jemalloc_with_its_prefix_is_recorded_unasked(tape, tmp_path):
    pool = make_pool(tmp_path, "je_", ["-DWITH_X"])
    check_recorded([make_program(tmp_path, pool, "je_", ["-DWITH_X"])], tape)
    allocator, = seen(tape)
    assert (allocator["name"], allocator["prefix"], allocator["asked"]) == ("jemalloc", "je_", False)
    assert allocator["objects"] == 1  # what it calls in itself stays as it is


def test_a_name_that_only_looks_like_jemallocs_is_left_alone_unasked(tape, tmp_path):
    """Whoever exports je_malloc and not je_mallctl is another, and may mean something else by it."""
    program = make_program(tmp_path, make_pool(tmp_path, "je_"), "je_")
    check_unseen([program], tape)
    assert seen(tape) == []


def test_none_leaves_known_ones_alone(tape, tmp_path):
    pool = make_pool(tmp_path, "je_", ["-DWITH_X"])
    check_unseen([make_program(tmp_path, pool, "je_", ["-DWITH_X"])], tape, "--allocator", "none")


@pytest.mark.parametrize("loading", ["RTLD_LAZY", "RTLD_NOW"])
def test_libraries_that_are_loaded_later_are_recorded(loading, tape, tmp_path):
    """The allocator comes with the first of them."""
    pool = make_pool(tmp_path)
    plugins = [make_plugin(tmp_path, words=[f"-Wl,-rpath,{tmp_path}", pool], name=f"plugin{i}.so")
               for i in range(2)]
    host = make_host(tmp_path, loading=loading)
    plain = recording.run_plain([host, *plugins])
    recorded = record([host, *plugins], tape, "--allocator=pool=pool_")
    assert recorded.answer() == plain.answer() and plain.returncode == 0
    check_tape(tape)
    first = recording.run_plain([host, plugins[0]])
    counts = {size: (2 * made, 2 * freed) for size, (made, freed) in told(first).items()}
    assert taped(tape, counts) == counts
    assert seen(tape)[0]["objects"] == 3


def test_a_library_that_is_loaded_and_unloaded_again_and_again_is_recorded_each_time(tape, tmp_path):
    """With an allocator of its own inside, exported: another one each time."""
    plugin = compile_to(tmp_path / "plugin.so", "-shared", "-fPIC", "-DPREFIX=pool_", PREFIX / "work.c",
                        PREFIX / "pool.c")
    host = make_host(tmp_path)
    args = [host, *[plugin, "-"] * 40]
    plain = recording.run_plain(args)
    recorded = record(args, tape, "--allocator=pool=pool_")
    assert recorded.answer() == plain.answer() and plain.returncode == 0
    check_tape(tape)
    counts = {size: (40 * made, 40 * freed) for size, (made, freed) in told(plain).items()}
    assert {size: row[0] for size, row in taped(tape, counts).items()} == {
        size: made for size, (made, freed) in counts.items()}


def test_an_executable_that_exports_its_allocator_is_recorded_where_libraries_call_it(tape, tmp_path):
    plugin = make_plugin(tmp_path)
    host = make_host(tmp_path, ["-rdynamic", "-DPREFIX=pool_", PREFIX / "pool.c"])
    check_recorded([host, plugin], tape, "--allocator=pool=pool_")
    allocator, = seen(tape)
    assert (allocator["path"], allocator["objects"]) == (str(host), 1)


def make_own(folder, words=(), name="own"):
    """A program with malloc inside that calls none of it; work.c does, which is `words`, or loaded later."""
    return compile_to(folder / name, "-DLOADING=RTLD_NOW", "-DPREFIX=", PREFIX / "host.c", PREFIX / "pool.c", *words, "-ldl")


@pytest.mark.parametrize("linking", [["-Wl,-z,lazy"], ["-Wl,-z,now"], ["-no-pie"]], ids=" ".join)
def test_a_malloc_in_the_program_is_recorded_where_libraries_call_it(linking, tape, tmp_path):
    """As the official rustc has it, and browsers: the loader binds all libraries to it, before any other."""
    plugin = make_plugin(tmp_path, "", name="libplugin.so")
    source = tmp_path / "main.c"
    source.write_text("void work_run(void); int main(void) { work_run(); return 0; }")
    program = compile_to(tmp_path / "own", *linking, "-DPREFIX=", source, PREFIX / "pool.c", plugin, f"-Wl,-rpath,{tmp_path}")
    check_recorded([program], tape)
    allocator, = seen(tape)
    assert (allocator["name"], allocator["prefix"], allocator["path"]) == ("malloc", "", str(program))
    assert allocator["objects"] >= 2 and not allocator["asked"]  # the plugin and the C library
    said = recording.run([recording.memtape(), "report", tape, "summary"]).stdout.decode()
    assert f"calls inside {program} are not" in allocator["warning"] and allocator["warning"] in " ".join(said.split())


def test_a_library_that_is_preferred_to_the_program_is_not_led_to_its_malloc(tape, tmp_path):
    """Its places are not bound yet, and will be to the malloc of a library that it brings."""
    pool = make_pool(tmp_path, "", name="pool")
    plugin = make_plugin(tmp_path, "", ["-Wl,-z,lazy", f"-Wl,-rpath,{tmp_path}", "-Wl,--no-as-needed", pool])
    deep = compile_to(tmp_path / "own", "-DLOADING=RTLD_LAZY|RTLD_DEEPBIND", "-DPREFIX=", PREFIX / "host.c", PREFIX / "pool.c", "-ldl")
    check_unseen([deep, plugin], tape)


@pytest.mark.parametrize("linking", ["lazy", "now"])
def test_libraries_that_are_loaded_later_call_it_too(linking, tape, tmp_path):
    plugin = make_plugin(tmp_path, "", [f"-Wl,-z,{linking}"])
    check_recorded([make_own(tmp_path), plugin], tape)


def test_firefoxes_allocator_is_recorded_unasked(tape, tmp_path):
    """moz_xmalloc and its kin beside malloc, both of the executable; arenas come before the size."""
    host, lib = tmp_path / "host.c", tmp_path / "lib.c"
    host.write_text("""
        #include <stdlib.h>
        void work_run(void);
        void *moz_xmalloc(size_t size) { return malloc(size); }
        void *moz_xrealloc(void *ptr, size_t size) { return realloc(ptr, size); }
        void *moz_arena_malloc(size_t arena, size_t size) { return arena == 7 ? malloc(size) : NULL; }
        void moz_arena_free(size_t arena, void *ptr) { if (arena == 7) free(ptr); }
        int main(void) { work_run(); return 0; }""")
    lib.write_text("""
        #include <stdio.h>
        #include <stdlib.h>
        void *moz_xmalloc(size_t), *moz_xrealloc(void *, size_t), *moz_arena_malloc(size_t, size_t);
        void moz_arena_free(size_t, void *);
        void work_run(void);
        void work_run(void)
        {
            for (int i = 0; i < 30; i++) {
                free(moz_xrealloc(moz_xmalloc(70001), 70002));
                moz_arena_free(7, moz_arena_malloc(7, 70003));
                free(malloc(70004));
            }
            printf("70001 30 30\\n70002 30 30\\n70003 30 30\\n70004 30 30\\n");
        }""")
    library = compile_to(tmp_path / "liblib.so", "-shared", "-fPIC", lib)
    program = compile_to(tmp_path / "host", "-DPREFIX=", "-rdynamic", host, PREFIX / "pool.c", library, f"-Wl,-rpath,{tmp_path}")
    check_recorded([program], tape)
    assert sorted(allocator["name"] for allocator in seen(tape)) == ["malloc", "mozjemalloc"]


def test_a_library_with_a_malloc_of_its_own_keeps_it(tape, tmp_path):
    """Loaded so that it is preferred to the program's: who it calls is for the loader to say."""
    plugin = make_plugin(tmp_path, "", ["-Wl,-z,lazy", PREFIX / "pool.c"])
    deep = compile_to(tmp_path / "own", "-DLOADING=RTLD_LAZY|RTLD_DEEPBIND", "-DPREFIX=", PREFIX / "host.c",
                      PREFIX / "pool.c", "-ldl")
    check_unseen([deep, plugin], tape)


def test_the_malloc_in_the_program_is_left_alone_if_none_is_wanted(tape, tmp_path):
    plugin = make_plugin(tmp_path, "", ["-Wl,-z,now"])
    plain = recording.run_plain([make_own(tmp_path), plugin])
    recorded = record([tmp_path / "own", plugin], tape, "--allocator=none")
    assert recorded.answer() == plain.answer()
    check_tape(tape)
    assert taped(tape, told(plain)) == {}
    assert seen(tape) == []


GIFTS = """
    #define _GNU_SOURCE
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    void work_run(void);
    int main(void)
    {
        work_run();
    #ifdef GIFTS
        for (int i = 0; i < 20; i++) {
            char *text = NULL;
            if (asprintf(&text, "%099d", i) > 0)
                free(text);
        }
    #endif
        return 0;
    }
"""


@pytest.mark.parametrize("gifts", [[], ["-DGIFTS"]], ids=["none", "some"])
def test_what_the_program_frees_unseen_is_not_leaked(gifts, tape, tmp_path):
    """The C library's blocks are recorded only where the program itself does not get them to free."""
    plugin = make_plugin(tmp_path, "", name="libplugin.so")
    source = tmp_path / "main.c"
    source.write_text(GIFTS)
    program = compile_to(tmp_path / "own", "-DPREFIX=", *gifts, source, PREFIX / "pool.c", plugin,
                         f"-Wl,-rpath,{tmp_path}")
    check_recorded([program], tape)
    assert seen(tape)[0]["objects"] == (1 if gifts else 2)
    assert sql(tape, "SELECT count(*) AS n FROM allocations WHERE size BETWEEN 100 AND 110") == [{"n": 0}]
    found = json.loads(recording.run([recording.memtape(), "report", tape, "findings", "--json"]).stdout)["findings"]
    assert not [one for one in found if one["type"] in ("double_free", "invalid_free", "mismatched_free")]


def test_functions_that_are_asked_for_by_name_are_recorded(tape, tmp_path):
    source = tmp_path / "asker.c"
    source.write_text("""
        #include <dlfcn.h>
        #include <stdio.h>
        int main(int argc, char **argv)
        {
            void *handle = dlopen(argv[1], RTLD_NOW);
            void *(*get)(size_t) = (void *(*)(size_t))dlsym(handle, "pool_malloc");
            void (*put)(void *) = (void (*)(void *))dlsym(handle, "pool_free");
            for (int i = 0; i < 33; i++)
                put(get(70001));
            printf("70001 33 33\\n");
            return 0;
        }""")
    program = compile_to(tmp_path / "asker", source, "-ldl")
    check_recorded([program, make_pool(tmp_path)], tape, "--allocator=pool=pool_")


def test_several_can_be_named(tape, tmp_path):
    pools = [make_pool(tmp_path, prefix) for prefix in ("pool_", "tank_")]
    plugins = [make_plugin(tmp_path, prefix, [f"-Wl,-rpath,{tmp_path}", pool], f"{prefix}plugin.so")
               for prefix, pool in zip(("pool_", "tank_"), pools)]
    host = make_host(tmp_path)
    for options in (["--allocator=pool=pool_,tank=tank_"], ["--allocator=pool=pool_", "--allocator", "tank=tank_"]):
        recorded = record([host, *plugins], tape, "--force", *options)
        assert recorded.returncode == 0
        assert sorted(allocator["name"] for allocator in seen(tape)) == ["pool", "tank"]
        assert sql(tape, "SELECT count(*) AS n FROM allocations WHERE size = 70001") == [{"n": 120}]


def test_the_bare_library_takes_names_from_its_options(tape, tmp_path):
    program = make_program(tmp_path, make_pool(tmp_path))
    recorded = recording.run_bare([program], tape, env={"MEMTAPE_OPTIONS": "allocator=pool=pool_,latency=0"})
    assert recorded.returncode == 0
    counts = told(recording.run_plain([program]))
    assert taped(tape, counts) == counts


def test_with_latency_calls_are_recorded_too(tape, tmp_path):
    program = make_program(tmp_path, make_pool(tmp_path))
    check_recorded([program], tape, "--allocator=pool=pool_", "--latency")


def test_children_record_theirs(tape, tmp_path):
    source = tmp_path / "forker.c"
    source.write_text("""
        #include <sys/wait.h>
        #include <unistd.h>
        void work_run(void);
        int main(void)
        {
            work_run();
            if (fork() == 0) {
                work_run();
                return 0;
            }
            wait(NULL);
            return 0;
        }""")
    program = compile_to(tmp_path / "forker", "-DPREFIX=pool_", source, PREFIX / "work.c",
                         f"-Wl,-rpath,{tmp_path}", make_pool(tmp_path))
    pattern = tmp_path / "t.%p.mtape"
    assert record([program], pattern, "--follow", "--allocator=pool=pool_").returncode == 0
    tapes = sorted(tmp_path.glob("t.*.mtape"))
    assert len(tapes) == 2
    for path in tapes:
        assert sql(path, "SELECT count(*) AS n FROM allocations WHERE size = 70001") == [{"n": 60}]
        assert seen(path)[0]["name"] == "pool"


def test_nobody_finds_an_allocator_that_is_not_there(tape, tmp_path):
    program = compile_to(tmp_path / "weak", PREFIX / "weak.c", "-ldl")
    plain = recording.run_plain([program])
    for options in ([], ["--allocator=pool=pool_,jemalloc,mimalloc,tcmalloc,rust"]):
        recorded = record([program], tape, "--force", *options)
        assert recorded.answer() == plain.answer() and plain.returncode == 0
    assert b"je_malloc 0 0" in plain.stdout and b"malloc 1 1" in plain.stdout


def test_a_mimalloc_that_is_malloc_too_is_counted_once(tape, tmp_path):
    library("mimalloc")
    if not shutil.which("gcc") or not (recording.pathlib.Path("/usr/include/mimalloc.h")).exists():
        pytest.skip("no libmimalloc-dev here")
    program = compile_to(tmp_path / "mixed", PREFIX / "mixed.c", "-lmimalloc")
    check_recorded([program], tape)
    assert [(row["name"], row["prefix"]) for row in seen(tape)] == [("mimalloc", "mi_")]


def test_tcmalloc_by_its_own_names_is_counted_once(tape, tmp_path):
    library("tcmalloc_minimal")
    if not recording.pathlib.Path("/usr/include/gperftools/tcmalloc.h").exists():
        pytest.skip("no libgoogle-perftools-dev here")
    program = compile_to(tmp_path / "tc", PREFIX / "tc.c", "-ltcmalloc_minimal")
    check_recorded([program], tape)
    assert [(row["name"], row["prefix"]) for row in seen(tape)] == [("tcmalloc", "tc_")]


def test_jemallocs_functions_beyond_malloc_are_recorded(tape, tmp_path):
    library("jemalloc")
    source = tmp_path / "x.c"
    source.write_text("""
        #include <stdio.h>
        #include <stdlib.h>
        #include <jemalloc/jemalloc.h>
        int main(void)
        {
            for (int i = 0; i < 40; i++) {
                dallocx(rallocx(mallocx(70001, 0), 90002, 0), 0);
                sdallocx(mallocx(70003, 0), 70003, 0);
                free(mallocx(70004, 0));
                dallocx(malloc(70005), 0);
            }
            printf("70001 40 40\\n90002 40 40\\n70003 40 40\\n70004 40 40\\n70005 40 40\\n");
            return 0;
        }""")
    if not recording.pathlib.Path("/usr/include/jemalloc/jemalloc.h").exists():
        pytest.skip("no libjemalloc-dev here")
    check_recorded([compile_to(tmp_path / "x", source, "-ljemalloc")], tape)


def test_loading_in_one_thread_while_another_looks_for_names_harms_nobody(tape, tmp_path):
    """Objects are met while the loader fills them."""
    source = tmp_path / "storm.c"
    source.write_text("""
        #include <dlfcn.h>
        #include <pthread.h>
        #include <stdio.h>
        #include <stdlib.h>
        static char **paths;
        static volatile int is_over;
        static void *load(void *path)
        {
            for (int i = 0; i < ROUNDS; i++) {
                void *handle = dlopen(path, i % 2 ? RTLD_NOW : RTLD_LAZY);
                void *(*leak_some)(size_t) = handle ? (void *(*)(size_t))dlsym(handle, "leak_some") : NULL;
                if (!leak_some || !leak_some(70001))
                    abort();
                dlclose(handle);
            }
            return NULL;
        }
        static void *look(void *context)
        {
            while (!is_over)
                dlsym(RTLD_DEFAULT, "malloc");
            return context;
        }
        int main(int argc, char **argv)
        {
            pthread_t threads[4];
            paths = argv;
            for (int i = 0; i < 4; i++)
                pthread_create(&threads[i], NULL, i < 2 ? load : look, argv[1 + i % 2]);
            pthread_join(threads[0], NULL);
            pthread_join(threads[1], NULL);
            is_over = 1;
            pthread_join(threads[2], NULL);
            pthread_join(threads[3], NULL);
            return 0;
        }""")
    rounds = recording.times(3000, 150)
    program = compile_to(tmp_path / "storm", source, f"-DROUNDS={rounds}", f"-Wl,-rpath,{tmp_path}",
                         "-Wl,--no-as-needed", make_pool(tmp_path), "-ldl")
    plugins = [make_plugin(tmp_path, words=linking, name=f"plugin{i}.so")
               for i, linking in enumerate([["-Wl,-z,now"], ["-Wl,-z,lazy", "-Wl,-z,norelro"]])]
    assert record([program, *plugins], tape, "--allocator=pool=pool_").returncode == 0
    check_tape(tape)
    assert sql(tape, "SELECT count(*) AS n FROM allocations WHERE size = 70001") == [{"n": 2 * rounds}]


def test_one_that_nobody_exports_is_named_with_the_remedy(tape, tmp_path):
    program = compile_to(tmp_path / "program", "-DPROGRAM", "-DPREFIX=pool_", PREFIX / "work.c", PREFIX / "pool.c")
    check_unseen([program], tape, "--allocator=pool=pool_")
    text = recording.run([recording.memtape(), "report", tape, "summary"]).stdout.decode()
    assert re.search(r"allocator pool: no object of the program exports pool_malloc.*-rdynamic", text)


def test_one_whose_calls_are_bound_inside_the_program_is_named_with_the_remedy(tape, tmp_path):
    program = compile_to(tmp_path / "program", "-DPROGRAM", "-DPREFIX=pool_", "-rdynamic", PREFIX / "work.c",
                         PREFIX / "pool.c")
    check_unseen([program], tape, "--allocator=pool=pool_")
    text = recording.run([recording.memtape(), "report", tape, "summary"]).stdout.decode()
    assert f"allocator pool: calls of pool_malloc are bound inside {program}" in " ".join(text.split())


@pytest.mark.parametrize("words, message", [
    ("pool", "for others give the prefix of their functions: pool=PREFIX"),
    ("pool=", "a name or prefix has letters, digits and underscores"),
    ("=x_", "a name or prefix has letters, digits and underscores"),
    ("a=b-c", "a name or prefix has letters, digits and underscores"),
    ("a=" + 40 * "x", "a name or prefix has letters, digits and underscores, at most 31"),
    (",".join(f"n{i}=p{i}_" for i in range(9)), "more than 8 prefixes"),
])
def test_what_the_recorder_would_not_understand_is_refused(words, message, tape):
    done = record(["/bin/true"], tape, "--allocator", words)
    assert done.returncode != 0 and message in done.stderr.decode()
    assert not tape.exists()


def test_an_anonymised_tape_does_not_name_it(tape, tmp_path):
    record([make_program(tmp_path, make_pool(tmp_path))], tape, "--allocator=secret=pool_")
    out = tmp_path / "anonymous.mtape"
    done = recording.run([recording.memtape(), "anonymise", tape, "-o", out])
    assert done.returncode == 0, done.stderr
    allocator, = seen(out)
    assert (allocator["name"], allocator["prefix"], allocator["functions"]) == ("allocator", "", 6)
    assert allocator["path"] and "pool" not in allocator["path"]


def message(args, tape, *options):
    done = recording.run([recording.memtape(), "record", "--no-summary", *options, "-fo", tape, "--", *args])
    assert done.returncode == 0, done.stderr
    return " ".join(line.removeprefix("memtape: ") for line in done.stderr.decode().splitlines())


def test_who_calls_another_allocator_is_told_of_the_option(tape, tmp_path):
    program = make_program(tmp_path, make_pool(tmp_path))
    said = message([program], tape)
    assert "program calls pool_malloc of a library, which is recorded with --allocator pool=pool_" in said
    assert "--allocator" not in message([program], tape, "--allocator=pool=pool_")


def test_who_exports_another_allocator_is_told_what_the_option_can_do(tape, tmp_path):
    program = compile_to(tmp_path / "program", "-DPROGRAM", "-DPREFIX=pool_", "-rdynamic", PREFIX / "work.c",
                         PREFIX / "pool.c")
    said = message([program], tape)
    assert "exports pool_malloc: what its libraries call of it is recorded with --allocator pool=pool_;" in said
    assert "its own calls are bound inside and cannot be" in said


def test_an_allocator_that_is_bound_inside_is_named_and_the_option_not_offered(tape, tmp_path):
    program = compile_to(tmp_path / "program", "-DPROGRAM", "-DPREFIX=je_", "-DWITH_X", PREFIX / "work.c",
                         PREFIX / "pool.c")
    said = message([program], tape)
    assert "program has jemalloc inside, which its calls go to directly and cannot be recorded, with --allocator " \
        "neither" in said


def test_who_only_calls_malloc_is_told_nothing(tape, tmp_path):
    source = tmp_path / "plain.c"
    source.write_text("#include <stdlib.h>\nint main(void) { free(malloc(10)); return 0; }")
    assert "--allocator" not in message([compile_to(tmp_path / "plain", source)], tape)


GO = """package main
import "fmt"
func main() {
	kept := [][]byte{}
	for i := 0; i < 1000; i++ {
		kept = append(kept, make([]byte, 10000))
	}
	fmt.Println(len(kept))
}
"""
CGO = GO.replace('import "fmt"', 'import "fmt"\n// #include <stdlib.h>\nimport "C"').replace(
    "kept :=", "C.free(C.malloc(70001))\n\tkept :=")


def make_go(folder, text, *words, env):
    if not shutil.which("go"):
        pytest.skip("no go here")
    (folder / "main.go").write_text(text)
    subprocess.run(["go", "build", "-o", folder / "program", *words, folder / "main.go"], check=True, cwd=folder,
                   env={**recording.os.environ, "GOCACHE": str(recording.build_dir() / "tests" / "go"), **env})
    return folder / "program"


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["-ldflags=-s -w"]], ids=["whole", "stripped"])
def test_a_static_program_of_go_is_not_told_to_link_dynamically(words, tape, tmp_path):
    program = make_go(tmp_path, GO, *words, env={"CGO_ENABLED": "0"})
    done = record([program], tape)
    assert done.returncode == 125
    said = done.stderr.decode()
    assert "is a statically linked program of Go" in said and "Go's pprof" in said and "-static" not in said


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["-ldflags=-s -w"]], ids=["whole", "stripped"])
def test_a_program_of_go_with_c_code_is_told_that_it_is_recorded(words, tape, tmp_path):
    program = make_go(tmp_path, CGO, *words, env={"CGO_ENABLED": "1"})
    assert "What C code in it allocates is recorded" in message([program], tape)
    assert sql(tape, "SELECT count(*) AS n FROM allocations WHERE size = 70001") == [{"n": 1}]


@pytest.mark.slow
def test_a_program_of_go_with_an_allocator_inside_is_told_that_neither_is_recorded(tape, tmp_path):
    archive = LIBRARIES / ARCHIVES["jemalloc"]
    if not archive.exists():
        pytest.skip(f"no {archive} here")
    program = make_go(tmp_path, CGO, env={"CGO_ENABLED": "1", "CGO_LDFLAGS_ALLOW": ".*",
                                          "CGO_LDFLAGS": f"{archive} -lstdc++ -lm -ldl"})
    said = message([program], tape)
    assert "Its C code calls jemalloc that is linked into it, which cannot be recorded either" in said
