import assert from "node:assert/strict";
import { test } from "node:test";
import { markPairs } from "../../../web/src/compare/moments";
import { shell } from "../../../web/src/compare/words";
import { momentParse } from "../../../web/src/moment";
import { FLAG_PX, flagText, flagsOf, markFind, markMoment } from "../../../web/src/timeline/marks";

const marks = (...texts: string[]) => texts.map((text, i) => ({ ns: (i + 1) * 1e9, text }));

test("marks of one name are told apart, and a whole name comes first", () => {
	const all = marks("loaded", "step", "step#2", "step", "", "step");
	const rows: [string, number | null][] = [
		["mark(loaded)", 1],
		["mark(step)", 2],
		["mark(step#2)", 3],
		["mark(step#-1)", 6],
		["mark(step#3)", 6],
		["mark(#-1)", 6],
		["mark(#5)", 5],
		["mark(step#4)", null],
		["mark(#7)", null],
		["mark(step#0)", null],
		["mark(loaded#x)", null],
	];
	for (const [text, s] of rows)
		assert.equal(
			momentParse(text, { duration: 10e9, peak: null, rssPeak: null, marks: all }),
			s === null ? null : s * 1e9,
			text,
		);
	all.forEach((mark, i) => assert.equal(markFind(all, markMoment(all, i).slice(5, -1)), mark));
	assert.equal(markMoment(all, 3), "mark(#4)");
	assert.equal(markMoment(all, 5), "mark(step#3)");
});

test("names of marks never overlap, and every mark has its flag or shares one", () => {
	for (const [count, width] of [
		[1, 300],
		[7, 1200],
		[40, 1200],
		[500, 1200],
		[500, 320],
	] as const)
		for (const taken of [[], [[100, 220]]] as [number, number][][]) {
			const all = marks(...Array.from({ length: count }, (_, i) => `step number ${i % 9}`)),
				flags = flagsOf(all, (m) => (m.ns / 1e9 / (count + 1)) * width, width, taken);
			assert.deepEqual(
				flags.flatMap((f) => f.marks),
				all,
			);
			const names = flags
				.filter((f) => f.name > 0)
				.map((f): [number, number] =>
					f.isLeft ? [f.x - 10 - f.name, f.x - 10] : [f.x + 10, f.x + 10 + f.name],
				);
			assert.ok(
				(names.length > 0 || taken.length > 0) && names.every(([a, b]) => a >= 0 && b <= width),
				`${count} ${width}`,
			);
			const all_ = [...names, ...taken].sort((a, b) => a[0] - b[0]);
			assert.ok(all_.every(([a], i) => i === 0 || all_[i - 1]![1] <= a));
			assert.ok(flags.every((f, i) => i === 0 || f.x - flags[i - 1]!.x >= FLAG_PX));
		}
});

test("too many marks are thinned with a count, and what is out of sight has no flag", () => {
	const all = marks(...Array.from({ length: 400 }, (_, i) => `m${i}`)),
		flags = flagsOf(all, (m) => m.ns / 1e9 - 100, 200);
	assert.equal(
		flags.reduce((sum, f) => sum + f.marks.length, 0),
		201,
	);
	assert.equal(flagText(flags[0]!), `m99 +${flags[0]!.marks.length - 1}`);
});

test("pairs: what the server chose, the last mark and now, then neighbours", () => {
	const all = marks("a", "b", "b"),
		pairs = markPairs(all, ["mark(a)", "mark(b#2)"]);
	assert.deepEqual(pairs.slice(0, 4), [
		["mark(a)", "mark(b#2)"],
		["mark(b#2)", "end"],
		["mark(b)", "mark(b#2)"],
		["mark(a)", "mark(b)"],
	]);
	assert.deepEqual(markPairs([], ["start", "peak"])[0], ["start", "peak"]);
	assert.equal(new Set(markPairs([], ["start", "peak"]).map(String)).size, 4);
});

test("a moment is one word for a shell", () => {
	assert.equal(shell("10%,end"), "10%,end");
	assert.equal(shell("mark(it's),end"), `'mark(it'\\''s),end'`);
});
