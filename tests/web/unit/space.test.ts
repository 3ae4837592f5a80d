import assert from "node:assert/strict";
import { test } from "node:test";
import { boxSelection } from "../../../web/src/lifetimes/grid";
import { cellAddress, cellKind, curved, hilbert, linear } from "../../../web/src/space/layout";
import { shadesOf } from "../../../web/src/space/paint";

test("what a cell of memory is", () => {
	assert.equal(cellKind(0, 0, 0), "empty");
	assert.equal(cellKind(0, 4096, 0), "free");
	assert.equal(cellKind(100, 4096, 1), "pinned");
	assert.equal(cellKind(100, 0, 0), "used");
});

test("a Hilbert curve goes through every place once, each beside the last", () => {
	for (const side of [1, 2, 4, 8, 32]) {
		const seen = new Set<string>();
		let last = hilbert(side, 0);
		for (let d = 0; d < side * side; d++) {
			const p = hilbert(side, d);
			assert.ok(p.x >= 0 && p.x < side && p.y >= 0 && p.y < side);
			assert.ok(d === 0 || Math.abs(p.x - last.x) + Math.abs(p.y - last.y) === 1, `${side} ${d}`);
			seen.add(`${p.x} ${p.y}`);
			last = p;
		}
		assert.equal(seen.size, side * side);
	}
});

test("cells are found again where they stand, in both layouts", () => {
	for (const layout of [linear(1000, 37), curved(1000, 37), curved(5000, 100), curved(1, 1)]) {
		layout.places.forEach((p, i) => assert.equal(layout.at(p.x, p.y), i));
		assert.equal(layout.at(-1, 0), -1);
		assert.equal(layout.at(layout.width, 0), -1);
	}
	assert.ok(curved(5000, 100).width <= 100);
});

test("classes beyond the colours are one, and what has an order says its limits", () => {
	const space = { gen: 0, ms: 0, at_ns: 0, has_snapshot: true, pages_known: true, region_count: 0, regions: [] };
	const classes = Array.from({ length: 7 }, (_, i) => ({ bytes: 10, count: 1, tid: i, name: "w" }));
	const threads = shadesOf({ ...space, by: "thread", classes }, "light");
	assert.deepEqual(
		[threads.length, threads[0]!.title, threads[5]!.title, threads[5]!.bytes],
		[6, "w (0)", "others", 20],
	);
	const ages = shadesOf(
		{ ...space, by: "age", classes: [0, 1e6, 1e9].map((from) => ({ bytes: 1, count: 1, from })) },
		"dark",
	);
	assert.deepEqual(
		ages.map((s) => s.title),
		["below 1 ms", "1 ms \u2013 1 s", "1 s and more"],
	);
});

test("the last cell may be short", () => {
	const region = {
		begin: "0x1000",
		end: "0x2800",
		kind: "heap",
		name: "",
		resident_bytes: 0,
		live_bytes: 0,
		free_pages: 0,
		longest_free_bytes: 0,
		cell_bytes: 4096,
		live: [],
		resident: [],
		pinned: [],
	};
	assert.deepEqual(cellAddress(region, 0), { begin: 0x1000, end: 0x2000 });
	assert.deepEqual(cellAddress(region, 1), { begin: 0x2000, end: 0x2800 });
});

test("a box of cells becomes a range of time and conditions", () => {
	const axis = (kind: string, unit: "ns" | "bytes", edges: number[]) => ({ kind, unit, log: false, edges });
	const grid = {
		gen: 0,
		ms: 0,
		x: axis("time", "ns", [0, 10, 20, 30]),
		y: axis("lifetime", "ns", [1, 100, 1000]),
		count: [],
		bytes: [],
		never: { count: [], bytes: [] },
	};
	assert.deepEqual(boxSelection(grid, { x: 2, y: 1 }, { x: 1, y: 0 }), {
		range: { from: 10, until: 30 },
		filter: "lifetime in 1ns..999ns",
	});
	assert.deepEqual(boxSelection(grid, { x: 0, y: 2 }, { x: 0, y: 2 }), {
		range: { from: 0, until: 10 },
		filter: "not freed",
	});
	const sizes = { ...grid, x: axis("size", "bytes", [1, 16, 256]) };
	assert.deepEqual(boxSelection(sizes, { x: 1, y: 0 }, { x: 1, y: 0 }), {
		filter: "size in 16..255 and lifetime in 1ns..99ns",
	});
});
