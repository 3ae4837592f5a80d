import assert from "node:assert/strict";
import { test } from "node:test";
import { classify, fit } from "../../../web/src/leaks/classify";

const points = (f: (i: number) => number) => Array.from({ length: 24 }, (_, i) => Math.round(f(i)));

test("curves are told apart", () => {
	const rows: [string, number[], number, string][] = [
		["a line", points((i) => i * 1000), 500, "growing"],
		["a line with noise", points((i) => i * 1000 + (i % 3) * 300), 500, "growing"],
		["steps to the end", points((i) => Math.floor(i / 3) * 4000), 80, "growing"],
		["at the beginning", points(() => 8192), 40, "once"],
		["within a moment", points((i) => (i < 9 ? 0 : 70000)), 40, "once"],
		["a few blocks", points((i) => i), 2, "once"],
		["a cache that fills", points((i) => Math.min(i, 8) * 5000), 300, "levelled"],
		["a line that ended before the last quarter", points((i) => Math.min(i, 17) * 1000), 300, "levelled"],
		["ever slower", points((i) => 50000 * (1 - Math.exp(-i / 3))), 300, "levelled"],
		["nothing", points(() => 0), 9, "once"],
	];
	for (const [what, curve, count, kind] of rows) assert.equal(classify(curve, count), kind, what);
});

test("a straight line has its slope and no doubt", () => {
	const line = fit([3, 5, 7, 9]);
	assert.equal(line.perStep, 2);
	assert.ok(Math.abs(line.r2 - 1) < 1e-12);
	assert.deepEqual(fit([4, 4, 4]), { perStep: 0, r2: 0 });
	assert.deepEqual(fit([]), { perStep: 0, r2: 0 });
});
