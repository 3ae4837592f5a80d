"""Text from tapes reaches the page as text: nothing in the app makes markup out of a string."""
import re

RULE = "web/src makes no markup, script or style out of strings, and package-lock.json names no registry"
SINKS = re.compile(r"\b(innerHTML|outerHTML|dangerouslySetInnerHTML|insertAdjacentHTML|document\.write|srcdoc|createContextualFragment"
                   r"|eval\(|new Function)")
MARKUP = re.compile(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=")


def lines(path, pattern):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = pattern.search(line)
        if match:
            yield number, match.group(0).strip()


def problems(root, _build):
    web = root / "web"
    found = []
    sources = sorted(path for path in (web / "src").rglob("*") if path.suffix in (".ts", ".tsx"))
    if not sources:
        raise FileNotFoundError("web/src")
    for path in sources:
        found += [f"{path.relative_to(root)}:{n}: {what}" for n, what in lines(path, SINKS)]
    found += [f"web/index.html:{n}: {what} (the server's policy forbids it)" for n, what in lines(web / "index.html", MARKUP)]
    found += [f"web/package-lock.json:{n}: {what}" for n, what in lines(web / "package-lock.json", re.compile(r'"resolved"|https?://registry'))]
    return found
