"""A deterministic script that allocates the way Python programs do.

    churn.py ROUNDS

Objects, JSON both ways, sorting with keys, regular expressions, closures and string building: most
of it in C calling back into Python, so that stacks are some twenty frames deep and change at the
top. Run it with PYTHONMALLOC=malloc, or Python's own allocator hides the events.
"""
import json
import re
import sys


class Node:
    def __init__(self, name, value, depth):
        self.name = name
        self.value = value
        self.children = [Node(f"{name}.{i}", value * 3 + i, depth - 1) for i in range(3)] if depth else []

    def total(self):
        return self.value + sum(map(Node.total, self.children))

    def as_dict(self):
        return {"name": self.name, "value": self.value / 7, "children": list(map(Node.as_dict, self.children))}


class Key:
    def __init__(self, text):
        self.parts = tuple(text.split("."))

    def __lt__(self, other):
        return self.parts[::-1] < other.parts[::-1]


WORD = re.compile(r"(\w+)\.(\d+)")


def swap(match):
    return f"{int(match.group(2)) + 1}.{match.group(1)}"


def one_round(seed):
    tree = Node(f"n{seed}", seed, 4)
    text = json.dumps(tree.as_dict())
    again = json.loads(text, object_hook=lambda d: (d["name"], d["value"], d["children"]))
    names = [line for line in text.split('"') if "." in line and line[0] == "n"]
    names.sort(key=Key)
    replaced = WORD.sub(swap, " ".join(names))
    table = {}
    for word in replaced.split():
        table.setdefault(word[:3], []).append(word.encode().hex())
    parity = quotes = 0
    for letter in text.encode():
        parity ^= letter
        if letter == 34:
            quotes ^= 1
    return tree.total() + len(again) + parity + quotes + sum(map(len, table.values()))


def main():
    result = 0
    for seed in range(int(sys.argv[1])):
        result = (result * 31 + one_round(seed)) % 1000000007
    print(result)


main()
