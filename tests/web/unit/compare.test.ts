import assert from "node:assert/strict";
import { test } from "node:test";
import type { DiffFlame } from "../../../web/src/compare/types";
import { colours, diffPainter, relative } from "../../../web/src/compare/painter";
import { perParse } from "../../../web/src/compare/sides";
import * as words from "../../../web/src/compare/words";
import { graphOf } from "../../../web/src/flame/graph";
import { INK } from "../../../web/src/palette";

const rgb = (text: string) => text.match(/\d+/g)!.map(Number) as [number, number, number];
const channel = (v: number) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
const luminance = ([r, g, b]: readonly [number, number, number]) =>
	0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const ofHex = (hex: string) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)) as [number, number, number];

test("a change has a sign, and of nothing no percentage", () => {
	assert.equal(words.change(22151808, "bytes"), "+21.1 MiB");
	assert.equal(words.change(-1500, "count"), "\u22121,500");
	assert.equal(words.change(0, "bytes"), "0 B");
	assert.equal(words.change(0.25, "count"), "+0.250");
	assert.equal(words.share(100, 144), "+44.0 %");
	assert.equal(words.share(100, 50), "\u221250.0 %");
	assert.equal(words.share(0, 5), "new");
	assert.equal(words.share(5, 0), "gone");
	assert.equal(words.share(1, 30), "30\u00d7");
	assert.equal(words.pair(100 * 2 ** 20, 200 * 2 ** 20, "bytes"), "100 \u2192 200 MiB");
	assert.equal(words.pair(2 ** 10, 2 ** 20, "bytes"), "1.00 KiB \u2192 1.00 MiB");
});

test("units of work are whole numbers, of one side or of both", () => {
	assert.deepEqual(perParse("1000:2500"), [1000, 2500]);
	assert.deepEqual(perParse("7"), [7, 7]);
	for (const bad of ["", "0", "1:0", "x", "1.5", "-1", "1:2:3", "99999999999"])
		assert.equal(perParse(bad), null, bad);
});

for (const theme of ["light", "dark"] as const)
	test(`names can be read on every colour of a difference, ${theme}, and less is not more`, () => {
		const all = colours(theme).map(rgb),
			text = luminance(ofHex(INK[theme].text));
		for (const colour of all) {
			const [l, m] = [luminance(colour), text].sort((x, y) => y - x) as [number, number];
			assert.ok((l + 0.05) / (m + 0.05) >= 4.5, `${theme} ${colour}`);
		}
		const [less, , more] = [all[0]!, 0, all[all.length - 1]!];
		assert.ok(less[2] > less[0] && more[0] > more[2]);
	});

test("a box says what it had and has, and is painted by how much of it changed", () => {
	const flame = {
		gen: 0,
		ms: 0,
		m: "peak",
		total: 300,
		unit: "bytes",
		boxes: 3,
		of: 3,
		root: [],
		root_names: [],
		root_briefs: [],
		names: ["all", "a", "b"],
		briefs: ["all", "a", "b"],
		modules: [],
		hashes: ["0", "1", "2"],
		name_module: [-1, -1, -1],
		role: [0, 0, 0],
		parent: [-1, 0, 0],
		name: [0, 1, 2],
		value: [300, 200, 100],
		self: [0, 200, 100],
		begin: [0, 0, 200],
		count: [3, 2, 1],
		depth: [0, 1, 1],
		file: [null, null, null],
		line: [0, 0, 0],
		before: [200, 200, 0],
		after: [200, 100, 100],
	} as unknown as DiffFlame;
	const painter = diffPainter(graphOf(flame), "light"),
		steps = colours("light");
	assert.equal(relative(200, 100), -0.5);
	assert.equal(relative(0, 0), 0);
	assert.equal(painter.fill(2), steps[steps.length - 1]);
	assert.equal(painter.fill(0), steps[(steps.length - 1) / 2]);
	assert.equal(painter.figures!(1), "\u2212100 B  100 B");
	assert.deepEqual(
		painter.facts!(2).map(([, value]) => value),
		["0 B", "100 B", "\u25b2 +100 B \u00b7 new", "1"],
	);
});
