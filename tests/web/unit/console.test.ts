import assert from "node:assert/strict";
import { test } from "node:test";
import { csvOf } from "../../../web/src/console/csv";
import { completions, highlight, schemaParse, wordAt } from "../../../web/src/console/language";

const SCHEMA = schemaParse(
	"allocations: every allocation\n  id        number\n  size      bytes\n  alloc_ns  when\n\nthreads: each\n  id    number\n  name  text\n\nfunctions:\n  human_bytes(n)  text\n",
);

test("tables and columns of the schema", () => {
	assert.deepEqual([...SCHEMA.tables.keys()].slice(0, 2), ["allocations", "threads"]);
	assert.deepEqual(SCHEMA.tables.get("allocations"), ["id", "size", "alloc_ns"]);
	assert.ok(SCHEMA.functions.includes("human_bytes"));
});

test("nothing of a statement is lost or added by its colours", () => {
	for (const sql of [
		"SELECT 'it''s' FROM t -- end\nWHERE x=1.5 /* a\nb */",
		"'open",
		'"a" <img src=x>',
		"",
		"/* open",
	]) {
		const tokens = highlight(sql);
		assert.equal(tokens.map((t) => t.text).join(""), sql);
	}
	const kinds = new Map(highlight("select count(*) from t where a = 'x' and 5").map((t) => [t.text, t.kind]));
	assert.equal(kinds.get("select"), "keyword");
	assert.equal(kinds.get("count"), "function");
	assert.equal(kinds.get("'x'"), "text");
	assert.equal(kinds.get("5"), "number");
});

test("what can be meant", () => {
	assert.deepEqual(completions(SCHEMA, "SELECT * FROM al", 16), ["allocations"]);
	assert.ok(completions(SCHEMA, "SELECT si FROM allocations", 9).includes("size"));
	assert.deepEqual(completions(SCHEMA, "SELECT threads.n FROM threads", 16).slice(0, 1), ["name"]);
	assert.ok(completions(SCHEMA, "SELECT hum", 10).includes("human_bytes"));
	assert.ok(completions(SCHEMA, "sel", 3).includes("SELECT"));
	assert.deepEqual(completions(SCHEMA, "SELECT ", 7), []);
	assert.deepEqual(wordAt("SELECT abc", 10), { text: "abc", pos: 7 });
});

test("CSV quotes what needs it", () => {
	assert.equal(
		csvOf(
			["a", "b,c"],
			[
				[1, 'x"y'],
				[null, "two\nlines"],
			],
		),
		'a,"b,c"\r\n1,"x""y"\r\n,"two\nlines"\r\n',
	);
});
