import assert from "node:assert/strict";
import { test } from "node:test";
import { boxSelection } from "../../../web/src/lifetimes/grid";
import { cellAddress, cellKind } from "../../../web/src/space/map";

test("what a cell of memory is", () => {
	assert.equal(cellKind(0, 0, 4096), "empty");
	assert.equal(cellKind(0, 4096, 4096), "free");
	assert.equal(cellKind(100, 4096, 4096), "pinned");
	assert.equal(cellKind(100, 0, 4096), "used"); /* not resident: nothing is held */
	assert.equal(cellKind(4000, 4096, 4096), "used");
});

test("the last cell may be short", () => {
	const region = { begin: "0x1000", end: "0x2800", kind: "heap", name: "", resident_bytes: 0, live_bytes: 0, free_pages: 0, longest_free_bytes: 0, cell_bytes: 4096, live: [], resident: [] };
	assert.deepEqual(cellAddress(region, 0), { begin: 0x1000, end: 0x2000 });
	assert.deepEqual(cellAddress(region, 1), { begin: 0x2000, end: 0x2800 });
});

test("a box of cells becomes a range of time and conditions", () => {
	const axis = (kind: string, unit: "ns" | "bytes", edges: number[]) => ({ kind, unit, log: false, edges });
	const grid = { gen: 0, ms: 0, x: axis("time", "ns", [0, 10, 20, 30]), y: axis("lifetime", "ns", [1, 100, 1000]), count: [], bytes: [], never: { count: [], bytes: [] } };
	assert.deepEqual(boxSelection(grid, { x: 2, y: 1 }, { x: 1, y: 0 }), { range: { from: 10, until: 30 }, filter: "lifetime in 1ns..999ns" });
	assert.deepEqual(boxSelection(grid, { x: 0, y: 2 }, { x: 0, y: 2 }), { range: { from: 0, until: 10 }, filter: "leaked" });
	const sizes = { ...grid, x: axis("size", "bytes", [1, 16, 256]) };
	assert.deepEqual(boxSelection(sizes, { x: 1, y: 0 }, { x: 1, y: 0 }), { filter: "size in 16..255 and lifetime in 1ns..99ns" });
});
