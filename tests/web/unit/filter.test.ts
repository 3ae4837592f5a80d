import assert from "node:assert/strict";
import { test } from "node:test";
import { addTerm, joinTerms, quote, removeTerm, replaceTerm, terms, typingAt } from "../../../web/src/filter";

test("terms are what `and` joins at the top", () => {
	const rows: [string, string[]][] = [
		["", []],
		["  leaked ", ["leaked"]],
		['size >= 4KiB and module != "libc.so.6"', ["size >= 4KiB", 'module != "libc.so.6"']],
		['function ~ "a and b" AND leaked', ['function ~ "a and b"', "leaked"]],
		["(a and b) and c", ["(a and b)", "c"]],
		["a && b&&c", ["a", "b", "c"]],
		["a and b or c", ["a and b or c"]],
		["(a or b) and c", ["(a or b)", "c"]],
		["call in (malloc, calloc) and band = 1", ["call in (malloc, calloc)", "band = 1"]],
		["function = 'it\"s and' and x", ["function = 'it\"s and'", "x"]],
		['function = "open and on', ['function = "open and on']],
	];
	for (const [filter, list] of rows) assert.deepEqual(terms(filter), list, filter);
});

test("joining keeps what terms mean", () => {
	assert.equal(joinTerms(["a or b", "c"]), "(a or b) and c");
	assert.equal(joinTerms(["a or b"]), "a or b");
	assert.equal(addTerm("a or b", "c"), "(a or b) and c");
	assert.equal(addTerm("a and c", "c"), "a and c");
	assert.equal(removeTerm("a and b and c", 1), "a and c");
	assert.equal(removeTerm("a or b", 0), "");
	for (const filter of ["a or b", "(a or b) and c", 'x = "and" and y'])
		assert.equal(joinTerms(terms(filter)), filter);
});

test("a new condition on a field takes the place of the old one", () => {
	assert.equal(replaceTerm("size in 1..2 and leaked", "size", "size in 5..6"), "leaked and size in 5..6");
	assert.equal(replaceTerm("size_class = 4 and size > 2", "size", ""), "size_class = 4");
	assert.equal(replaceTerm("size > 2 or leaked", "size", "size = 1"), "(size > 2 or leaked) and size = 1");
});

test("texts are quoted as the language has it", () => {
	assert.equal(quote("libc.so.6"), '"libc.so.6"');
	assert.equal(quote('a"b'), "'a\"b'");
	assert.equal(quote("a\"b'c"), '"a\\"b\'c"');
});

test("what is being typed is a field or a field's value", () => {
	assert.deepEqual(typingAt("mod", 3), { field: null, operator: null, prefix: "mod", pos: 0 });
	assert.deepEqual(typingAt("leaked and si", 13), { field: null, operator: null, prefix: "si", pos: 11 });
	assert.deepEqual(typingAt('module = "lib', 13), { field: "module", operator: "=", prefix: "lib", pos: 9 });
	assert.deepEqual(typingAt("module = ", 9), { field: "module", operator: "=", prefix: "", pos: 9 });
	assert.deepEqual(typingAt("module ", 7), { field: null, operator: null, prefix: "", pos: 7 });
	assert.deepEqual(typingAt("size >= 4KiB and x", 12).field, "size");
});
