import assert from "node:assert/strict";
import { test } from "node:test";
import type { Grid } from "../../../web/src/api/types";
import { axisText } from "../../../web/src/lifetimes/grid";
import { boxTerms } from "../../../web/src/overview/heat";

const grid: Grid = {
	gen: 0,
	ms: 0,
	x: { kind: "size", unit: "bytes", log: true, edges: [16, 1024, 65536] },
	y: { kind: "lifetime", unit: "ns", log: true, edges: [100, 1000, 10000] },
	count: [0, 0, 0, 0],
	bytes: [0, 0, 0, 0],
	never: { count: [0, 0], bytes: [0, 0] },
};

test("cells become conditions that include them and not their neighbours", () => {
	assert.deepEqual(boxTerms(grid, { from: { x: 0, y: 0 }, until: { x: 0, y: 0 } }), {
		size: "size in 16..1023",
		life: "lifetime in 100ns..999ns",
	});
	assert.deepEqual(boxTerms(grid, { from: { x: 1, y: 1 }, until: { x: 0, y: 0 } }), {
		size: "size in 16..65535",
		life: "lifetime in 100ns..9999ns",
	});
	assert.deepEqual(boxTerms(grid, { from: { x: 1, y: 2 }, until: { x: 1, y: 2 } }), {
		size: "size in 1KiB..65535",
		life: "not freed",
	});
	assert.deepEqual(boxTerms(grid, { from: { x: 1, y: 1 }, until: { x: 1, y: 2 } }), {
		size: "size in 1KiB..65535",
		life: "(lifetime >= 1000ns or not freed)",
	});
});

test("the two ends of a cell are not written alike: a value keeps its digits", () => {
	assert.equal(axisText(grid.y, 1120), "1.12 \u00b5s");
	assert.equal(axisText(grid.y, 1960), "1.96 \u00b5s");
	assert.equal(axisText(grid.y, 48_960_000), "49 ms");
	assert.equal(axisText(grid.x, 1536), "1.5 KiB");
	assert.equal(axisText(grid.x, 2048), "2 KiB");
});
