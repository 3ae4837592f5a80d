"""What is made of the tables of routes and questions is as they say."""
import generate

RULE = "types of the app and shapes in the documents are those of the tables, and all of them (tools/generate.py)"


def problems(_root, build):
    stale = [f"{path.relative_to(generate.ROOT)} is stale: run tools/generate.py {build.name}" for path in generate.stale(build)]
    return stale + [f"{path.relative_to(generate.ROOT)}: {what}" for path, what in generate.unmarked(build)]
