import assert from "node:assert/strict";
import { test } from "node:test";
import { cellKey, matrixOf, NOBODY, OTHERS } from "../../../web/src/threads/matrix";

const threads = Array.from({ length: 30 }, (_, i) => ({ tid: i + 1, allocated_bytes: 1000 - i }));
const handovers = [
	...threads.map((t) => ({ allocated_by: t.tid, freed_by: t.tid, count: 1, bytes: 10 })),
	{ allocated_by: 1, freed_by: 30, count: 2, bytes: 5000 },
	{ allocated_by: 29, freed_by: 28, count: 3, bytes: 7 },
	{ allocated_by: 2, freed_by: null, count: 1, bytes: 4 },
];

test("who frees much is shown though it allocates little", () => {
	const made = matrixOf({ threads, handovers }, 5);
	assert.equal(made.order[0], 30);
	assert.equal(made.order.length, 5);
	assert.equal(made.others, 25);
	assert.deepEqual(made.cells.get(cellKey(1, 30)), { count: 2, bytes: 5000 });
});

test("all bytes are somewhere: in a cell of their own, with the others, or nobody's", () => {
	const whole = handovers.reduce((n, h) => n + h.bytes, 0);
	for (const most of [1, 5, 14, 100]) {
		const made = matrixOf({ threads, handovers }, most);
		assert.equal(
			[...made.cells.values()].reduce((n, c) => n + c.bytes, 0),
			whole,
		);
		assert.equal(made.cells.has(cellKey(OTHERS, OTHERS)), most < 30);
	}
	assert.deepEqual(matrixOf({ threads, handovers }, 5).cells.get(cellKey(2, NOBODY)), { count: 1, bytes: 4 });
	assert.equal(matrixOf({ threads: [], handovers: [] }, 5).highest, 1);
});
