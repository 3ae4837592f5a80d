"""Deterministic inputs for the workloads: a C file, a C++ file, a repository."""
import random

C_HEAD = """typedef unsigned long size_t;
void *malloc(size_t); void free(void *); int printf(const char *, ...); void *memcpy(void *, const void *, size_t);
struct node { struct node *next, *prev; int key; double weight; char name[24]; };
"""

C_FUNCTION = """
struct state_{i} {{ int a[{n}], b, c; struct node *head; double sum; }};
static int step_{i}(struct state_{i} *s, int x, int y)
{{
	for (int i = 0; i < {n}; i++) {{
		if ((s->a[i] ^ x) {op} {k})
			s->a[i] += y * {m} + i;
		else if (s->a[i] > y)
			s->b -= s->a[i] >> {sh};
		else
			s->c = s->c * {m} + (x / (y | 1));
	}}
	return s->b + s->c;
}}
int work_{i}(struct state_{i} *s, const char *text, int n)
{{
	struct node *node = s->head, *last = 0;
	int r = 0;
	while (node && n-- > 0) {{
		switch ((node->key + r) % {cases}) {{
{body}
		default:
			last = node;
		}}
		node = node->next ? node->next : last;
	}}
	for (const char *p = text; *p; p++)
		r = r * 31 + (*p {op} {k} ? step_{i}(s, r, *p) : {call});
	return r + (last ? last->key : 0);
}}
"""

C_CASE = ("\t\tcase {c}:\n\t\t\tr += {call};\n\t\t\tnode->weight = node->weight * {m}.5 + s->sum;\n"
          "\t\t\tfor (int j = 0; j < {n}; j++)\n\t\t\t\ts->a[j % {n}] ^= r + j * {m};\n\t\t\tbreak;\n")


def c_function(rng, i):
    def call():
        return f"work_{rng.randrange(i)}(malloc(sizeof(struct state_0) * 9), text, n)" if i else "n"

    values = {"i": i, "n": rng.randint(4, 40), "m": rng.randint(3, 99), "k": rng.randint(1, 200),
              "op": rng.choice("<>&%"), "sh": rng.randint(1, 7), "cases": rng.randint(3, 9)}
    body = "".join(C_CASE.format(c=c, call=call(), **values) for c in range(values["cases"]))
    return C_FUNCTION.format(body=body, call=call(), **values)


def c_file(path, functions):
    rng = random.Random(1)
    with open(path, "w") as out:
        out.write(C_HEAD)
        out.writelines(c_function(rng, i) for i in range(functions))


CXX_HEAD = """#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
"""

CXX_CLASS = """
struct item_{i} {{ std::string name; std::vector<int> values; double weight[{n}]; bool operator<(const item_{i} &o) const {{ return name < o.name; }} }};
std::string describe_{i}(const std::vector<item_{i}> &items)
{{
	std::map<std::string, std::unique_ptr<item_{i}>> index;
	std::unordered_map<int, std::vector<item_{i}>> buckets;
	std::function<double(const item_{i} &)> sum = [&](const item_{i} &it) {{ double s = {m}; for (double w : it.weight) s += w; return s; }};
	for (auto &it : items) {{ index[it.name] = std::make_unique<item_{i}>(it); buckets[it.values.size() % {n}].push_back(it); }}
	std::ostringstream out;
	std::variant<int, std::string, item_{i}> any = items.front();
	for (auto &[key, list] : buckets) {{
		std::stable_sort(list.begin(), list.end(), [&](auto &a, auto &b) {{ return sum(a) < sum(b); }});
		out << key << std::visit([](auto &v) {{ return sizeof(v); }}, any);
	}}
	return out.str() + std::to_string(index.size());
}}
"""


def cxx_file(path, classes):
    rng = random.Random(2)
    with open(path, "w") as out:
        out.write(CXX_HEAD)
        for i in range(classes):
            out.write(CXX_CLASS.format(i=i, n=rng.randint(3, 30), m=rng.randint(1, 99)))


def sql_file(path, template, rows):
    with open(template) as source, open(path, "w") as out:
        out.write(source.read().replace("@ROWS@", str(rows)))


def fast_import(commits):
    """A history of edits to 60 text files, as a stream for git fast-import."""
    rng = random.Random(3)
    files = {f"dir{i % 6}/file{i}.txt": [f"line {n} of {i}\n" for n in range(120)] for i in range(60)}
    stream = []
    for number in range(commits):
        message = f"commit {number}\n"
        stream.append(f"commit refs/heads/main\nmark :{number + 1}\n"
                      f"committer A <a@example.org> {1600000000 + number * 60} +0000\ndata {len(message)}\n{message}")
        for name in sorted(files) if not number else rng.sample(sorted(files), 4):
            lines = files[name]
            for _ in range(3):
                lines[rng.randrange(len(lines))] = f"changed in {number}: {rng.random()}\n"
            if rng.random() < 0.3:
                lines.insert(rng.randrange(len(lines)), f"new in {number}\n")
            text = "".join(lines)
            stream.append(f"M 100644 inline {name}\ndata {len(text)}\n{text}\n")
    return "".join(stream).encode()
