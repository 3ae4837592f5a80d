"""clang-format 14 has the last word on white space; other versions differ."""
import subprocess

RULE = "sources are as clang-format-14 writes them (./dev fmt)"


def sources(root):
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard", "--", "*.c", "*.h", "*.cc"],
        cwd=root, check=True, capture_output=True, text=True).stdout.split()
    return [name for name in listed if (root / name).exists()]


def problems(root, _build):
    found = []
    for name in sources(root):
        result = subprocess.run(["clang-format-14", "--dry-run", "-Werror", name],
                                cwd=root, capture_output=True, text=True)
        if result.returncode != 0:
            first = (result.stderr.splitlines() or ["?"])[0]
            found.append(first.replace(" [-Wclang-format-violations]", ""))
    return found
