#!/usr/bin/env python3
"""The web app as constants of the program: embed_assets.py LIST ROOT OUT_C OUT_S OUT_BIN

LIST names files below ROOT, one a line; an empty LIST ("-") makes an empty table. OUT_BIN is all of
them one after the other, plain and compressed, which OUT_S puts into .rodata, and OUT_C is the table
that says where each is; behind them is the app as one file, for reports (report_page.py). The same
files make the same bytes: no times, no names of machines.
"""
import gzip
import hashlib
import re
import sys
from pathlib import Path

import report_page

REPORT = "report.html"  # without a "/": no request's path is it
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".txt": "text/plain; charset=utf-8",
    ".map": "application/json; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
PACKED_ALREADY = {".woff2", ".png"}
HASHED = re.compile(r"[-.][A-Za-z0-9]{8,}\.[a-z0-9]+$")  # names that bundlers change with the content

ASSEMBLY = """/* Made by tools/embed_assets.py. */
	.section .rodata
	.balign 16
	.globl asset_bytes
	.hidden asset_bytes
	.type asset_bytes, %object
	.size asset_bytes, asset_bytes_end - asset_bytes
asset_bytes:
	.incbin "{path}"
	.byte 0
asset_bytes_end:
	.section .note.GNU-stack,"",%progbits
"""

TABLE = """/* Made by tools/embed_assets.py. */
#include "http/assets.h"

const struct asset asset_table[] = {{
{rows}	{{ 0 }}
}};
"""


def c_text(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def url_of(name):
    return "/" if name == "index.html" else "/" + name


def main(list_path, root, out_c, out_s, out_bin):
    names = [] if list_path == "-" else sorted(Path(list_path).read_text().split("\n"))
    blob = bytearray()
    rows = []
    for name in names:
        if not name or name.startswith("report/"):  # parts of REPORT
            continue
        data = (Path(root) / name).read_bytes()
        packed = b"" if Path(name).suffix in PACKED_ALREADY else gzip.compress(data, 9, mtime=0)
        kind = TYPES.get(Path(name).suffix)
        if kind is None:
            sys.exit(f"embed_assets.py: {name}: no media type for this suffix")
        etag = '"' + hashlib.sha256(data).hexdigest()[:20] + '"'
        is_hashed = name.startswith("assets/") and HASHED.search(name) is not None
        rows.append((url_of(name), kind, etag, len(blob), len(data), len(blob) + len(data), len(packed), is_hashed))
        blob += data + packed
    if rows:
        page = report_page.make(Path(root), names)
        rows.append((REPORT, TYPES[".html"], '""', len(blob), len(page), len(blob) + len(page), 0, False))
        blob += page
    rows.sort()
    Path(out_bin).write_bytes(bytes(blob))
    Path(out_s).write_text(ASSEMBLY.format(path=Path(out_bin).resolve()))
    Path(out_c).write_text(TABLE.format(rows="".join(
        f"\t{{ {c_text(url)}, {c_text(kind)}, {c_text(etag)}, {at}, {size}, {packed_at}, {packed}, "
        f"{'true' if is_hashed else 'false'} }},\n"
        for url, kind, etag, at, size, packed_at, packed, is_hashed in rows)))


if __name__ == "__main__":
    main(*sys.argv[1:])
