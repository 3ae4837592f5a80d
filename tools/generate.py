#!/usr/bin/env python3
"""generate.py BUILD_DIR [--check]: what is made of the tables of routes and questions.

`memtape serve --openapi` says what can be asked and what the answers consist of. From it come the
app's types (web/src/api/answers.ts), the shapes in docs/http-api.md and those in the manuals of
`memtape report`, `diff`, `info`, `verify` and `list`. `memtape sql --schema` has the tables and functions of memtape-sql.1.
Between a line "<!-- shape: NAME -->" (in a manual: .\\" shape: NAME, or .\\" sql: PART) and the next "<!-- end -->"
(.\\" end) everything is replaced. --check says what is stale and which shape has no such line, and changes nothing.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TYPES = ROOT / "web/src/api/answers.ts"
API = ROOT / "docs/http-api.md"
SQL = ROOT / "docs/man/memtape-sql.1"
MANUALS = [ROOT / "docs/man" / name for name in ("memtape-report.1", "memtape-diff.1", "memtape-info.1", "memtape-verify.1", "memtape-list.1")]
ALIASES = {"bytes": "Bytes", "nanoseconds": "Ns", "hash": "Hex", "address": "Hex"}


def said(build, *args):
    return subprocess.run([build / "src/cli/memtape", *args], stdout=subprocess.PIPE, text=True, check=True).stdout


def document(build):
    return json.loads(said(build, "serve", "--openapi"))


def questions(build):
    return re.findall(r"^(\w+)", said(build, "report", "--list"), re.M)


def sql_schema(build):
    return said(build, "sql", "--schema")


def target_of(schema):
    """The name that a reference means; None: it is none."""
    if "allOf" in schema:
        schema = schema["allOf"][0]
    return schema["$ref"].rsplit("/", 1)[1] if "$ref" in schema else None


def shapes(document_):
    """All but the error, whose shape is no member of an answer."""
    return {name: schema for name, schema in document_["components"]["schemas"].items() if name != "Error"}


# --- TypeScript --------------------------------------------------------------------------------

def type_of(schema):
    if target_of(schema):
        text = target_of(schema)
    elif "type" not in schema:
        return "string | number | null"
    elif "enum" in schema:
        text = " | ".join(f'"{word}"' for word in schema["enum"])
    elif schema["type"] == "array":
        item = type_of(schema["items"])
        text = (f"({item})" if "|" in item else item) + "[]"
    elif "additionalProperties" in schema:
        text = f"Record<string, {type_of(schema['additionalProperties'])}>"
    else:
        plain = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean"}
        text = ALIASES.get(schema.get("format"), plain[schema["type"]])
    return text + (" | null" if schema.get("nullable") else "")


def answers_of(methods):
    found = set()
    for method in methods.values():
        schema = method["responses"]["200"]["content"].get("application/json", {}).get("schema", {})
        found.update(part["$ref"].rsplit("/", 1)[1] for part in schema.get("allOf", []))
    return found - {"Head"}


def answers(document_):
    """The shapes that are whole answers: each stands with what is in Head."""
    return set().union(*map(answers_of, document_["paths"].values()))


def interface(name, schema, is_answer):
    lines = [f"export interface {name}{' extends Head' if is_answer else ''} {{"]
    for key, member in schema["properties"].items():
        optional = "" if key in schema["required"] else "?"
        doc = f" /* {member['description']} */" if "description" in member else ""
        lines.append(f"\t{key}{optional}: {type_of(member)};{doc}")
    return "\n".join(lines + ["}"])


def types(document_):
    head = "/* Made by tools/generate.py from the tables of routes and questions: not to be edited. */\n"
    aliases = "export type Ns = number;\nexport type Bytes = number;\nexport type Hex = string;\n"
    whole = answers(document_)
    made_ = (interface(name, schema, name in whole) for name, schema in sorted(shapes(document_).items()))
    return head + aliases + "\n" + "\n\n".join(made_) + "\n"


# --- documents ---------------------------------------------------------------------------------

LISTED = {"string": "TEXT", "array": "[VALUE]", "integer": "NUMBER", "number": "NUMBER"}
LISTS = {"string": "a list of texts", "array": "a list of lists", "integer": "a list of numbers", "number": "a list of numbers"}

# What many answers have: the manual shows it once.
COMMON = {"Frame": "[FRAME]", "Quality": "", "Suppressed": ""}


def item_of(member):
    """What a list or an object of any keys consists of, else the member itself."""
    return member["items"] if member.get("type") == "array" else member.get("additionalProperties", member)


def words(document_, name, shown=None):
    """'{"key", "list": [ {"key"} ]}' as words that may stand on lines of their own; a shape's members once."""
    shown = set() if shown is None else shown
    if name in shown:
        return ["{...}"]
    shown.add(name)
    schema = shapes(document_)[name]
    found = []
    for key, member in schema["properties"].items():
        target, is_list = target_of(item_of(member)), member.get("type") == "array"
        found.append([f'"{key}"' + ("" if key in schema["required"] else "?")])
        if target in COMMON:
            found[-1][0] += f": {COMMON[target]}" if COMMON[target] else ""
        elif target:
            opening = ": [ " if is_list else ": {NAME: " if "additionalProperties" in member else ": "
            inner = words(document_, target, shown)
            inner[0] = found[-1][0] + opening + inner[0]
            inner[-1] += " ]" if is_list else "}" if "additionalProperties" in member else ""
            found[-1] = inner
        elif is_list:
            found[-1][0] += f": [{LISTED[member['items']['type']]}]"
    for one in found[:-1]:
        one[-1] += ","
    flat = [word for one in found for word in one]
    flat[0] = "{" + flat[0]
    flat[-1] += "}"
    return flat


def wrapped(parts, width, indent):
    lines, line = [], ""
    for part in parts:
        if line and len(line) + len(part) + 1 > width:
            lines.append(line)
            line = indent + part
        else:
            line = f"{line} {part}" if line else part
    return lines + [line]


def manual(document_, name):
    return "\n".join([".nf", *(line.replace("-", "\\-") for line in wrapped(words(document_, name), 88, "  ")), ".fi"])


def sql_part(schema, name):
    """The tables, or the functions, of a schema as `memtape sql` prints it."""
    *tables, functions = [part.splitlines() for part in schema.strip().split("\n\n")]
    if name == "functions":
        return listed(re.split(r" {2,}", line, maxsplit=1) for line in functions[1:])
    lines = []
    for head, *columns in tables:
        table_name, summary = head.split(": ", 1)
        first = summary[0] if "(" in summary.split(" ")[0] else summary[0].upper()
        lines += [f".SS {table_name}", f"{first}{summary[1:]}.".replace("-", "\\-"), ".PP", listed(line.split(None, 1) for line in columns)]
    return "\n".join(lines)


def listed(pairs):
    pairs = [[text.replace("-", "\\-") for text in pair] for pair in pairs]
    width = max(len(name) for name, _ in pairs)
    return "\n".join([".nf", *(f"  {name:{width}}  {what}" for name, what in pairs), ".fi"])


def kind_of(member):
    target, unit = target_of(item_of(member)), {"bytes": "bytes", "nanoseconds": "ns", "percent": "percent"}.get(member.get("format"))
    if target:
        return f"a list of {target}" if member.get("type") == "array" else target
    if member.get("type") == "array":
        return LISTS[member["items"]["type"]]
    return unit


def table(document_, name):
    schema, rows = shapes(document_)[name], []
    for key, member in schema["properties"].items():
        words_ = ", ".join(f"`{word}`" for word in member.get("enum", ())) or None
        what = [member.get("description"), words_, kind_of(member), "or null" if member.get("nullable") else None,
                None if key in schema["required"] else "not always there"]
        rows.append(f"| `{key}` | {'; '.join(part for part in what if part)} |")
    return "\n".join(["", "| member | meaning |", "|---|---|", *rows, ""])


def filled(path, begin, end, make):
    text = path.read_text(encoding="utf-8")
    pattern = re.compile(rf"^({re.escape(begin[0])}(\w+){re.escape(begin[1])}\n)(.*?)^({re.escape(end)}\n)", re.M | re.S)
    return pattern.sub(lambda found: found[1] + make(found[2]) + "\n" + found[4], text)


# --- all of it ---------------------------------------------------------------------------------

def made(build):
    """{file: what it has to be}"""
    document_ = document(build)
    return {
        TYPES: types(document_),
        API: filled(API, ("<!-- shape: ", " -->"), "<!-- end -->", lambda name: table(document_, name)),
        SQL: filled(SQL, ('.\\" sql: ', ""), '.\\" end', lambda name: sql_part(sql_schema(build), name)),
        **{path: filled(path, ('.\\" shape: ', ""), '.\\" end', lambda name: manual(document_, name)) for path in MANUALS},
    }


def stale(build):
    return [path for path, text in made(build).items() if not path.exists() or path.read_text(encoding="utf-8") != text]


def marked(path, begin, end=""):
    return set(re.findall(rf"^{re.escape(begin)}(\w+){re.escape(end)}$", path.read_text(encoding="utf-8"), re.M))


def unmarked(build):
    """[where, what is missing there]: a shape that no document shows, however fresh the others are."""
    document_, found = document(build), []
    for name in sorted(shapes(document_).keys() - {"Head"} - marked(API, "<!-- shape: ", " -->")):
        found.append((API, f"no <!-- shape: {name} -->"))
    for question in questions(build):
        for name in answers_of(document_["paths"].get(f"/api/v1/{question}", {})) - marked(MANUALS[0], '.\\" shape: '):
            found.append((MANUALS[0], f'no .\\" shape: {name}, which is what {question} answers'))
    return found + [(SQL, f'no .\\" sql: {part}') for part in ("tables", "functions") if part not in marked(SQL, '.\\" sql: ')]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    old = stale(args.build)
    for path in old:
        print(f"{'stale' if args.check else 'written'}: {path.relative_to(ROOT)}")
    if not args.check:
        for path, text in made(args.build).items():
            path.write_text(text, encoding="utf-8")
    absent = unmarked(args.build)
    for path, what in absent:
        print(f"{path.relative_to(ROOT)}: {what}")
    return 1 if absent or args.check and old else 0


if __name__ == "__main__":
    sys.exit(main())
