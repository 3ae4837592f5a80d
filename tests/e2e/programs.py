"""Programs that nobody here wrote: the rows of programs.toml, and one run of a row in a folder of its own."""

import fnmatch
import hashlib
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time
import tomllib
from dataclasses import dataclass, field

import recording

LIST = pathlib.Path(__file__).with_suffix(".toml")
HEAVY = bool(os.environ.get("MEMTAPE_TEST_HEAVY"))

C_FUNCTION = """
int f{i}(const struct row *rows, int count)
{{
	int sum = {i};
	for (int i = 0; i < count; i++)
		sum += rows[i].id * {i} + (int)strlen(rows[i].name);
	return sum;
}}
"""
HELLO = '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n'
CXX = """#include <algorithm>
#include <map>
#include <string>
#include <vector>
int main()
{
	std::map<std::string, std::vector<int>> map;
	for (int i = 0; i < 100; i++)
		map[std::to_string(i % 7)].push_back(i);
	return std::count_if(map.begin(), map.end(), [](auto &pair) { return pair.second.size() > 99; });
}
"""
JAVA = """import java.util.*;
public class Hello {
    public static void main(String[] args) throws Exception {
        Map<String, byte[]> map = new TreeMap<>();
        for (int i = 0; i < 2000; i++) map.put("k" + i, new byte[i]);
        Thread thread = new Thread(() -> map.put("thread", new byte[1 << 20]));
        thread.start();
        thread.join();
        System.out.println(map.values().stream().mapToInt(b -> b.length).sum());
    }
}
"""
WORKERS = """const { Worker, isMainThread, parentPort } = require('worker_threads');
if (!isMainThread) {
    const a = [];
    for (let i = 0; i < 20000; i++) a.push(Buffer.alloc(64).fill(i));
    parentPort.postMessage(a.length);
} else {
    let sum = 0;
    for (let i = 0; i < 4; i++)
        new Worker(__filename).on('message', n => sum += n);
    process.on('exit', () => console.log(sum));
}
"""
NINJA = """rule cc
  command = gcc -c $in -o $out
build one.o: cc source.c
build two.o: cc hello.c
"""
MAKE = "all: one.o two.o\none.o: source.c\n\tgcc -c $< -o $@\ntwo.o: hello.c\n\tgcc -c $< -o $@\n"
ML = "let rec f n = if n = 0 then [] else n :: f (n - 1);;\nprint_int (List.fold_left (+) 0 (f 9999));;\n"
TCL = "for {set i 0} {$i < 3000} {incr i} {lappend l [string repeat $i 3]}\nputs [llength [lsort -unique $l]]\n"
SERVER = """daemon off; error_log server.log; pid server.pid; worker_processes 1; master_process off;
events { worker_connections 64; }
http { access_log off; client_body_temp_path body_temp; proxy_temp_path proxy_temp;
fastcgi_temp_path fastcgi_temp; uwsgi_temp_path uwsgi_temp; scgi_temp_path scgi_temp;
server { listen 127.0.0.1:PORT; root .; } }
"""
MAN = ".TH PAGE 1\n.SH NAME\npage \\- a page\n.SH DESCRIPTION\n" + "Words and \\fBmore\\fP words.\n.PP\n" * 60


@dataclass
class Program:
    name: str
    run: str
    needs: list = field(default_factory=list)
    setup: str = ""
    stdin: str = None
    follow: int = 0
    exit: int = 0
    vary: list = field(default_factory=list)
    scratch: list = field(default_factory=list)
    sorted: bool = False
    least: int = 10
    refused: str = None
    client: str = None
    broken: str = None
    checked: bool = True
    heavy: bool = False
    seconds: int = 60

    def args(self, port=0):
        return shlex.split(self.run.replace("@port@", str(port)))

    def path(self):
        return recording.which(self.args()[0])

    def missing(self):
        """Why it cannot run here, or None."""
        if self.heavy and not HEAVY:
            return "only with MEMTAPE_TEST_HEAVY=1"
        for word in (self.args()[0], *self.needs):
            if not recording.which(word):
                return f"no {word} here"
        return None


@dataclass
class Answer:
    """All that a run did that somebody could see."""
    exit: int
    stdout: str
    stderr: str
    client: str
    files: dict


def all_programs():
    with open(LIST, "rb") as file:
        return [Program(**row) for row in tomllib.load(file)["program"]]


def words(count):
    rand = random.Random(7)
    letters = "abcdefghijklmnopqrstuvwxyzaeiouaeiou"
    return ["".join(rand.choices(letters, k=rand.randint(2, 12))) for _ in range(count)]


def furnish(folder):
    """The files that programs work on, the same every time."""
    c_source = ("#include <string.h>\nstruct row { int id; const char *name; };\n" +
                "".join(C_FUNCTION.format(i=i) for i in range(40)))
    rows = [{"id": i, "name": word, "tags": ["t"] * (i % 5)} for i, word in enumerate(words(300))]
    files = {
        "words.txt": "".join(f"{word}\n" for word in words(3000)),
        "numbers.txt": "".join(f"{i * i}\n" for i in range(3000)),
        "table.csv": "".join(f"{i:05d},{i * 37},{word}\n" for i, word in enumerate(words(500))),
        "pairs.txt": "".join(f"n{i // 2} n{i}\n" for i in range(1, 400)),
        "data.json": '{"rows": ' + str(rows).replace("'", '"') + "}",
        "source.c": c_source, "source.cpp": CXX, "hello.c": HELLO, "Hello.java": JAVA,
        "source.rs": "pub fn f(n: u64) -> Vec<String> { (0..n).map(|i| i.to_string()).collect() }\n",
        "page.html": "<html><body><p>" + "</p><p>".join(words(200)) + "</p></body></html>\n",
        "page.1": MAN, "build.mk": MAKE, "build.ninja": NINJA, "sums.ml": ML, "sums.tcl": TCL,
        "sums.bc": "define f(n) { if (n < 2) return 1; return n * f(n - 1) }\nf(200)\ns(1)\n",
        "script.ed": "1,10p\n5,2000d\ng/e/s//E/g\nw out.txt\nq\n",
        "graph.dot": "digraph { " + " ".join(f"n{i // 3} -> n{i};" for i in range(1, 60)) + " }\n",
        "workers.js": WORKERS, "server.conf": SERVER,
    }
    for i in range(40):
        files[f"tree/file{i:02d}.txt"] = "".join(f"{word} {i}\n" for word in words(i * 20))
    files["files.txt"] = "".join(f"{name}\n" for name in sorted(files) if name.startswith("tree/"))
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1577836800, 1577836800))


def environment(folder):
    home = pathlib.Path.home()
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8", "TZ": "UTC",
           "TERM": "dumb", "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "SOURCE_DATE_EPOCH": "1577836800",
           "GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat", "XDG_CACHE_HOME":
           os.environ.get("XDG_CACHE_HOME", str(folder)), "PYTHONDONTWRITEBYTECODE": "1"}
    for who in ("AUTHOR", "COMMITTER"):
        env.update({f"GIT_{who}_NAME": "A", f"GIT_{who}_EMAIL": "a@b",
                    f"GIT_{who}_DATE": "2020-01-01T00:00:00Z"})
    for variable, place in (("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")):
        env[variable] = os.environ.get(variable, str(home / place))
    return env


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def wait_for_port(port, process, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as attempt:
            attempt.settimeout(1)
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError(f"nobody answers at port {port}")


def end(process):
    """The whole session: nobody may be left behind, and pipes must end."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def serve(program, process, port, env, folder):
    """The client's answer; the server has been asked to end."""
    wait_for_port(port, process, program.seconds)
    done = subprocess.run(["sh", "-c", program.client.replace("@port@", str(port))], env=env, cwd=folder,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=program.seconds)
    process.terminate()
    return f"{done.returncode}: {done.stdout.decode(errors='replace')}"


def digests(folder, scratch):
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and not path.is_symlink() and not any(fnmatch.fnmatch(name, p) for p in scratch):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def settle(program, data):
    text = data.decode(errors="replace")
    for pattern in program.vary:
        text = re.sub(pattern, "", text)
    return "".join(sorted(text.splitlines(True))) if program.sorted else text


def run(program, folder, before=(), more_env=None):
    """Runs it in a fresh folder; `before` is the command that records it, or nothing."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    port = free_port() if program.client else 0
    furnish(folder)
    env = environment(folder)
    if program.setup:
        subprocess.run(["sh", "-c", program.setup.replace("@port@", str(port))], env=env, cwd=folder, check=True, timeout=60,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    args = [*map(str, before), program.path(), *program.args(port)[1:]]
    stdin = open(folder / program.stdin, "rb") if program.stdin else subprocess.DEVNULL
    process = subprocess.Popen(args, env={**env, **(more_env or {})}, cwd=folder, stdin=stdin,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    client = ""
    try:
        if program.client:
            client = serve(program, process, port, env, folder)
        stdout, stderr = process.communicate(timeout=program.seconds)
    except BaseException:
        end(process)
        said = process.communicate()
        print(*(text.decode(errors="replace")[-2000:] for text in said), sep="\n")
        raise
    end(process)
    return Answer(process.returncode, settle(program, stdout), settle(program, stderr), client,
                  digests(folder, program.scratch))
