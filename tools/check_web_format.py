"""Prettier has the last word on the white space of the web app and its tests, as clang-format has on C."""
import web_format

RULE = "the web app and its tests are as Prettier writes them (./dev fmt)"


def problems(root, _build):
    done = web_format.prettier(root, "--list-different")
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    return [f"{name}: not as Prettier writes it" for name in done.stdout.splitlines()] + done.stderr.splitlines()
