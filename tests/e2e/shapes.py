"""Whether answers of the server are what its OpenAPI document says they are. Every answer that a test
asks for is held against it."""

import functools
import json

import recording

PLAIN = {"integer": int, "number": (int, float), "string": str, "boolean": bool}
ITEMS = 40  # of a long list so many are looked at from each end


@functools.cache
def document():
    return json.loads(recording.run([recording.memtape(), "serve", "--openapi"]).stdout)


def some_of(items):
    pairs = list(enumerate(items))
    return pairs if len(pairs) <= 2 * ITEMS else pairs[:ITEMS] + pairs[-ITEMS:]


def object_faults(schema, value, where):
    if "additionalProperties" in schema:
        return [fault for key, item in value.items() for fault in faults(schema["additionalProperties"], item, f"{where}.{key}")]
    found = [f"{where}.{key} is not there" for key in schema["required"] if key not in value]
    found += [f"{where}.{key} is in no schema" for key in value if key not in schema["properties"]]
    return found + [fault for key, item in value.items() if key in schema["properties"]
                    for fault in faults(schema["properties"][key], item, f"{where}.{key}")]


def faults(schema, value, where):
    """Where a value is not as its schema says."""
    if "allOf" in schema:
        schema = {**schema["allOf"][0], **{key: is_so for key, is_so in schema.items() if key == "nullable"}}
    if value is None:
        return [] if schema.get("nullable") else [f"{where} is null"]
    if "$ref" in schema:
        schema = document()["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    if "type" not in schema:
        return []
    if schema["type"] == "array":
        return [fault for i, item in some_of(value) for fault in faults(schema["items"], item, f"{where}[{i}]")]
    if schema["type"] == "object":
        return object_faults(schema, value, where)
    is_right = isinstance(value, PLAIN[schema["type"]]) and value in schema.get("enum", [value])
    return [] if is_right else [f"{where} is {value!r}"]


def schema_of(path, method="get"):
    """Of the answer of a route; None: it is no object of ours."""
    content = document()["paths"].get(path, {}).get(method, {}).get("responses", {}).get("200", {}).get("content", {})
    return content.get("application/json", {}).get("schema", {}).get("allOf")


def conform(path, answer, method="get"):
    """The answer, which is what the document says."""
    schemas = schema_of(path.split("?")[0], method)
    if schemas:
        head = {key: answer[key] for key in ("gen", "approx", "ms") if key in answer}
        rest = {key: value for key, value in answer.items() if key not in head}
        assert not faults(schemas[0], head, path)[:5] and not faults(schemas[1], rest, path)[:5], \
            faults(schemas[0], head, path)[:5] + faults(schemas[1], rest, path)[:5]
    return answer
