import assert from "node:assert/strict";
import { test } from "node:test";
import { questionOf, zoomed } from "../../../web/src/api/pack";

const DURATION = 5e9;
const same = (a: string, b: string) =>
	assert.equal(questionOf(`/api/v1/${a}`, DURATION), questionOf(`/api/v1/${b}`, DURATION));
const other = (a: string, b: string) =>
	assert.notEqual(questionOf(`/api/v1/${a}`, DURATION), questionOf(`/api/v1/${b}`, DURATION));

test("the same question however finely it is drawn", () => {
	same(
		"curves?bands=module&c=last&points=812&from=0ns&top=5&until=5000000000ns",
		"curves?bands=module&points=1200&top=5",
	);
	same("flame?at=peak&c=last&dir=down&m=live&px=960&root=0123456789abcdef", "flame?dir=down&m=peak&px=2000");
	same("sites?by=function&off=200&n=200&sort=size&order=asc&c=00", "sites?n=50");
	same("files?at=peak&c=last&sort=live", "files?sort=peak");
	same("frame?c=last&h=0123456789abcdef&m=peak", "frame?h=0123456789abcdef");
});

test("other questions stay others", () => {
	other("curves?bands=module&from=0ns&until=4000000000ns", "curves?bands=module");
	other("curves?", "curves?bands=module");
	other("flame?m=live&at=100ns", "flame?m=peak");
	other("flame?m=leaked", "flame?m=peak");
	other("flame?q=leaked", "flame");
	other("flame?frames=all", "flame?frames=my");
	other("flame?dir=up", "flame?dir=down");
	other("flame?focus=0123456789abcdef", "flame");
	other("files?sort=count", "files?sort=peak");
	other("sites?by=stack", "sites?by=function");
	other("grid?nx=24&ny=15&x=size&y=lifetime", "grid?nx=40&ny=22&x=size&y=lifetime");
	other("children?path=0123456789abcdef", "children");
});

/* all 100: a 30 (c 10), b 60 (c 20, small ones 5) */
const FLAME = {
	total: 100,
	boxes: 6,
	root: [],
	root_names: [],
	root_briefs: [],
	names: ["all", "a", "b(int)", "c"],
	briefs: ["all", "a", "b", "c"],
	hashes: ["0", "a", "b", "c"],
	parent: [-1, 0, 0, 1, 2, 2],
	name: [0, 1, 2, 3, 3, -1],
	depth: [0, 1, 1, 2, 2, 2],
	begin: [0, 0, 30, 0, 30, 50],
	value: [100, 30, 60, 10, 20, 5],
	self: [10, 20, 35, 10, 20, 5],
};

test("zooming cuts out a box with what is below it", () => {
	const cut = zoomed(FLAME, ["b"])!;
	assert.deepEqual(cut.value, [60, 20, 5]);
	assert.deepEqual(cut.parent, [-1, 0, 0]);
	assert.deepEqual(cut.begin, [0, 0, 20]);
	assert.deepEqual(cut.depth, [0, 1, 1]);
	assert.deepEqual(cut.self, [35, 20, 5]);
	assert.deepEqual(
		[cut.root, cut.root_names, cut.root_briefs, cut.boxes, cut.total],
		[["b"], ["b(int)"], ["b"], 3, 100],
	);
	assert.deepEqual(zoomed(FLAME, ["b", "c"])!.value, [20]);
	assert.deepEqual(FLAME.parent, [-1, 0, 0, 1, 2, 2]);
});

test("a way that leads nowhere is not in the graph", () => {
	assert.equal(zoomed(FLAME, ["c"]), null);
	assert.equal(zoomed(FLAME, ["b", "b"]), null);
});
