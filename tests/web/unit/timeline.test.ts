import assert from "node:assert/strict";
import { test } from "node:test";
import type { Curves, Info, Tape } from "../../../web/src/api/types";
import { info, selection } from "../../../web/src/store";
import { bandsParams, modeOf } from "../../../web/src/timeline/series";
import { byteTicks, countTicks, timeTicks } from "../../../web/src/timeline/ticks";
import { isZoomed, view, viewZoom } from "../../../web/src/timeline/view";
import { START } from "../../../web/src/url";

test("axes are round and reach over the largest value", () => {
	assert.deepEqual(
		byteTicks(24 * 2 ** 20, 6).map((t) => t / 2 ** 20),
		[0, 4, 8, 12, 16, 20, 24],
	);
	assert.deepEqual(byteTicks(0, 6), [0, 1]);
	assert.deepEqual(countTicks(437, 5), [0, 100, 200, 300, 400, 500]);
	for (const max of [1, 3, 1000, 2 ** 31 + 1, 7.7e12]) {
		const ticks = byteTicks(max, 6),
			last = ticks[ticks.length - 1]!;
		assert.ok(last >= max && ticks.length >= 2 && ticks.length <= 13, String(max));
		assert.ok(countTicks(max, 5).slice(-1)[0]! >= max);
	}
});

test("moments of the time axis are multiples of a length people count in", () => {
	assert.equal(timeTicks(0, 128e9, 13).step, 10e9);
	assert.equal(timeTicks(0, 4.5e9, 10).step, 500e6);
	for (const [from, until] of [
		[0, 5000],
		[3.7e9, 3.8e9],
		[0, 90000e9],
		[28e9, 62.5e9],
	] as const) {
		const { step, ticks } = timeTicks(from, until, 12);
		assert.ok(ticks.length >= 1 && ticks.length <= 13, `${from} ${ticks.length}`);
		assert.ok(ticks.every((t) => t >= from && t <= until && Math.abs(t / step - Math.round(t / step)) < 1e-6));
	}
});

test("zooming out as often as in shows the whole tape again, whatever its length", () => {
	for (let duration = 855_991_373; duration < 855_991_373 + 32; duration++)
		for (const times of [1, 2, 7, 25]) {
			selection.value = START;
			info.value = { tapes: [{ id: "a", duration_ns: duration } as Tape] } as Info;
			const zoom = (factor: number) => viewZoom((view.value.from + view.value.until) / 2, factor);
			for (let i = 0; i < times; i++) zoom(0.5);
			assert.ok(isZoomed.value);
			for (let i = 0; i < times; i++) zoom(2);
			assert.ok(!isZoomed.value, `${times} times of ${duration}: ${JSON.stringify(view.value)}`);
			assert.equal(selection.value.options.view, undefined);
		}
});

test("the server chooses the bands unless somebody else does", () => {
	assert.deepEqual(bandsParams(null), { bands: "auto" });
	assert.deepEqual(bandsParams("my"), { bands: "function", frames: "my" });
	assert.deepEqual(bandsParams("function"), { bands: "function", frames: "exact" });
	assert.deepEqual(bandsParams("thread"), { bands: "thread" });
	const by = (word: Curves["by"]) => ({ by: word }) as Curves;
	assert.equal(modeOf(by("module"), null, "my"), "module");
	assert.equal(modeOf(by("function"), null, "my"), "my");
	assert.equal(modeOf(by("function"), null, "exact"), "function");
	assert.equal(modeOf(by("function"), "size", "my"), "size");
});
