"""The web app as one file that opens without a server: what `memtape report --html` puts its answers into."""
import base64
import hashlib
import re
import sys

CAPTURE = "@CAPTURE@"  # where the answers go
POLICY = ("default-src 'none'; script-src {script}; style-src {style}; img-src data:; font-src data:; "
          "base-uri 'none'; form-action 'none'")


def one(root, names, pattern):
    found = [name for name in names if re.fullmatch(pattern, name)]
    if len(found) != 1:
        sys.exit(f"report_page.py: {pattern}: one file is wanted, there are {len(found)}")
    return (root / found[0]).read_bytes()


def data_url(media_type, data):
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def source_hash(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def style_of(root, names):
    css = one(root, names, r"assets/app-\w+\.css").decode()
    css = re.sub(r'url\("?/(assets/[^")]+\.woff2)"?\)',
                 lambda m: f'url("{data_url("font/woff2", (root / m[1]).read_bytes())}")', css)
    if re.search(r'url\((?!"data:)|</style', css):
        sys.exit("report_page.py: a style sheet names another file")
    return css


def script_of(root, names):
    boot = one(root, names, r"assets/boot-\w+\.js").decode()
    app = one(root, names, r"report/app-\w+\.js").decode()
    text = f"{{{boot}}}\n{app}"  # a block: its names are its own
    # Only strings and patterns can have these, and there the backslash says nothing.
    text = re.sub(r"</(?=script)", r"<\\/", text, flags=re.IGNORECASE)
    return text.replace("<!--", r"<\!--")


def make(root, names):
    """The page as bytes, with CAPTURE in its body."""
    style, script = style_of(root, names), script_of(root, names)
    policy = POLICY.format(script=source_hash(script), style=source_hash(style))
    icon = data_url("image/svg+xml", one(root, names, r"assets/icon-\w+\.svg"))
    return f"""<!doctype html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>memtape</title>
<link rel="icon" type="image/svg+xml" href="{icon}">
<style>{style}</style>
</head>
<body>
<div id="app"></div>
<noscript>This report needs JavaScript. The same answers are in <code>memtape report</code>.</noscript>
<script type="application/octet-stream" id="capture">{CAPTURE}</script>
<script type="module">{script}</script>
</body>
</html>
""".encode()
